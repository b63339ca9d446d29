"""A workspace's reports, and what a question may see of them.

They are cached in the process. Every question checks whether anything about them has changed; then
only reports that changed are read and indexed again. A question with a scope sees the statements
that rest only on documents of the scope, and neither title nor summary, which may speak of others.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ingestion.knowledge import corpus
from ingestion.knowledge.corpus import CorpusCounts
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.terms import terms
from retrieval.search import sql
from retrieval.search.process_cache import CACHE
from retrieval.search.query import Query

REPORT_BYTES: Final = 2_000
STATEMENT_BYTES: Final = 900
"""A report and a statement in memory beside their texts, with their words in the index."""
MOST_GARBAGE: Final = 1 / 2
"""Share of reports in the index that are gone from which on it is made again."""
LONGEST_TITLE: Final = 120
MARK: Final = slice(8, None)
"""The values of a row of ``sql.REPORTS`` that show a change."""
SATURATION: Final = 1.2
LENGTH: Final = 0.75
"""k1 and b of BM25."""

Part = tuple[int, int]
"""Index of a report, and of a part in it: 0 is its heading, its statements start at 1."""


class WordIndex:
    """An index of reports by their words; ``reports`` are the parts of each report as text.

    Each indexed report has a slot of its own: reports that are gone leave theirs behind.
    """

    def __init__(self, reports: Iterable[Sequence[str]]) -> None:
        # Flat sequences of slot, part and count: tuples would take ten times the memory.
        self._held: dict[str, array[int]] = {}
        self._lengths: list[array[int]] = []
        self._slots: list[int] = []
        own: set[str] = set()
        for parts in reports:
            self._add(parts, own)

    def revised(self, reports: Iterable[int | Sequence[str]]) -> WordIndex:
        """Return the index of reports in another order, each one that is here, by its place, or a
        new one. This index stays as it is."""
        made = WordIndex(())
        made._held, made._lengths = dict(self._held), list(self._lengths)
        own: set[str] = set()
        for one in reports:
            if isinstance(one, int):
                made._slots.append(self._slots[one])
            else:
                made._add(one, own)
        return made

    @property
    def garbage(self) -> float:
        """The share of indexed reports that are gone."""
        return 1 - len(self._slots) / max(1, len(self._lengths))

    def _add(self, parts: Sequence[str], own: set[str]) -> None:
        """Index a report; ``own`` are the terms whose sequences are shared with no other index."""
        slot = len(self._lengths)
        self._slots.append(slot)
        self._lengths.append(array("I"))
        for number, text in enumerate(parts):
            counts = Counter(terms(text))
            self._lengths[slot].append(counts.total())
            for term, count in counts.items():
                if term not in own:
                    own.add(term)
                    self._held[term] = array("I", self._held.get(term, ()))
                self._held[term].extend((slot, number, count))

    def seen(self, parts: Mapping[int, frozenset[int]]) -> Seen:
        """Return these parts, by the place of their report, ready for ``scores``."""
        slots = self._slots
        lengths = {
            place: sum(self._lengths[slots[place]][number] for number in numbers)
            for place, numbers in parts.items()
        }
        mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
        return Seen(parts, lengths, mean, {slots[place]: place for place in parts})

    def scores(
        self, wanted: Sequence[str], seen: Seen
    ) -> tuple[dict[int, float], dict[Part, float]]:
        """Return the BM25 scores of the reports and parts that have wanted terms.

        What is not seen adds nothing, not even to the statistics.
        """
        whole: defaultdict[int, float] = defaultdict(float)
        parts: defaultdict[Part, float] = defaultdict(float)
        for term in wanted:
            found = self._found(term, seen)
            counts: Counter[int] = Counter()
            for place, _, count in found:
                counts[place] += count
            rarity = math.log(1 + (len(seen.lengths) - len(counts) + 0.5) / (len(counts) + 0.5))
            for place, count in counts.items():
                whole[place] += rarity * _saturated(count, seen.lengths[place] / seen.mean)
            for place, number, count in found:
                parts[place, number] += rarity * _saturated(count, 1.0)
        return dict(whole), dict(parts)

    def _found(self, term: str, seen: Seen) -> list[tuple[int, int, int]]:
        """Return the place, the part and the count wherever a seen part has the term."""
        held = self._held.get(term, ())
        found = []
        for slot, number, count in zip(held[0::3], held[1::3], held[2::3], strict=True):
            place = seen.by_slot.get(slot)
            if place is not None and number in seen.parts[place]:
                found.append((place, number, count))
        return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of an index: the parts and the terms of each report by its place, the mean of
    the terms, and the place of each slot."""

    parts: Mapping[int, frozenset[int]]
    lengths: Mapping[int, int]
    mean: float
    by_slot: Mapping[int, int]


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
    mark: tuple[object, ...] = ()
    """What differs after any change to the report or to what it rests on."""

    @property
    def heading(self) -> str:
        """The text that is in no statement."""
        is_quoted = any(one.is_summary for one in self.statements)
        return self.title if is_quoted else f"{self.title}. {self.summary}"

    @property
    def texts(self) -> list[str]:
        """Its parts: the heading, then the statements."""
        return [self.heading, *(one.text for one in self.statements)]


