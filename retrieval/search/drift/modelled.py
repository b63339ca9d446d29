"""Drift with a chat model: prime with topics, follow the questions raised, gather the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from kb_project.llm.ports import ChatModel
from retrieval.search import hybrid
from retrieval.search.drift import following, local_search, primer
from retrieval.search.drift.following import Following
from retrieval.search.drift.primer import Primed
from retrieval.search.found import Found, Point, Record, Seed
from retrieval.search.global_search.map_reduce import Shelf
from retrieval.search.global_search.ranking import Ranked, with_nearest
from retrieval.search.query import Query, ScoredChunk

REPORTS: Final = 5
"""Reports given as records if the first answer rests on none."""
LEAST: Final = 0.25
"""Weight of a follow-up's passages if it led to no answer, against 1 at the highest score."""


def found(query: Query, chat: ChatModel, shelf: Shelf) -> Found:
    """Search with at most ``query.calls`` calls. Outside transactions; raises StoppedError,
    PauseError."""
    first = local_search.search(query)
    primed = primer.prime(query, chat, shelf.ranked)
    walked = Following(query, chat)
    walked.follow(primed.follow_ups, query.calls - 1)
    points = _points(primed, walked)
    _note(query, primed, walked, points)
    return Found(
        chunks=_passages(query, first, primed, walked),
        records=_records(primed, shelf.ranked) if points else (),
        points=points,
        seeds=tuple(Seed("question", one.question, one.score / 100) for one in walked.steps),
        figures=_figures(shelf.ranked, primed, walked, points),
    )


def _points(primed: Primed, walked: Following) -> tuple[Point, ...]:
    """Return the points by score; equal scores keep the order they were found in."""
    given = [primed.drawn.point] if primed.drawn else []
    given += [step.point for step in walked.steps if step.point]
    return tuple(sorted(given, key=lambda point: -point.score))


def _records(primed: Primed, ranked: Sequence[Ranked]) -> tuple[Record, ...]:
    if primed.drawn:
        score = primed.drawn.point.score
        why = ("Source of a point in the answer",)
        return tuple(one.record(score, why) for one in primed.drawn.reports)
    return tuple(one.record(one.score, ("Close to the question",)) for one in ranked[:REPORTS])


def _passages(query: Query, first: Found, primed: Primed, walked: Following) -> list[ScoredChunk]:
    """Return the passages that answers rest on, by score, then the others that were found."""
    hits = {hit.chunk_id: hit for hit in following.cited(walked.steps)}
    _add_primed(hits, primed)
    lists = [first.chunks, *(step.found.chunks for step in walked.steps)]
    worth = [step.point.score / 100 if step.point else LEAST for step in walked.steps]
    beside = hybrid.fuse(lists, [1.0, *worth])
    return sorted(with_nearest(hits, beside), key=lambda hit: -hit.score)[: query.top_k]


def _add_primed(hits: dict[UUID, ScoredChunk], primed: Primed) -> None:
    if not primed.drawn:
        return
    point, reports = primed.drawn.point, primed.drawn.reports
    for chunk in point.chunks:
        why = (f"Source of the topic “{reports[0].topic.title}”",)
        hit = ScoredChunk(chunk, point.score / 100, why)
        hits[chunk] = max(hit, hits.get(chunk, hit), key=lambda one: one.score)


def _note(query: Query, primed: Primed, walked: Following, points: Sequence[Point]) -> None:
    lost = walked.counts["follow_ups_lost"] + primed.is_lost
    if lost:
        query.note(
            "follow_ups_lost",
            f"The model gave no usable answer in {lost:,} of {1 + walked.counts['follow_ups']:,}"
            " steps of the search, so their findings are missing.",
        )
    elif not points:
        query.note(
            "no_data",
            "Neither the topics nor the passages of your documents say anything about this"
            " question:"
            f" {walked.counts['follow_ups']:,} follow-up questions were tried.",
        )


def _figures(
    ranked: Sequence[Ranked], primed: Primed, walked: Following, points: Sequence[Point]
) -> tuple[tuple[str, float], ...]:
    counts = walked.counts
    is_empty = not points and not primed.is_lost and not counts["follow_ups_lost"]
    return (
        ("reports_total", len(ranked)),
        ("reports_read", primed.read),
        ("follow_ups", counts["follow_ups"]),
        ("follow_ups_lost", counts["follow_ups_lost"] + primed.is_lost),
        ("follow_ups_repeated", counts["follow_ups_repeated"]),
        ("find_calls", 1 + counts["follow_ups"]),
        ("points", len(points)),
        ("points_ungrounded", counts["points_ungrounded"]),
        ("labels_foreign", primed.foreign + counts["labels_foreign"]),
        ("no_data", int(is_empty)),
    )
