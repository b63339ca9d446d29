"""Drift with a chat model: prime with topics, follow the questions raised, gather the answers.

After GraphRAG: a model writes what an answer might look like, in the form of a report; the topics
nearest to that are read in folds, and the questions they raise are followed. GraphRAG takes the
form from a random report and reads random folds; here the same question always leads to the same
calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from kb_project import prompt
from kb_project.llm.ports import ChatModel
from kb_project.llm.tokens import truncate_tokens
from retrieval.search import global_search, hybrid
from retrieval.search.drift import follow_ups
from retrieval.search.drift.follow_ups import ROLE, Following, StepReply
from retrieval.search.global_search import GroundedPoint, model_calls, ranking
from retrieval.search.global_search.model_calls import Batch, Text
from retrieval.search.global_search.ranking import Ranked, RankedReports, with_nearest
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import ModeResult, Point, Record, Seed
from workspaces import access

PLANNED: Final = 13
"""Calls of a search; it goes on only while follow-up questions lead to passages that are new."""
PRIMING_REPORTS: Final = 20
"""As in GraphRAG. With no more topics than these, all are read, and no hypothetical answer is
needed to choose."""
FOLDS: Final = 3
"""Calls that read the topics side by side; GraphRAG makes five."""
LEAST_IN_FOLD: Final = 7
REPORTS: Final = 5
"""Reports given as records if no first answer rests on any."""
LEAST: Final = 0.25
"""Weight of a follow-up's passages if it led to no answer, against 1 at the highest score."""
LONGEST_TEMPLATE: Final = 600
"""Tokens of the report whose form the hypothetical answer takes."""


def found(query: Query, chat: ChatModel, reports: RankedReports) -> ModeResult:
    """Search with at most ``query.calls`` calls. Outside transactions; raises StoppedError,
    PauseError."""
    first = follow_ups.local_search(query)
    ranked, expanding = nearest_topics(query, chat, reports)
    primed = prime(query, chat, ranked, query.calls - expanding)
    followed = Following(query, chat)
    spent = expanding + primed.calls
    raised = [reply.follow_ups for reply in primed.replies]
    followed.follow(raised, query.calls - spent, PLANNED - spent)
    # By score; equal scores keep the order they were found in.
    points = [one.point for one in primed.points]
    points += [step.point for step in followed.steps if step.point]
    points.sort(key=lambda point: -point.score)
    _note(query, primed, followed, points)
    return ModeResult(
        chunks=_passages(query, first, primed, followed),
        records=_records(primed, followed, ranked) if points else (),
        points=tuple(points),
        seeds=tuple(Seed("question", one.question, one.score / 100) for one in followed.steps),
        figures=_figures(ranked, primed, followed, points, spent),
    )


# --- which topics to read -------------------------------------------------------------------------


class HypotheticalReply(BaseModel):
    """What an answer might look like."""

    answer: Text = ""


def nearest_topics(
    query: Query, chat: ChatModel, reports: RankedReports
) -> tuple[Sequence[Ranked], int]:
    """Return the topics, those nearest to a hypothetical answer first, and the calls made.

    Without such an answer, the order by the question itself stays.
    """
    ranked = reports.ranked
    if len(ranked) <= PRIMING_REPORTS or query.calls < 3:
        return ranked, 0
    query.step("read", "Thinking of what an answer could look like.")
    like = truncate_tokens(ranked[0].topic.text, LONGEST_TEMPLATE)
    asked = model_calls.template("drift_expand").fill(
        question=prompt.fenced(query.question, "question"), report=prompt.fenced(like, "report")
    )
    [reply] = model_calls.ask_all(query, chat, ROLE, HypotheticalReply, [asked])
    answer = model_calls.clean(reply.answer) if reply else ""
    if not answer:
        return ranked, 1
    wanted = f"{query.question} {answer}"
    vector = QuestionVector(query.vector.embedder, wanted)
    vector.make()
    like_it = replace(query, question=wanted, vector=vector, notes=[])
    with access.in_workspace(query.workspace_id):
        return ranking.nearest(like_it).ranked or ranked, 1


# --- the first answers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Primed:
    """``points`` are the folds' answers that rest on their reports, ``read`` counts reports."""

    points: tuple[GroundedPoint, ...]
    replies: tuple[StepReply, ...]
    read: int
    calls: int
    foreign: int = 0

    @property
    def lost(self) -> int:
        return self.calls - len(self.replies)