@dataclass(frozen=True, slots=True)
class Library:
    """A workspace's reports; ``waiting`` counts the topics without a report."""

    reports: tuple[Report, ...]
    words: WordIndex
    waiting: int
    resting: Mapping[UUID, Sequence[Part]]
    """The statements that rest on each chunk: the report's place, and the statement's number from
    1."""
    everything: Visible
    """What a question about all documents sees, made once."""

    @classmethod
    def of(
        cls, reports: tuple[Report, ...], waiting: int, before: Library | None = None
    ) -> Library:
        """Build the library; reports with the statements of ``before`` are not indexed again."""
        resting: defaultdict[UUID, list[Part]] = defaultdict(list)
        for place, report in enumerate(reports):
            for number, statement in enumerate(report.statements, start=1):
                for chunk in statement.chunks:
                    resting[chunk].append((place, number))
        words = _indexed(reports, before)
        everything = Visible.of(
            (_shown(place, report, None) for place, report in enumerate(reports)), words
        )
        return cls(reports, words, waiting, dict(resting), everything)

    @property
    def size(self) -> int:
        """An estimate of its bytes in memory."""
        statements = [one for report in self.reports for one in report.statements]
        texts = sum(len(one.text) for one in statements)
        summaries = sum(len(one.summary) for one in self.reports)
        entries = REPORT_BYTES * len(self.reports) + STATEMENT_BYTES * len(statements)
        return entries + texts + summaries


def _indexed(reports: Sequence[Report], before: Library | None) -> WordIndex:
    if before is None or not before.reports:
        return WordIndex(one.texts for one in reports)
    old = {report.id: (place, report) for place, report in enumerate(before.reports)}

    def unchanged(one: Report) -> int | None:
        place, report = old.get(one.id, (None, one))
        # Statements that were not read again are the same objects.
        is_same = report.heading == one.heading and report.statements is one.statements
        return place if is_same else None

    found = [unchanged(one) for one in reports]
    made = before.words.revised(
        one.texts if place is None else place for one, place in zip(reports, found, strict=True)
    )
    return made if made.garbage <= MOST_GARBAGE else WordIndex(one.texts for one in reports)


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
            return _first(len(self.report.statements) + 1)
        shown = set(map(id, self.statements))
        numbered = enumerate(self.report.statements, start=1)
        return frozenset(number for number, one in numbered if id(one) in shown)


@cache
def _first(count: int) -> frozenset[int]:
    return frozenset(range(count))


