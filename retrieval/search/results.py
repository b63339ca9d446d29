"""What a mode finds: ranked passages, and records and points an answer may also rest on.

Hits are passages with what a reader needs to see, fetched in one query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from kb_project.sql import Row, run_sql
from kb_project.text.regions import Region, from_json
from retrieval.search import sql
from retrieval.search.query import Query, ScoredChunk
from workspaces import access


class RecordKind(StrEnum):
    """Kinds of records besides passages. The values match those of ``Finding.references``."""

    ENTITY = "entity"
    RELATIONSHIP = "relationship"
    CLAIM = "claim"
    REPORT = "report"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Record:
    """A fact the graph knows. ``sources`` are the chunks it rests on, the most telling first.

    A record without sources in the question's scope is never returned.
    """

    kind: RecordKind
    id: UUID
    title: str
    text: str
    sources: tuple[UUID, ...]
    score: float = 0.0
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A partial answer a model gave along the way, with a score from 0 to 100.

    ``records`` are ids of the records in ``ModeResult.records`` that it was verified to rest on,
    ``chunks`` passages.
    """

    text: str
    score: float
    records: tuple[UUID, ...] = ()
    chunks: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Seed:
    """A starting point of a search: an entity, passage, fact, keyword or report."""

    kind: str
    name: str
    weight: float
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One relationship of a path, from the name before it to the name after it.

    ``start`` and ``end`` are the offsets of its quote in the document of ``chunk_id``. A
    relationship that a person made has no quote, only a description.
    """

    id: UUID
    source: str
    target: str
    predicate: str
    description: str = ""
    chunk_id: UUID | None = None
    start: int = 0
    end: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """How two entities are connected: paths, best first, none longer than ``max_steps``.

    Without a path, ``shared_documents`` and ``shared_topics`` are titles that both occur in.
    """

    source: str
    target: str
    max_steps: int
    paths: tuple[tuple[Step, ...], ...] = ()
    shared_documents: tuple[str, ...] = ()
    shared_topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModeResult:
    """``chunks`` best first, at most ``Query.top_k``; records and points in the mode's order.

    ``mode`` is the mode used in the end, '' if it is the requested one; ``reason`` is a sentence on
    why that mode was picked, '' if a person picked it; ``figures`` are numbers for the trace, such
    as how many reports were read. ``reading`` is the order in which a chat model gets the chunks,
    if it differs from ``chunks``. ``connection`` is the finding of the mode ``paths``.
    """

    chunks: list[ScoredChunk]
    records: tuple[Record, ...] = ()
    points: tuple[Point, ...] = ()
    seeds: tuple[Seed, ...] = ()
    mode: str = ""
    reason: str = ""
    figures: tuple[tuple[str, float], ...] = ()
    reading: tuple[UUID, ...] = ()
    connection: Connection | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of an answer's context tokens; what one section leaves, others may use.

    ``records`` is for entities, relationships and claims together.
    """

    passages: float = 1.0
    records: float = 0.0
    reports: float = 0.0
    summaries: float = 0.0
    points: float = 0.0


PASSAGES_ONLY: Final = Shares()


@dataclass(frozen=True, slots=True)
class ByRows:
    """A mode that only reads rows, in one transaction: its own, or the caller's."""

    search: Callable[[Query], list[ScoredChunk] | ModeResult]

    def __call__(self, query: Query) -> ModeResult:
        with access.in_workspace(query.workspace_id):
            found = self.search(query)
        return found if isinstance(found, ModeResult) else ModeResult(found)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found; offsets are in the document's text, ``regions`` mark what is not prose."""

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
    ids = [one.chunk_id for one in found]
    rows = {
        row[0]: row for row in run_sql(sql.PASSAGES, {"workspace": workspace_id, "chunks": ids})
    }
    return [_hit(one, rows[one.chunk_id]) for one in found if one.chunk_id in rows]


def _hit(found: ScoredChunk, row: Row) -> Hit:
    _, document_id, title, headings, page, start, end, text, regions = row
    return Hit(
        *(found.chunk_id, document_id, title, tuple(headings), page, start, end),
        *(found.score, text, found.why, tuple(from_json(json.loads(regions)))),
    )
