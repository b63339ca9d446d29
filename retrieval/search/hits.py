"""Hits: scored chunks with what a reader needs to see, fetched in one query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from kb_project.sql import Row, run_sql
from kb_project.text.regions import Region, from_json
from retrieval.search import sql
from retrieval.search.query import ScoredChunk


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. ``start`` and ``end`` are offsets in the document's text;
    ``regions`` mark what in it is not prose."""

    chunk_id: UUID
    document_id: UUID
    title: str
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    score: float
    text: str
    why: tuple[str, ...]
    regions: tuple[Region, ...] = ()


def hydrate(workspace_id: UUID, found: Sequence[ScoredChunk]) -> list[Hit]:
    """Return the hits in the order found, skipping chunks deleted meanwhile."""
    if not found:
        return []
    rows = run_sql(
        sql.PASSAGES, {"workspace": workspace_id, "chunks": [one.chunk_id for one in found]}
    )
    passages = {row[0]: row for row in rows}
    return [_hit(one, passages[one.chunk_id]) for one in found if one.chunk_id in passages]


def _hit(found: ScoredChunk, row: Row) -> Hit:
    _, document_id, title, heading_path, page, start, end, text, regions = row
    return Hit(
        chunk_id=found.chunk_id,
        document_id=document_id,
        title=title,
        heading_path=tuple(heading_path),
        page=page,
        start=start,
        end=end,
        score=found.score,
        text=text,
        why=found.why,
        regions=tuple(from_json(json.loads(regions))),
    )