@dataclass(frozen=True, slots=True)
class Visible:
    """What a question may see: the topics, in the library's order, and their parts in the index.

    ``positions`` are those of the topics by their place; ``ratings`` has each topic's own.
    """

    topics: tuple[Topic, ...]
    positions: Mapping[int, int]
    ratings: NDArray[np.float64]
    seen: Seen

    @classmethod
    def of(cls, topics: Iterable[Topic], words: WordIndex) -> Visible:
        """Leave out topics that rest on nothing."""
        kept = tuple(one for one in topics if any(said.chunks for said in one.statements))
        return cls(
            topics=kept,
            positions={topic.place: position for position, topic in enumerate(kept)},
            ratings=np.array([topic.report.rating for topic in kept], np.float64),
            seen=words.seen({topic.place: topic.parts for topic in kept}),
        )


def load(query: Query) -> Library:
    """Return the workspace's current reports."""
    counts = corpus.counts(workspace_id=query.workspace_id)
    read = partial(_read, query.workspace_id, counts)
    return CACHE.get("reports", query.workspace_id, counts.changes, read, _size)


def _size(library: Library) -> int:
    return library.size


def visible(query: Query, library: Library) -> Visible:
    """Return what the question may see of the reports."""
    left_out = _left_out(query)
    if query.documents is None and not left_out:
        return library.everything
    scope = None if query.documents is None else frozenset(query.documents)
    shown = (
        _shown(place, report, scope)
        for place, report in enumerate(library.reports)
        if report.community not in left_out
    )
    return Visible.of(shown, library.words)


def _shown(place: int, report: Report, scope: frozenset[UUID] | None) -> Topic:
    if scope is None:
        return Topic(place, report, report.statements, is_whole=True)
    inside = (one for one in report.statements if one.chunks and one.documents <= scope)
    return Topic(place, report, tuple(inside), is_whole=False)


def _left_out(query: Query) -> frozenset[UUID]:
    parameters = query.parameters(entities=list(query.exclude))
    rows = run_sql(sql.TOPICS_OF_ONLY, parameters) if query.exclude else []
    return frozenset(community for (community,) in rows)


def _read(workspace_id: UUID, counts: CorpusCounts, before: Library | None) -> Library:
    """Read the reports; of those that ``before`` has unchanged, only what ranks them."""
    waiting = counts.topics - counts.reports
    if not counts.reports:
        return Library.of((), waiting)
    known = {report.id: report for report in before.reports} if before else {}
    with bulk_plans():
        heads = run_sql(sql.REPORTS, {"workspace": workspace_id})
        unread = [row[0] for row in heads if row[0] not in known or known[row[0]].mark != row[MARK]]
        values = {"workspace": workspace_id, "reports": unread}
        findings = run_sql(sql.FINDINGS, values) if unread else []
        places = run_sql(sql.PLACES_OF_FINDINGS, values) if unread else []
    changed = set(unread)
    statements = _statements(findings, places)
    statements |= {id_: report.statements for id_, report in known.items() if id_ not in changed}
    reports = tuple(
        Report(id_, community, parent, level, size, title, summary, rating, said, tuple(mark))
        for id_, community, parent, level, size, title, summary, rating, *mark in heads
        for said in [statements.get(id_, ())]
    )
    return Library.of(reports, waiting, before)


def _statements(
    findings: Sequence[Any], places: Sequence[Any]
) -> dict[UUID, tuple[Statement, ...]]:
    """Return the statements of each report."""
    resting: defaultdict[UUID, list[tuple[UUID, UUID]]] = defaultdict(list)
    for finding, chunk, document in places:
        resting[finding].append((chunk, document))
    statements: defaultdict[UUID, list[Statement]] = defaultdict(list)
    for report, id_, is_summary, summary, explanation in findings:
        chunks = tuple(dict.fromkeys(chunk for chunk, _ in resting[id_]))
        documents = frozenset(document for _, document in resting[id_])
        text = _line([summary, explanation])
        statements[report].append(Statement(text, is_summary, chunks, documents))
    return {report: tuple(found) for report, found in statements.items()}


def _line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())
