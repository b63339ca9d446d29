"""Map: read every report once, in batches, each of which yields points of an answer.

After GraphRAG's global search, with two defects fixed: scores are compared as numbers, and a point
may only rest on reports in its batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project.llm.ports import ChatModel, Role
from kb_project.text.terms import terms
from retrieval.search.found import Point
from retrieval.search.global_search import batches, calls
from retrieval.search.global_search.batches import Batch
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.replies import (
    MOST_POINTS,
    MapReply,
    PointReply,
    clean,
    labels_in,
    marks_in,
)
from retrieval.search.query import Query
from retrieval.search.reporting import EventKind

ROLE: Final = Role.ANSWER
MOST_CHUNKS: Final = 3
"""Passages a point is shown to rest on."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A point with the reports it rests on, in the order they are named."""

    point: Point
    reports: tuple[Ranked, ...]


@dataclass(slots=True)
class Reading:
    """``drawn`` is sorted by score. ``counts``: batches, batches_lost, reports_read,
    labels_foreign, points_ungrounded and points_zero."""

    drawn: list[Drawn] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def room(query: Query, chat: ChatModel) -> int:
    """Return the tokens of reports that one call reads."""
    return batches.room(chat, ROLE, batches.filled("global_map", query.question, ""), MapReply)


def read(query: Query, chat: ChatModel, packed: Sequence[Batch]) -> Reading:
    """Read the batches. Raises StoppedError and PauseError."""
    _say(query, packed)
    requests = [
        batches.request(
            query, ROLE, batches.filled("global_map", query.question, batch.text), MapReply
        )
        for batch in packed
    ]
    found = Reading()
    for batch, reply in zip(packed, calls.values(query, chat, requests), strict=True):
        found.counts["batches"] += 1
        if reply is None:
            found.counts["batches_lost"] += 1
        else:
            found.counts["reports_read"] += len(batch.labels)
            found.drawn += _drawn(batch, reply, found.counts)
    # Equal scores keep the order of the batches, whichever reply came first.
    found.drawn.sort(key=lambda one: -one.point.score)
    return found


def _drawn(batch: Batch, reply: MapReply, counts: Counter[str]) -> Iterator[Drawn]:
    for said in reply.points[:MOST_POINTS]:
        text = clean(said.description)
        if not said.score or not text:
            counts["points_zero"] += 1
            continue
        reports = _reports(batch.labels, said, counts)
        if not reports:
            counts["points_ungrounded"] += 1
            continue
        yield Drawn(point(text, said.score, reports), reports)


def _reports(
    labels: Mapping[str, Ranked], said: PointReply, counts: Counter[str]
) -> tuple[Ranked, ...]:
    named = labels_in([*said.records, *marks_in(said.description)])
    counts["labels_foreign"] += sum(label not in labels for label in named)
    return tuple(labels[label] for label in named if label in labels)


def point(text: str, score: float, reports: Sequence[Ranked]) -> Point:
    """Build a point with the passages behind the most similar statements of its reports."""
    said = set(terms(text))
    likeness: dict[UUID, float] = {}
    for report in reports:
        for statement in report.topic.statements:
            shared = len(said & set(terms(statement.text))) / (len(said) or 1)
            for chunk in statement.chunks if shared else ():
                likeness[chunk] = max(shared, likeness.get(chunk, 0.0))
    # Equal similarity keeps the order of the reports and their statements.
    nearest = sorted(likeness, key=lambda chunk: -likeness[chunk])[:MOST_CHUNKS]
    records = tuple(report.topic.report.id for report in reports)
    return Point(text, score, records=records, chunks=tuple(nearest))


def _say(query: Query, packed: Sequence[Batch]) -> None:
    count = sum(len(batch.labels) for batch in packed)
    sentence = f"Reading {count:,} topics." if count > 1 else "Reading one topic."
    query.reporter.emit(EventKind.STEP, {"name": "read", "sentence": sentence})
