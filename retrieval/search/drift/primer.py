"""The first step: what the reports nearest to a question say, and what to ask next.

GraphRAG first has a model write what an answer might look like, in the form of a report taken at
random, and looks for reports by that. Here reports are ranked by the question itself: a call less,
and the same for the same question.
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
"""As in GraphRAG, which reads them in five calls; here as many as one call can read."""
ROLE: Final = Role.ANSWER


@dataclass(frozen=True, slots=True)
class Primed:
    """``drawn`` is None where the reports say nothing, or nothing that rests on one of them."""

    drawn: Drawn | None
    follow_ups: tuple[FollowUp, ...]
    read: int
    foreign: int = 0
    is_lost: bool = False


def prime(query: Query, chat: ChatModel, ranked: tuple[Ranked, ...]) -> Primed:
    """Makes one call. Raises StoppedError and PauseError."""
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