def prime(query: Query, chat: ChatModel, ranked: Sequence[Ranked], calls: int) -> Primed:
    """Read the nearest reports in folds, side by side. Raises StoppedError and PauseError."""
    folds = _folds(query, chat, ranked[:PRIMING_REPORTS], calls)
    count = sum(len(batch.labels) for batch in folds)
    topics = f"{count:,} topics" if count > 1 else "topic"
    query.step("read", f"Reading the {topics} nearest to the question.")
    prompts = [model_calls.filled("drift_primer", query.question, one.text) for one in folds]
    answers = model_calls.ask_all(query, chat, ROLE, StepReply, prompts)
    points, replies, read, foreign = [], [], 0, 0
    for batch, reply in zip(folds, answers, strict=True):
        if reply is None:
            continue
        replies.append(reply)
        read += len(batch.labels)
        labels = model_calls.cited_labels(reply.answer, reply.records)
        reports = tuple(batch.labels[label] for label in labels if label in batch.labels)
        foreign += len(labels) - len(reports)
        text = model_calls.clean(reply.answer)
        if text and reply.score and reports:
            points.append(GroundedPoint(global_search.point(text, reply.score, reports), reports))
    points.sort(key=lambda one: -one.point.score)
    return Primed(tuple(points), tuple(replies), read, len(folds), foreign)


def _folds(query: Query, chat: ChatModel, nearest: Sequence[Ranked], calls: int) -> list[Batch]:
    """Divide the reports among the calls, of which at least one is left for a follow-up."""
    by_score = {one.topic.report.community: one.score for one in nearest}
    empty = model_calls.filled("drift_primer", query.question, "")
    room = model_calls.room(chat, ROLE, empty, StepReply)
    count = max(1, min(FOLDS, calls - 1, ceil(len(nearest) / LEAST_IN_FOLD)))
    each = ceil(len(nearest) / count)
    return model_calls.pack(nearest, room, by_score, most=each)[:count]


# --- what was found -------------------------------------------------------------------------------


def _records(primed: Primed, followed: Following, ranked: Sequence[Ranked]) -> tuple[Record, ...]:
    """Return what the answers rest on, by their scores; if the first answers rest on nothing, the
    reports nearest to the question too."""
    why = ("Source of a point in the answer",)
    behind = [
        report.record(one.point.score, why) for one in primed.points for report in one.reports
    ]
    if not behind:
        behind = [one.record(one.score, ("Close to the question",)) for one in ranked[:REPORTS]]
    behind += [
        replace(record, score=step.point.score, why=(f"Answers “{step.question}”",))
        for step in sorted(
            followed.steps, key=lambda step: -(step.point.score if step.point else 0)
        )
        if step.point
        for record in step.records
    ]
    records: dict[UUID, Record] = {}
    for record in behind:
        records.setdefault(record.id, record)
    return tuple(records.values())


def _passages(
    query: Query, first: ModeResult, primed: Primed, followed: Following
) -> list[ScoredChunk]:
    """Return the passages that answers rest on, by score, then the others that were found."""
    hits = {hit.chunk_id: hit for hit in follow_ups.cited(followed.steps)}
    for one in primed.points:
        why = (f"Source of the topic “{one.reports[0].topic.title}”",)
        for chunk in one.point.chunks:
            hit = ScoredChunk(chunk, one.point.score / 100, why)
            hits[chunk] = max(hit, hits.get(chunk, hit), key=lambda one: one.score)
    lists = [first.chunks, *(step.found.chunks for step in followed.steps)]
    worth = [step.point.score / 100 if step.point else LEAST for step in followed.steps]
    beside = hybrid.fuse(lists, [1.0, *worth])
    return sorted(with_nearest(hits, beside), key=lambda hit: -hit.score)[: query.top_k]


def _note(query: Query, primed: Primed, followed: Following, points: Sequence[Point]) -> None:
    lost = followed.counts["follow_ups_lost"] + primed.lost
    if lost:
        query.note(
            "follow_ups_lost",
            f"The model gave no usable answer in {lost:,} of"
            f" {primed.calls + followed.counts['follow_ups']:,}"
            " steps of the search, so their findings are missing.",
        )
    elif not points:
        query.note(
            "no_data",
            "Neither the topics nor the passages of your documents say anything about this"
            f" question: {followed.counts['follow_ups']:,} follow-up questions were tried.",
        )


def _figures(
    ranked: Sequence[Ranked],
    primed: Primed,
    followed: Following,
    points: Sequence[Point],
    spent: int,
) -> tuple[tuple[str, float], ...]:
    counts = followed.counts
    lost = counts["follow_ups_lost"] + primed.lost
    return (
        ("reports_total", len(ranked)),
        ("reports_read", primed.read),
        ("batches", primed.calls),
        ("follow_ups", counts["follow_ups"]),
        ("follow_ups_lost", lost),
        ("follow_ups_repeated", counts["follow_ups_repeated"]),
        ("find_calls", spent + counts["follow_ups"]),
        ("points", len(points)),
        ("points_ungrounded", counts["points_ungrounded"]),
        ("labels_foreign", primed.foreign + counts["labels_foreign"]),
        ("no_data", int(not points and not lost)),
    )
