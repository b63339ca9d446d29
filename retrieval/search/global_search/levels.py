"""Topic hierarchy: which reports cover everything once, and which are below which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.reports import Report

DEEPEST: Final = 2
"""The deepest level whose reports are read, as in GraphRAG."""


class Forest:
    """The reports visible to a question, arranged as their topics are nested."""

    def __init__(self, reports: Iterable[Report], ranked: Sequence[Ranked]) -> None:
        self.ranked = ranked
        self._shown = {one.topic.report.community: one for one in ranked}
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
