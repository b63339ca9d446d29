"""A workspace's reports, and what a question may see of them.

They are cached in the process as long as nothing about them changes, which every question checks. A
question with a scope sees the statements that rest only on documents of the scope, and neither
title nor summary, which may speak of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from kb_project.sql import bulk_plans, run_sql
from retrieval.search import reports_sql as sql
from retrieval.search.global_search.terms import Part, WordIndex
from retrieval.search.query import Query

KEPT: Final = 4
"""Workspaces kept in memory: some 15 kB for each report."""
LONGEST_TITLE: Final = 120


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a report's summary, or a finding, with what it rests on."""

    text: str
    is_summary: bool
    chunks: tuple[UUID, ...]
    documents: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class Report:
    """A topic's report. ``community`` and ``parent`` are community ids; ``size`` counts
    entities."""

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
        is_told = any(one.is_summary for one in self.statements)
        return self.title if is_told else f"{self.title}. {self.summary}"


@dataclass(frozen=True, slots=True)
class Library:
    """A workspace's reports; ``waiting`` counts the topics without a report."""

    reports: tuple[Report, ...]
    words: WordIndex
    waiting: int
    resting: Mapping[UUID, Sequence[Part]]
    """The statements that rest on each chunk: the report's place, and the statement's number from
    1."""

    @classmethod
    def of(cls, reports: tuple[Report, ...], waiting: int) -> Library:
        words = WordIndex([one.heading, *(said.text for said in one.statements)] for one in reports)
        resting: defaultdict[UUID, list[Part]] = defaultdict(list)
        for place, report in enumerate(reports):
            for number, said in enumerate(report.statements, start=1):
                for chunk in said.chunks:
                    resting[chunk].append((place, number))
        return cls(reports, words, waiting, dict(resting))


@dataclass(frozen=True, slots=True)
class Topic:
    """A report as a question may see it; ``place`` is its index in the library."""

    place: int
    report: Report
    statements: tuple[Statement, ...]
    is_whole: bool

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
        told = [one.text for one in self.statements if not one.is_summary]
        return _line([f"{self.report.title}.", self.report.summary, *told])

    @property
    def parts(self) -> frozenset[int]:
        """The numbers of its parts in the word index."""
        if self.is_whole:
            return frozenset(range(len(self.report.statements) + 1))
        shown = set(map(id, self.statements))
        numbered = enumerate(self.report.statements, start=1)
        return frozenset(number for number, one in numbered if id(one) in shown)


def load(query: Query) -> Library:
    """Return the workspace's current reports."""
    stamp = run_sql(sql.STAMP_OF_REPORTS, {"workspace": query.workspace_id})[0]
    return _read(query.workspace_id, stamp)


def topics(query: Query, shelf: Library) -> list[Topic]:
    """Return what the question may see of the reports, skipping those that rest on nothing."""
    left_out = _left_out(query)
    scope = None if query.documents is None else frozenset(query.documents)
    shown = (
        _shown(place, report, scope)
        for place, report in enumerate(shelf.reports)
        if report.community not in left_out
    )
    return [topic for topic in shown if any(one.chunks for one in topic.statements)]


def _shown(place: int, report: Report, scope: frozenset[UUID] | None) -> Topic:
    if scope is None:
        return Topic(place, report, report.statements, is_whole=True)
    inside = (one for one in report.statements if one.chunks and one.documents <= scope)
    return Topic(place, report, tuple(inside), is_whole=False)


def _left_out(query: Query) -> frozenset[UUID]:
    if not query.exclude:
        return frozenset()
    parameters = {"workspace": query.workspace_id, "entities": list(query.exclude)}
    return frozenset(row[0] for row in run_sql(sql.TOPICS_OF_ONLY, parameters))


@lru_cache(maxsize=KEPT)
def _read(workspace_id: UUID, stamp: tuple[Any, ...]) -> Library:
    if not stamp[0]:
        return Library.of((), waiting=stamp[-1])
    parameters = {"workspace": workspace_id}
    with bulk_plans():
        reports = run_sql(sql.REPORTS, parameters)
        findings = run_sql(sql.FINDINGS, parameters)
        places = run_sql(sql.PLACES_OF_FINDINGS, parameters)
    return Library.of(_reports(reports, findings, places), waiting=stamp[-1])


def _reports(
    reports: Sequence[Any], findings: Sequence[Any], places: Sequence[Any]
) -> tuple[Report, ...]:
    resting: defaultdict[UUID, list[tuple[UUID, UUID]]] = defaultdict(list)
    for finding, chunk, document in places:
        resting[finding].append((chunk, document))
    said: defaultdict[UUID, list[Statement]] = defaultdict(list)
    for report, id_, is_summary, summary, explanation in findings:
        chunks = tuple(dict.fromkeys(chunk for chunk, _ in resting[id_]))
        documents = frozenset(document for _, document in resting[id_])
        text = _line([summary, explanation])
        said[report].append(Statement(text, is_summary, chunks, documents))
    return tuple(_report(said, *row) for row in reports)


def _report(said: Mapping[UUID, list[Statement]], id_: UUID, *row: Any) -> Report:
    community, parent, level, size, title, summary, rating = row
    statements = tuple(said.get(id_, ()))
    return Report(id_, community, parent, level, size, title, summary, rating, statements)


def _line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())
