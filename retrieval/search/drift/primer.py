"""Drift's first step: what the reports nearest to a question say, and what to ask next.

GraphRAG first has a model write a hypothetical answer in the form of a random report, and searches
reports by that. Here the question itself ranks the reports: one call fewer, and the same question
always gives the same ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kb_project.llm.ports import ChatModel, Role
from retrieval.search.drift.replies import FollowUp, StepReply
from retrieval.search.global_search import batches, calls, mapping
from retrieval.search.global_search.mapping import Drawn
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.replies import clean, labels_in, marks_in
from retrieval.search.query import Query
from retrieval.search.reporting import EventKind

REPORTS: Final = 20
"""As in GraphRAG, which reads them in five calls; here, as many as one call can read."""
ROLE: Final = Role.ANSWER


@dataclass(frozen=True, slots=True)
class Primed:
    """The first answer; ``drawn`` is None if the reports say nothing, or nothing grounded in
    one."""

    drawn: Drawn | None
    follow_ups: tuple[FollowUp, ...]
    read: int
    foreign: int = 0
    is_lost: bool = False


def prime(query: Query, chat: ChatModel, ranked: tuple[Ranked, ...]) -> Primed:
    """Read the nearest reports, in one call. Raises StoppedError and PauseError."""
    empty = batches.filled("drift_primer", query.question, "")
    nearest = ranked[:REPORTS]
    by_score = {one.topic.report.community: one.score for one in nearest}
    budget = batches.room(chat, ROLE, empty, StepReply)
    batch = batches.pack(nearest, budget, by_score)[0]
    _say(query, len(batch.labels))
    asked = batches.filled("drift_primer", query.question, batch.text)
    reply = calls.values(query, chat, [batches.request(query, ROLE, asked, StepReply)])[0]
    if reply is None:
        return Primed(None, (), 0, is_lost=True)
    named = labels_in([*reply.records, *marks_in(reply.answer)])
    reports = tuple(batch.labels[label] for label in named if label in batch.labels)
    text = clean(reply.answer)
    return Primed(
        drawn=Drawn(mapping.point(text, reply.score, reports), reports)
        if text and reply.score and reports
        else None,
        follow_ups=tuple(reply.follow_ups),
        read=len(batch.labels),
        foreign=len(named) - len(reports),
    )


def _say(query: Query, count: int) -> None:
    sentence = (
        f"Reading the {count:,} topics nearest to the question."
        if count > 1
        else ("Reading the topic nearest to the question.")
    )
    query.reporter.emit(EventKind.STEP, {"name": "read", "sentence": sentence})
