"""The passages that a topic's report is written from where no model has read them.

After GraphRAG's fast mode, which writes reports from raw text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from ingestion.stages.reports import sql
from ingestion.stages.reports.context import Kind, Record, TopicRecords
from kb_project.sql import run_sql

MOST_PASSAGES: Final = 60
"""Passages of a topic that are read for its report; fewer fit into a prompt."""


def with_passages(
    workspace_id: UUID, topics: Mapping[UUID, TopicRecords]
) -> dict[UUID, TopicRecords]:
    """The topics with the passages that mention their members, the most telling first."""
    values = {"workspace": workspace_id, "ids": list(topics), "most": MOST_PASSAGES}
    found: defaultdict[UUID, list[Any]] = defaultdict(list)
    for community, *row in run_sql(sql.PASSAGES, values):
        found[community].append(row)
    return {
        id_: replace(
            topic,
            passages=tuple(
                Record.of(Kind.PASSAGE, chunk, f"{title}: {text}")
                for chunk, title, text in found[id_]
            ),
        )
        for id_, topic in topics.items()
    }
