"""Drift with a chat model: prime with topics, follow the questions raised, gather the answers.

GraphRAG first has a model write a hypothetical answer in the form of a random report, and searches
reports by that. Here the question itself ranks the reports: one call fewer, and the same question
always gives the same ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kb_project.llm.ports import ChatModel
from retrieval.search import hybrid
from retrieval.search.drift import follow_ups
from retrieval.search.drift.follow_ups import ROLE, Following, FollowUp, StepReply
from retrieval.search.global_search import map_reduce, model_calls
from retrieval.search.global_search.map_reduce import GroundedPoint, RankedReports
from retrieval.search.global_search.ranking import Ranked, with_nearest
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import ModeResult, Point, Record, Seed

PRIMING_REPORTS: Final = 20
"""As in GraphRAG, which reads them in five calls; here, as many as one call can read."""
REPORTS: Final = 5
"""Reports given as records if the first answer rests on none."""
LEAST: Final = 0.25
"""Weight of a follow-up's passages if it led to no answer, against 1 at the highest score."""


def found(query: Query, chat: ChatModel, reports: RankedReports) -> ModeResult:
    """Search with at most ``query.calls`` calls. Outside transactions; raises StoppedError,
    PauseError."""
    first = follow_ups.local_search(query)
    primed = prime(query, chat, reports.ranked)
    followed = Following(query, chat)
    followed.follow(primed.follow_ups, query.calls - 1)
    # By score; equal scores keep the order they were found in.
    points = [primed.first.point] if primed.first else []
    points += [step.point for step in followed.steps if step.point]
    points.sort(key=lambda point: -point.score)
    _note(query, primed, followed, points)
    return ModeResult(
        chunks=_passages(query, first, primed, followed),
        records=_records(primed, reports.ranked) if points else (),
        points=tuple(points),
        seeds=tuple(Seed("question", one.question, one.score / 100) for one in followed.steps),
        figures=_figures(reports.ranked, primed, followed, points),
    )


@dataclass(frozen=True, slots=True)
class Primed:
    """``first`` is the first answer; None if the reports say nothing, or nothing grounded."""

    first: GroundedPoint | None
    follow_ups: tuple[FollowUp, ...]
    read: int
    foreign: int = 0
    is_lost: bool = False


def prime(query: Query, chat: ChatModel, ranked: tuple[Ranked, ...]) -> Primed:
    """Read the nearest reports, in one call. Raises StoppedError and PauseError."""
    nearest = ranked[:PRIMING_REPORTS]
    by_score = {one.topic.report.community: one.score for one in nearest}
    empty = model_calls.filled("drift_primer", query.question, "")
    batch = model_calls.pack(nearest, model_calls.room(chat, ROLE, empty, StepReply), by_score)[0]
    count = len(batch.labels)
    topics = f"{count:,} topics" if count > 1 else "topic"
    query.step("read", f"Reading the {topics} nearest to the question.")
    asked = model_calls.filled("drift_primer", query.question, batch.text)
    [reply] = model_calls.ask_all(query, chat, ROLE, StepReply, [asked])
    if reply is None:
        return Primed(None, (), 0, is_lost=True)
    labels = model_calls.cited_labels(reply.answer, reply.records)
    reports = tuple(batch.labels[label] for label in labels if label in batch.labels)
    text = model_calls.clean(reply.answer)
    first = None
    if text and reply.score and reports:
        first = GroundedPoint(map_reduce.point(text, reply.score, reports), reports)
    return Primed(first, tuple(reply.follow_ups), count, len(labels) - len(reports))


def _records(primed: Primed, ranked: Sequence[Ranked]) -> tuple[Record, ...]:
    if primed.first:
        score, why = primed.first.point.score, ("Source of a point in the answer",)
        return tuple(one.record(score, why) for one in primed.first.reports)
    return tuple(one.record(one.score, ("Close to the question",)) for one in ranked[:REPORTS])


def _passages(
    query: Query, first: ModeResult, primed: Primed, followed: Following
) -> list[ScoredChunk]:
    """Return the passages that answers rest on, by score, then the others that were found."""
    hits = {hit.chunk_id: hit for hit in follow_ups.cited(followed.steps)}
    if primed.first:
        why = (f"Source of the topic “{primed.first.reports[0].topic.title}”",)
        for chunk in primed.first.point.chunks:
            hit = ScoredChunk(chunk, primed.first.point.score / 100, why)
            hits[chunk] = max(hit, hits.get(chunk, hit), key=lambda one: one.score)
    lists = [first.chunks, *(step.found.chunks for step in followed.steps)]
    worth = [step.point.score / 100 if step.point else LEAST for step in followed.steps]
    beside = hybrid.fuse(lists, [1.0, *worth])
    return sorted(with_nearest(hits, beside), key=lambda hit: -hit.score)[: query.top_k]


def _note(query: Query, primed: Primed, followed: Following, points: Sequence[Point]) -> None:
    lost = followed.counts["follow_ups_lost"] + primed.is_lost
    if lost:
        query.note(
            "follow_ups_lost",
            f"The model gave no usable answer in {lost:,} of {1 + followed.counts['follow_ups']:,}"
            " steps of the search, so their findings are missing.",
        )
    elif not points:
        query.note(
            "no_data",
            "Neither the topics nor the passages of your documents say anything about this"
            f" question: {followed.counts['follow_ups']:,} follow-up questions were tried.",
        )


def _figures(
    ranked: Sequence[Ranked], primed: Primed, followed: Following, points: Sequence[Point]
) -> tuple[tuple[str, float], ...]:
    counts = followed.counts
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
