"""The passages that a topic's report is written from where no model has read them.

After GraphRAG's fast mode, which writes reports from raw text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.stages.reports.context import Kind, Record, TopicRecords
from kb_project.sql import run_sql

MOST_PASSAGES: Final = 60
"""Passages of a topic that are read for its report; fewer fit into a prompt."""

# Passages that mention several central members come first; GraphRAG's fast mode orders text units
# by the degree of their entities.
PASSAGES: Final[LiteralString] = """
SELECT community_id, id, title, text FROM (
    SELECT named.community_id, chunk.id, document.title, chunk.text,
           row_number() OVER (
               PARTITION BY named.community_id
               ORDER BY named.degrees DESC, document.created_at, chunk.document_id, chunk.ordinal
           ) AS place
    FROM (SELECT pair.community_id, pair.chunk_id, sum(1 + entity.degree) AS degrees
          FROM (SELECT DISTINCT member.community_id, mention.chunk_id, mention.entity_id
                FROM ingestion_communitymember AS member
                JOIN ingestion_mention AS mention
                  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
                WHERE member.workspace_id = %(workspace)s
                  AND member.community_id = ANY (%(ids)s::uuid[])) AS pair
          JOIN ingestion_entity AS entity
            ON entity.workspace_id = %(workspace)s AND entity.id = pair.entity_id
          GROUP BY pair.community_id, pair.chunk_id) AS named
    JOIN ingestion_chunk AS chunk
      ON chunk.workspace_id = %(workspace)s AND chunk.id = named.chunk_id
    JOIN ingestion_document AS document
      ON document.workspace_id = %(workspace)s AND document.id = chunk.document_id
) AS ranked
WHERE place <= %(most)s
ORDER BY community_id, place
"""


def with_passages(
    workspace_id: UUID, topics: Mapping[UUID, TopicRecords]
) -> dict[UUID, TopicRecords]:
    """The topics with the passages that mention their members, the most telling first."""
    values = {"workspace": workspace_id, "ids": list(topics), "most": MOST_PASSAGES}
    found: defaultdict[UUID, list[Any]] = defaultdict(list)
    for community, *row in run_sql(PASSAGES, values):
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
