"""Number the passages of an answer, and resolve the labels given to the model.

Shown passages keep the numbers they are shown with. A passage behind a record that was not shown
gets the next number when it is first cited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from uuid import UUID

from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from retrieval.answering.citations.labels import GENERAL, kind_of
from retrieval.search.found import Found, Record, RecordKind
from retrieval.search.hits import Hit, hydrate
from retrieval.search.query import Query, ScoredChunk
from workspaces import access

LETTERS: Final = {
    RecordKind.ENTITY: "E",
    RecordKind.RELATIONSHIP: "F",
    RecordKind.CLAIM: "C",
    RecordKind.REPORT: "T",
    RecordKind.SUMMARY: "S",
}
MOST_SOURCES: Final = 8
"""Most passages that a citation of one record may lead to …"""
MOST_IN_ALL: Final = 400
"""… and of all records together."""


@dataclass
class Numbering:
    """Implements ``retrieval.answering.citations.markers.Labels``.

    ``hits`` are the passages shown, numbered from 1; ``sources`` the passages behind records, by
    id. ``given`` are the labels that the model was given, empty until that is settled.
    """

    hits: Sequence[Hit]
    records: Mapping[str, Record] = field(default_factory=dict)
    sources: Mapping[UUID, Hit] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    allows_general: bool = False
    _numbers: dict[UUID, int] = field(init=False)
    _passages: dict[int, Hit] = field(init=False)

    def __post_init__(self) -> None:
        self._passages = dict(enumerate(self.hits, start=1))
        self._numbers = {hit.chunk_id: number for number, hit in self._passages.items()}

    @property
    def kinds(self) -> frozenset[str]:
        general = {GENERAL} if self.allows_general else set()
        return frozenset(kind_of(label) for label in self.given) | general

    def numbers(self, label: str, said: str) -> tuple[int, ...]:
        if label == GENERAL:
            return (0,)
        if label not in self.given:
            return ()
        record = self.records.get(label)
        return (int(label),) if record is None else self._behind(record, last_sentence(said))

    def number_of(self, chunk_id: UUID) -> int:
        """Return the passage's number, assigning one if needed; 0 if there is no such passage."""
        known = self._numbers.get(chunk_id)
        if known is None and chunk_id in self.sources:
            known = len(self._passages) + 1
            self._passages[known] = self.sources[chunk_id]
            self._numbers[chunk_id] = known
        return known or 0

    def passage(self, number: int) -> Hit:
        return self._passages[number]

    @property
    def in_use(self) -> list[int]:
        """Numbers of the passages shown and of the others cited."""
        return list(self._passages)

    def knows(self, chunk_id: UUID) -> bool:
        return chunk_id in self._numbers or chunk_id in self.sources

    def learn(self, hits: Iterable[Hit]) -> None:
        """Add passages that may be cited from now on."""
        self.sources = {**self.sources, **{hit.chunk_id: hit for hit in hits}}

    def _behind(self, record: Record, sentence: str) -> tuple[int, ...]:
        """Return the record's passage that shares most terms with the sentence; the first of
        equals."""
        wanted = frozenset(terms(sentence))
        shown = {hit.chunk_id: hit for hit in self.hits}
        found = [
            hit for each in record.sources if (hit := shown.get(each) or self.sources.get(each))
        ]
        if not found:
            return ()
        best = max(found, key=lambda hit: len(wanted & _terms_of(hit.text)))
        return (self.number_of(best.chunk_id),)


def number(query: Query, found: Found, hits: Sequence[Hit]) -> Numbering:
    """Read the passages behind the records and points, in a transaction of its own."""
    shown = {hit.chunk_id for hit in hits}
    behind = [chunk for point in found.points for chunk in point.chunks]
    behind += [chunk for record in found.records for chunk in record.sources[:MOST_SOURCES]]
    wanted = [chunk for chunk in dict.fromkeys(behind) if chunk not in shown][:MOST_IN_ALL]
    with access.in_workspace(query.workspace_id):
        passages = hydrate(query.workspace_id, [ScoredChunk(chunk, 0.0) for chunk in wanted])
    sources = {
        hit.chunk_id: hit
        for hit in passages
        if query.documents is None or hit.document_id in query.documents
    }
    reachable = shown | set(sources)
    records = (one for one in found.records if not reachable.isdisjoint(one.sources))
    return Numbering(hits, dict(_labelled(records)), sources)


def last_sentence(said: str) -> str:
    """
    >>> last_sentence("Ada came in 1987 [1]. She keeps the light")
    'She keeps the light'
    """
    spans = sentence_spans(said)
    return said[spans[-1][0] : spans[-1][1]] if spans else ""


def _labelled(records: Iterable[Record]) -> Iterable[tuple[str, Record]]:
    counts = dict.fromkeys(LETTERS, 0)
    for record in records:
        counts[record.kind] += 1
        yield f"{LETTERS[record.kind]}{counts[record.kind]}", record


@lru_cache(maxsize=512)
def _terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))
