"""Labels of passages and records: their numbers, and what a model writes in brackets to cite them.

Shown passages keep the numbers they are shown with. A passage behind a record that was not shown
gets the next number when it is first cited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from uuid import UUID

import regex

from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import Hit, ModeResult, Record, RecordKind, hydrate
from workspaces import access

GENERAL: Final = "G"
FOREIGN: Final = "?"
"""A reference in a scheme other than the one the model was given."""
MOST_IN_RANGE: Final = 20

_ITEM: Final = (
    r"(?:(?:passages?|sources?|chunks?|records?|段落|来源)\s*)?[#^]?"
    r"(?:(?P<general>g)(?![\p{L}\p{N}])"
    r"|(?P<letter>[efctsg])?\s?(?P<first>\p{Nd}{1,9})"
    r"(?:\s*[-–—]\s*[efcts]?(?P<last>\p{Nd}{1,9}))?)"
    r"(?:†[^,;\]】]*)?"
)
_BETWEEN: Final = r"(?:\s*(?:[,;、，；/&+|]|\band\b|\bund\b|\bet\b|和)\s*|\s+)"
_PLAIN_ITEM: Final = regex.sub(r"\?P<\w+>", "?:", _ITEM)
_LIST: Final = regex.compile(
    rf"\s*{_PLAIN_ITEM}(?:{_BETWEEN}{_PLAIN_ITEM})*(?:\s*,?\s*(?:\+\s*more|etc\.?|…))?\s*",
    regex.IGNORECASE,
)
_ONE: Final = regex.compile(_ITEM, regex.IGNORECASE)
_SETS: Final = {
    "report": "T",
    "entit": "E",
    "relation": "F",
    "claim": "C",
    "summar": "S",
    "source": "",
    "passage": "",
    "text unit": "",
}
_SET: Final = regex.compile(r"([\p{L} ]{3,30}?)\s*\(([^()]{0,160})\)", regex.IGNORECASE)
_SET_LIST: Final = regex.compile(
    r"\s*(?:data\s*:\s*)?(?:[\p{L} ]{3,30}\([\p{Nd}\s,;+a-z]{0,160}\)\s*[,;.]?\s*)+",
    regex.IGNORECASE,
)
_NUMBER: Final = regex.compile(r"\p{Nd}{1,9}")
_FOREIGN: Final = regex.compile(
    r"\s*(?:(?:doc(?:ument)?|ref(?:erence)?|citation|source|footnote|note|fn|r)\s*[#:]?\s*(?:needed|\p{Nd}{1,9})?"
    r"|data\s*:.*|[0-9a-f]{8}(?:[0-9a-f-]{0,28}))\s*",
    regex.IGNORECASE,
)
_WRAPPING: Final = str.maketrans("", "", "[]【】［］\\")


def labels_in(bracket: str) -> list[str] | None:
    """Return the labels between brackets, or None if this is not a reference.

    >>> labels_in("1, E2-3"), labels_in("Data: Reports (1, +more); Entities (5)"), labels_in("sic")
    (['1', 'E2', 'E3'], ['T1', 'E5'], None)
    """
    content = bracket.translate(_WRAPPING)
    if _LIST.fullmatch(content):
        return list(_items(content))
    if _SET_LIST.fullmatch(content):
        return list(_of_sets(content))
    return [FOREIGN] if _FOREIGN.fullmatch(content) else None


def kind_of(label: str) -> str:
    """Return the letter of a label, '' for a passage's."""
    return label[0] if label[0].isalpha() or label == FOREIGN else ""


def _items(content: str) -> Iterator[str]:
    for item in _ONE.finditer(content):
        if item["general"]:
            yield GENERAL
            continue
        letter, first = (item["letter"] or "").upper(), _whole(item["first"])
        last = _whole(item["last"]) if item["last"] else first
        numbers = range(first, last + 1) if first <= last < first + MOST_IN_RANGE else (first, last)
        yield from (f"{letter}{number}" for number in numbers)


def _of_sets(content: str) -> Iterator[str]:
    for name, numbers in _SET.findall(content):
        wanted = name.strip().lower()
        letter = next((found for begins, found in _SETS.items() if wanted.startswith(begins)), None)
        for number in _NUMBER.findall(numbers):
            yield FOREIGN if letter is None else f"{letter}{_whole(number)}"


def _whole(digits: str) -> int:
    """Return 0, which no label has, for digits of a newer Unicode than Python's: the pattern knows
    them."""
    return int(digits) if digits.isdecimal() else 0


# --- numbering ------------------------------------------------------------------------------------
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
    id. ``given`` are the labels that the model was given, empty until the context is built.
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


def number(query: Query, found: ModeResult, hits: Sequence[Hit]) -> Numbering:
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
