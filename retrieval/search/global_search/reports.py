"""A workspace's reports, and what a question may see of them.

They are cached in the process as long as nothing about them changes, which every question checks. A
question with a scope sees the statements that rest only on documents of the scope, and neither
title nor summary, which may speak of others.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final
from uuid import UUID

from ingestion.knowledge import corpus
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.terms import terms
from retrieval.search import sql
from retrieval.search.query import Query

KEPT: Final = 4
"""Workspaces kept in memory: some 15 kB for each report."""
LONGEST_TITLE: Final = 120
SATURATION: Final = 1.2
LENGTH: Final = 0.75
"""k1 and b of BM25."""

Part = tuple[int, int]
"""Index of a report, and of a part in it: 0 is its heading, its statements start at 1."""


class WordIndex:
    """An index of reports by their words; ``reports`` are the parts of each report as text."""

    def __init__(self, reports: Iterable[Sequence[str]]) -> None:
        # Flat sequences of place, part and count: tuples would take ten times the memory.
        self._held: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        self._lengths: list[array[int]] = []
        for place, parts in enumerate(reports):
            self._lengths.append(array("I"))
            for number, text in enumerate(parts):
                counts = Counter(terms(text))
                self._lengths[place].append(counts.total())
                for term, count in counts.items():
                    self._held[term].extend((place, number, count))

    def scores(
        self, wanted: Sequence[str], shown: Mapping[int, frozenset[int]]
    ) -> tuple[dict[int, float], dict[Part, float]]:
        """Return the BM25 scores of reports and of their parts, for ``shown`` parts by place.

        What is not shown adds nothing, not even to the statistics.
        """
        lengths = {
            place: sum(self._lengths[place][number] for number in parts)
            for place, parts in shown.items()
        }
        mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
        whole: defaultdict[int, float] = defaultdict(float)
        parts: defaultdict[Part, float] = defaultdict(float)
        for term in wanted:
            found = self._found(term, shown)
            counts: Counter[int] = Counter()
            for place, _, count in found:
                counts[place] += count
            rarity = math.log(1 + (len(shown) - len(counts) + 0.5) / (len(counts) + 0.5))
            for place, count in counts.items():
                whole[place] += rarity * _saturated(count, lengths[place] / mean)
            for place, number, count in found:
                parts[place, number] += rarity * _saturated(count, 1.0)
        return dict(whole), dict(parts)

    def _found(self, term: str, shown: Mapping[int, frozenset[int]]) -> list[tuple[int, int, int]]:
        held = self._held.get(term, ())
        triples = zip(held[0::3], held[1::3], held[2::3], strict=True)
        return [one for one in triples if one[1] in shown.get(one[0], ())]


def _saturated(count: int, length: float) -> float:
    norm = 1 - LENGTH + LENGTH * length
    return count * (SATURATION + 1) / (count + SATURATION * norm)


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
        is_quoted = any(one.is_summary for one in self.statements)
        return self.title if is_quoted else f"{self.title}. {self.summary}"


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
        words = WordIndex([one.heading, *(part.text for part in one.statements)] for one in reports)
        resting: defaultdict[UUID, list[Part]] = defaultdict(list)
        for place, report in enumerate(reports):
            for number, statement in enumerate(report.statements, start=1):
                for chunk in statement.chunks:
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
        findings = [one.text for one in self.statements if not one.is_summary]
        return _line([f"{self.report.title}.", self.report.summary, *findings])

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
    counts = corpus.counts(workspace_id=query.workspace_id)
    waiting = counts.topics - counts.reports
    return _read(query.workspace_id, counts.changes, counts.reports, waiting)


def topics(query: Query, library: Library) -> list[Topic]:
    """Return what the question may see of the reports, skipping those that rest on nothing."""
    left_out = _left_out(query)
    scope = None if query.documents is None else frozenset(query.documents)
    shown = (
        _shown(place, report, scope)
        for place, report in enumerate(library.reports)
        if report.community not in left_out
    )
    return [topic for topic in shown if any(one.chunks for one in topic.statements)]


def _shown(place: int, report: Report, scope: frozenset[UUID] | None) -> Topic:
    if scope is None:
        return Topic(place, report, report.statements, is_whole=True)
    inside = (one for one in report.statements if one.chunks and one.documents <= scope)
    return Topic(place, report, tuple(inside), is_whole=False)


def _left_out(query: Query) -> frozenset[UUID]:
    parameters = query.parameters(entities=list(query.exclude))
    rows = run_sql(sql.TOPICS_OF_ONLY, parameters) if query.exclude else []
    return frozenset(community for (community,) in rows)


@lru_cache(maxsize=KEPT)
def _read(workspace_id: UUID, _changes: int, reports: int, waiting: int) -> Library:
    if not reports:
        return Library.of((), waiting=waiting)
    parameters = {"workspace": workspace_id}
    with bulk_plans():
        heads = run_sql(sql.REPORTS, parameters)
        findings = run_sql(sql.FINDINGS, parameters)
        places = run_sql(sql.PLACES_OF_FINDINGS, parameters)
    return Library.of(_reports(heads, findings, places), waiting=waiting)


def _reports(
    reports: Sequence[Any], findings: Sequence[Any], places: Sequence[Any]
) -> tuple[Report, ...]:
    resting: defaultdict[UUID, list[tuple[UUID, UUID]]] = defaultdict(list)
    for finding, chunk, document in places:
        resting[finding].append((chunk, document))
    statements: defaultdict[UUID, list[Statement]] = defaultdict(list)
    for report, id_, is_summary, summary, explanation in findings:
        chunks = tuple(dict.fromkeys(chunk for chunk, _ in resting[id_]))
        documents = frozenset(document for _, document in resting[id_])
        text = _line([summary, explanation])
        statements[report].append(Statement(text, is_summary, chunks, documents))
    return tuple(
        Report(id_, community, parent, level, size, title, summary, rating, tuple(statements[id_]))
        for id_, community, parent, level, size, title, summary, rating in reports
    )


def _line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())
