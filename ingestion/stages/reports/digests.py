"""Fingerprints of what a report is made from: the same digest, the same report."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from uuid import UUID

from ingestion.stages.reports.context import Context
from ingestion.stages.reports.extractive import Topic
from kb_project.prompt import Prompt

FORM: Final = "2"
"""Incremented when the same input would give a different report."""


def of_topic(topic: Topic) -> str:
    """For a report made of the documents' own sentences."""
    members = sorted((str(one.id), one.name, one.type, repr(one.pull)) for one in topic.members)
    sentences = sorted(
        (str(one.chunk), one.start, one.end, one.text, one.states, one.leads, _ids(one.entities))
        for one in topic.sentences
    )
    return _digest(members, sentences, topic.links, topic.documents, topic.title)


def of_prompt(author: str, asked: Prompt, made: Context) -> str:
    """For a model's report: the prompt, and the records it may cite."""
    records = [(label, str(record.id)) for label, record in made.labels.items()]
    return _digest(author, asked.system, asked.user, records)


def _ids(ids: frozenset[UUID]) -> list[str]:
    return sorted(map(str, ids))


def _digest(*parts: object) -> str:
    return sha256("\n".join([FORM, *map(repr, parts)]).encode("utf-8", "replace")).hexdigest()
