"""Reports of topics, looked up for a question, and what it may see of them.

A question with a scope sees the statements that rest only on documents of the scope, and neither
title nor summary, which may speak of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.search import sql
from retrieval.search.query import Query

LONGEST_TITLE: Final = 120
TELLING: Final = 3
"""A report's closeness is the mean over this many passages."""
RATING: Final = 0.01
"""Weight of a report's own rating from 0 to 10, against 2 at most for its passages: it decides if a
question has few telling words, as global ones do."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a report's summary, or a finding, with the passages it rests on."""

    text: str
    is_summary: bool
    chunks: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A topic's report with the statements that a question may see. ``community`` and ``parent``
    are community ids; ``size`` counts entities."""

    id: UUID
    community: UUID
    parent: UUID | None
    level: int
    size: int
    title: str
    summary: str
    rating: float
    statements: tuple[Statement, ...]

    @property
    def heading(self) -> str:
        """The text that is in no statement."""
        is_quoted = any(one.is_summary for one in self.statements)
        return self.title if is_quoted else f"{self.title}. {self.summary}"


@dataclass(frozen=True, slots=True)
class Topic:
    """A report as a question may see it; ``place`` is its index among those looked up."""

    place: int
    report: Report
    is_whole: bool

    @property
    def statements(self) -> tuple[Statement, ...]:
        return self.report.statements

    @property
    def title(self) -> str:
        return self.report.title if self.is_whole else self.statements[0].text[:LONGEST_TITLE]

    @property
    def summary(self) -> str:
        """The report's summary, on one line."""
        if self.is_whole:
            return _line([f"{self.report.title}.", self.report.summary])
        return _line([one.text for one in self.statements[:3]])

    @property
    def text(self) -> str:
        """The whole report on one line: nothing in it can pass for the beginning of another."""
        if not self.is_whole:
            return _line(one.text for one in self.statements)
        findings = [one.text for one in self.statements if not one.is_summary]
        return _line([f"{self.report.title}.", self.report.summary, *findings])

    @property
    def parts(self) -> list[str]:
        """The statements' texts, after what the question may see of the heading."""
        return [
            self.report.heading if self.is_whole else "",
            *(one.text for one in self.statements),
        ]


def nearest(
    query: Query, near: Mapping[UUID, float], count: int, level: int | None = None
) -> list[Report]:
    """Return the reports that rest on passages near the question, then those with the best rating.

    ``near`` has the closeness of passages; ``level`` leaves out topics that are deeper, or whose
    parts on the way to it cover them. Call in a transaction.
    """
    parameters = query.parameters(
        chunks=list(near),
        scores=list(near.values()),
        telling=TELLING,
        rating=RATING,
        level=level,
        count=count,
    )
    return _read(query, [id_ for (id_,) in run_sql(sql.NEAREST_REPORTS, parameters)])


def down_to(query: Query, level: int, count: int) -> list[Report]:
    """Return the reports from the roots down to a level. Call in a transaction."""
    parameters = query.parameters(level=level, count=count)
    return _read(query, [id_ for (id_,) in run_sql(sql.REPORTS_DOWN_TO, parameters)])


def _read(query: Query, ids: Sequence[UUID]) -> list[Report]:
    """Return these reports, main topics first."""
    if not ids:
        return []
    statements = statements_of(query, ids)
    found: list[Report] = []
    for row in run_sql(sql.REPORTS, query.parameters(reports=list(ids))):
        id_, community, parent, level, size, title, summary, rating = row
        said = tuple(statements[id_])
        found.append(Report(id_, community, parent, level, size, title, summary, rating, said))
    return found


def statements_of(query: Query, reports: Sequence[UUID]) -> defaultdict[UUID, list[Statement]]:
    """Return what some reports state that rests on nothing outside the question's scope."""
    found: defaultdict[UUID, list[Statement]] = defaultdict(list)
    rows = run_sql(sql.FINDINGS_OF, query.parameters(reports=list(reports))) if reports else []
    for report, is_summary, summary, explanation, chunks, is_inside in rows:
        if is_inside:
            text = _line([summary, explanation])
            found[report].append(Statement(text, is_summary, tuple(dict.fromkeys(chunks))))
    return found


def visible(query: Query, reports: Sequence[Report]) -> list[Topic]:
    """Return the reports as the question may see them, without those that rest on nothing and those
    of topics that are left out. Call in a transaction."""
    left_out = _left_out(query, reports)
    return [
        Topic(place, report, is_whole=query.documents is None)
        for place, report in enumerate(reports)
        if report.community not in left_out and any(one.chunks for one in report.statements)
    ]


def _left_out(query: Query, reports: Iterable[Report]) -> frozenset[UUID]:
    if not query.exclude:
        return frozenset()
    parameters = query.parameters(
        topics=[one.community for one in reports], entities=list(query.exclude)
    )
    return frozenset(community for (community,) in run_sql(sql.TOPICS_OF_ONLY, parameters))


def _line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())
