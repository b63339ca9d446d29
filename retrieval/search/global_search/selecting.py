"""Dynamic selection: find the reports worth reading, from the root down.

After GraphRAG's dynamic community selection: a model rates the topics of a level; those above the
threshold are kept and their sub-topics rated next; a kept topic replaces its parent. If a level
keeps nothing, all of the next is rated. Unlike there, one call rates several topics, and the number
of calls is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project.llm.ports import ChatModel, Role
from kb_project.llm.tokens import truncate_tokens
from retrieval.search.global_search import batches, calls as global_search_calls
from retrieval.search.global_search.batches import Batch
from retrieval.search.global_search.levels import DEEPEST, Forest
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.replies import RateReply, labels_in
from retrieval.search.query import Query
from retrieval.search.reporting import EventKind

THRESHOLD: Final = 1.0
INVALID: Final = 1.0
"""Rating assumed for an invalid answer: a topic that cannot be judged is read."""
RATED_TOGETHER: Final = 12
LONGEST: Final = 150
"""Tokens of a report used to rate it: title and summary, truncated."""
ROLE: Final = Role.JUDGE


@dataclass(slots=True)
class Selection:
    """``kept`` reports by community; ``calls`` made; ``invalid`` ratings, counted as worth
    reading."""

    kept: dict[UUID, Ranked] = field(default_factory=dict)
    rated: int = 0
    invalid: int = 0
    calls: int = 0


def select(query: Query, chat: ChatModel, forest: Forest, calls: int) -> Selection:
    """Select with at most ``calls`` calls; the rest of a level with no calls left is kept
    unrated."""
    found = Selection()
    level, waiting = 0, forest.roots()
    while waiting and found.calls < calls:
        _say(query, len(waiting))
        relevant = _relevant(query, chat, waiting, found, calls)
        found.kept |= {one.topic.report.community: one for one in relevant}
        for parent in filter(None, map(forest.parent, relevant)):
            found.kept.pop(parent, None)
        above = relevant or ([] if found.kept else waiting)
        level += 1
        waiting = forest.children(above) if level <= DEEPEST else []
    return found


def _relevant(
    query: Query, chat: ChatModel, waiting: Sequence[Ranked], found: Selection, calls: int
) -> list[Ranked]:
    empty = batches.filled("rate_report", query.question, "")
    budget = batches.room(chat, ROLE, empty, RateReply)
    packed = batches.pack(waiting, budget, {}, text=_beginning, most=RATED_TOGETHER)
    asked = packed[: max(0, calls - found.calls)]
    requests = [
        batches.request(
            query, ROLE, batches.filled("rate_report", query.question, batch.text), RateReply
        )
        for batch in asked
    ]
    replies = global_search_calls.values(query, chat, requests)
    found.calls += len(asked)
    relevant = [
        one
        for batch, reply in zip(asked, replies, strict=True)
        for one, rating in _ratings(batch, reply, found)
        if rating >= THRESHOLD
    ]
    return relevant + [one for batch in packed[len(asked) :] for one in batch.labels.values()]


def _ratings(batch: Batch, reply: RateReply | None, found: Selection) -> list[tuple[Ranked, float]]:
    given: dict[str, float | None] = {}
    for said in reply.ratings if reply else ():
        for label in labels_in([said.record]):
            given.setdefault(label, said.rating)
    ratings = [(one, given.get(label)) for label, one in batch.labels.items()]
    found.rated += len(ratings)
    found.invalid += sum(rating is None for _, rating in ratings)
    return [(one, INVALID if rating is None else rating) for one, rating in ratings]


def _beginning(one: Ranked) -> str:
    return truncate_tokens(one.topic.summary, LONGEST)


def _say(query: Query, count: int) -> None:
    sentence = f"Rating {count:,} topics for the question." if count > 1 else "Rating one topic."
    query.reporter.emit(EventKind.STEP, {"name": "rank", "sentence": sentence})
