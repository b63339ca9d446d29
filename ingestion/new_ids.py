"""The ids that what belongs to one workspace has in another.

Ids of most rows say nothing and stay: they are unique within their workspace. Those of entities and
of what is named by entities follow from the workspace's own id, so that every later run finds the
same rows again: under another workspace they are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from ingestion.identity import Ref, entity_id, link_id
from ingestion.stages.reports.saving import report_id
from ingestion.stages.tree.items import node_id
from ingestion.topics import other_topics_id

Row = Mapping[str, Any]
Rows = Callable[[str], Iterator[Row]]
"""The rows of a table, by its name; every id in them is text."""


def new_ids(rows: Rows, old: UUID, new: UUID) -> dict[str, str]:
    """Ids of the workspace ``old`` to those in ``new``: entities, relationships, the topic of
    everything else, and the workspace's own summaries."""
    refs = {row["id"]: (row["key"], row["sense"]) for row in rows("ingestion_entity")}
    ids = {str(entity_id(old, *ref)): str(entity_id(new, *ref)) for ref in _decided(rows)}
    ids |= {id_: str(entity_id(new, *ref)) for id_, ref in refs.items()}
    for source, target in _linked(rows):
        ids[str(link_id(old, source, target))] = str(link_id(new, source, target))
    for row in rows("ingestion_relationship"):
        ids[row["id"]] = str(link_id(new, refs[row["source_id"]], refs[row["target_id"]]))
    return ids | _topics(old, new) | dict(_summaries(rows, new))


def _decided(rows: Rows) -> Iterator[Ref]:
    """Entities that people or models decided about: some of them have no row now."""
    for row in rows("ingestion_entityruling"):
        yield row["key"], row["sense"]
    for row in rows("ingestion_mentionplacement"):
        yield row["key"], 0
        yield row["target_key"], row["target_sense"]
    for row in rows("ingestion_resolutiondecision"):
        yield row["left_key"], row["left_sense"]
        yield row["left_key"], row["sense"]
        yield row["right_key"], row["right_sense"]
    for source, target in _linked(rows):
        yield source
        yield target


def _linked(rows: Rows) -> Iterator[tuple[Ref, Ref]]:
    for row in rows("ingestion_relationshipruling"):
        yield (
            (row["source_key"], row["source_sense"]),
            (row["target_key"], row["target_sense"]),
        )


def _topics(old: UUID, new: UUID) -> dict[str, str]:
    topics = other_topics_id(old), other_topics_id(new)
    reports = [report_id(topic) for topic in topics]
    return {str(topics[0]): str(topics[1]), str(reports[0]): str(reports[1])}


def _summaries(rows: Rows, new: UUID) -> Iterator[tuple[str, str]]:
    for row in rows("ingestion_summarynode"):
        if row["document_id"] is None:
            yield row["id"], str(node_id(new, row["digest"]))
