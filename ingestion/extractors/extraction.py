"""What an extractor finds in a text: plain values, before anything is resolved.

A long text is read in windows that end where sentences do, and what is found in them is joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from kb_project.text.sentences import sentence_spans

STATED: Final = "stated"
"""The sentence says how the two are related."""
TOGETHER: Final = "together"
"""The two are only named in the same sentence."""

# Types of mentions. GENERIC_TYPES, nationalities, creeds and languages, say less than a name does:
# half of all texts mention them.
PERSON: Final = "person"
ORGANIZATION: Final = "organization"
PLACE: Final = "place"
EVENT: Final = "event"
WORK: Final = "work"
PRODUCT: Final = "product"
GROUP: Final = "group"
LANGUAGE: Final = "language"
CONCEPT: Final = "concept"
SYMBOL: Final = "symbol"
NAME: Final = "name"
"""A proper name of unknown type."""
SURE: Final = "around"
"""Source of a mention whose type follows from its context."""
NER: Final = "ner"
"""Source of a mention whose type was guessed by a recogniser."""
BARE: Final = "propn"
"""Source of a mention recognised by its capitals alone."""
AGAIN: Final = "again"
"""Source of a mention that takes its type from another one in the same text."""
MEANT: Final = "meant"
"""Source of a mention whose words refer to an entity without being its name."""
GENERIC_TYPES: Final = frozenset({GROUP, LANGUAGE})

LONGEST_SURFACE: Final = 120
"""Characters of a name; anything longer is a clause or data."""

LONGEST_WINDOW: Final = 10_000
"""Characters. A chunk is one window; spaCy's memory grows with the window, not the text."""


@dataclass(frozen=True, slots=True)
class FoundMention:
    """``text[start:end]`` names an entity; ``surface`` is that text on one line.

    ``source`` says what found it: ner, propn, around, quote, title, noun, code, jieba, capitals,
    model, or ``MEANT``, which is also from a model. ``name`` is the full name if a model gave one
    that differs from the text's.
    """

    start: int
    end: int
    surface: str
    type: str
    source: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """Two mentions (by index) linked in the sentence ``text[start:end]``.

    ``predicate`` reads between the two names ("was born in"); it is empty if they are only named
    together. ``strength`` is 1 for what is stated, and at most 1.
    """

    source: int
    target: int
    predicate: str
    start: int
    end: int
    kind: str
    strength: float
    description: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFragment:
    """A model's note on a mention's entity, supported by the quote ``text[start:end]``."""

    mention: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A claim about a subject in the quote ``text[start:end]``; mentions by index.

    ``status`` is true, false or suspected; the period's ends are ISO 8601 dates or ''.
    """

    subject: int
    object: int | None
    type: str
    status: str
    period_start: str
    period_end: str
    description: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """Mentions in the order of the text, and what is said about them.

    Fragments and claims come from a model only. Mentions do not overlap, except
    if a model named something that the text does not spell out.
    """

    mentions: tuple[FoundMention, ...] = ()
    relations: tuple[FoundRelation, ...] = ()
    fragments: tuple[FoundFragment, ...] = ()
    claims: tuple[FoundClaim, ...] = ()

    def shifted(self, offset: int) -> Extraction:
        """The extraction of a text in which this text begins at ``offset``."""
        if not offset:
            return self
        return Extraction(
            _moved(self.mentions, offset),
            _moved(self.relations, offset),
            _moved(self.fragments, offset),
            _moved(self.claims, offset),
        )

    def as_json(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "mentions": [_row(mention) for mention in self.mentions],
            "relations": [_row(relation) for relation in self.relations],
        }
        if self.fragments or self.claims:
            payload["fragments"] = [_row(fragment) for fragment in self.fragments]
            payload["claims"] = [_row(claim) for claim in self.claims]
        return payload

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Extraction:
        # Payloads from before models were used have only the first seven.
        flat = len(FoundRelation.__slots__) - 1
        return cls(
            tuple(FoundMention(*row) for row in payload["mentions"]),
            tuple(
                FoundRelation(*row[:flat], *map(tuple, row[flat:])) for row in payload["relations"]
            ),
            tuple(FoundFragment(*row) for row in payload.get("fragments", ())),
            tuple(FoundClaim(*row) for row in payload.get("claims", ())),
        )


_Placed = TypeVar("_Placed", FoundMention, FoundRelation, FoundFragment, FoundClaim)


def _row(found: _Placed) -> list[object]:
    # dataclasses.astuple copies deeply, which takes ten times as long for flat values.
    return [getattr(found, name) for name in found.__slots__]


def _moved(found: tuple[_Placed, ...], offset: int) -> tuple[_Placed, ...]:
    return tuple(replace(one, start=one.start + offset, end=one.end + offset) for one in found)


def windows(text: str) -> Iterator[tuple[int, str]]:
    """``(offset, piece)`` for pieces of whole sentences, none longer than LONGEST_WINDOW."""
    if len(text) <= LONGEST_WINDOW:
        yield 0, text
        return
    start = stop = 0
    for sentence_start, sentence_end in sentence_spans(text):
        if sentence_end - start > LONGEST_WINDOW and stop > start:
            yield start, text[start:stop]
            start = sentence_start
        stop = sentence_end
    if stop > start:
        yield start, text[start:stop]


def joined(parts: Iterable[tuple[int, Extraction]]) -> Extraction:
    """Join the extractions of windows, each given with its window's offset."""
    mentions: list[FoundMention] = []
    relations: list[FoundRelation] = []
    for offset, part in parts:
        moved = part.shifted(offset)
        first = len(mentions)
        mentions += moved.mentions
        relations += [
            replace(r, source=r.source + first, target=r.target + first) for r in moved.relations
        ]
    return Extraction(tuple(mentions), tuple(relations))
