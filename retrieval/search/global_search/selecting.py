"""Dynamic selection: find the reports worth reading, from the root down.

After GraphRAG's dynamic community selection: a model rates the topics of a level; those above the
threshold are kept and their sub-topics rated next; a kept topic replaces its parent. If a level
keeps nothing, all of the next is rated. Unlike there, one call rates several topics, and the number
of calls is bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project.llm.ports import ChatModel, Role
from kb_project.llm.tokens import truncate_tokens
from retrieval.search.global_search import model_calls
from retrieval.search.global_search.model_calls import Batch, RateReply, labels_in
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.reports import Report
from retrieval.search.query import Query

DEEPEST: Final = 2
"""The deepest level whose reports are read unless another is chosen, as in GraphRAG."""


class Forest:
    """The reports visible to a question, arranged as their topics are nested."""

    def __init__(self, reports: Iterable[Report], ranked: Sequence[Ranked]) -> None:
        self.ranked = list(ranked)
        self._shown = {one.topic.report.community: one for one in self.ranked}
        self._reports = {report.community: report for report in reports}
        self._within: defaultdict[UUID | None, list[Report]] = defaultdict(list)
        for report in self._reports.values():
            parent = report.parent if report.parent in self._reports else None
            self._within[parent].append(report)

    def cut(self, level: int) -> list[Ranked]:
        """Return the reports of a level, and of topics that end above it, covering every entity
        once.

        GraphRAG takes the reports of all levels down to this one, parents as well as children. A
        topic whose sub-topics cover less than itself is represented by its own report, or the rest
        would be lost.
        """
        return [one for root in self._within[None] for one in self._cut(root, level)]

    def _cut(self, report: Report, level: int) -> list[Ranked]:
        own = self._shown.get(report.community)
        within = self._within[report.community]
        is_divided = sum(part.size for part in within) >= report.size > 0
        if own is None or (report.level < level and is_divided):
            found = [one for part in within for one in self._cut(part, level)]
            if found:
                return found
        return [own] if own else []

    def roots(self) -> list[Ranked]:
        """Return the reports without a visible parent, best ranked first."""
        return [one for one in self.ranked if one.topic.report.parent not in self._shown]

    def children(self, of: Iterable[Ranked]) -> list[Ranked]:
        """Return the direct children, best ranked first."""
        above = {one.topic.report.community for one in of}
        return [one for one in self.ranked if one.topic.report.parent in above]

    def parent(self, of: Ranked) -> UUID | None:
        """Return the parent community, if its report is visible."""
        parent = of.topic.report.parent
        return parent if parent in self._shown else None


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


def select(
    query: Query, chat: ChatModel, forest: Forest, calls: int, deepest: int = DEEPEST
) -> Selection:
    """Select down to the level ``deepest`` with at most ``calls`` calls; the rest of a level with
    no calls left is kept unrated."""
    found = Selection()
    level, waiting = 0, forest.roots()
    while waiting and found.calls < calls:
        relevant = _relevant(query, chat, waiting, found, calls)
        found.kept |= {one.topic.report.community: one for one in relevant}
        for parent in filter(None, map(forest.parent, relevant)):
            found.kept.pop(parent, None)
        above = relevant or ([] if found.kept else waiting)
        level += 1
        waiting = forest.children(above) if level <= deepest else []
    return found


def _relevant(
    query: Query, chat: ChatModel, waiting: Sequence[Ranked], found: Selection, calls: int
) -> list[Ranked]:
    count = len(waiting)
    query.step(
        "rank", f"Rating {count:,} topics for the question." if count > 1 else "Rating one topic."
    )
    empty = model_calls.filled("rate_report", query.question, "")
    budget = model_calls.room(chat, ROLE, empty, RateReply)
    packed = model_calls.pack(waiting, budget, {}, text=_beginning, most=RATED_TOGETHER)
    asked = packed[: max(0, calls - found.calls)]
    prompts = [model_calls.filled("rate_report", query.question, batch.text) for batch in asked]
    replies = model_calls.ask_all(query, chat, ROLE, RateReply, prompts)
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
    for rated in reply.ratings if reply else ():
        for label in labels_in([rated.record]):
            given.setdefault(label, rated.rating)
    ratings = [(one, given.get(label)) for label, one in batch.labels.items()]
    found.rated += len(ratings)
    found.invalid += sum(rating is None for _, rating in ratings)
    return [(one, INVALID if rating is None else rating) for one, rating in ratings]


def _beginning(one: Ranked) -> str:
    return truncate_tokens(one.topic.summary, LONGEST)
