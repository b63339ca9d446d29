"""What an extractor finds in a text: plain values, before anything is resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

STATED: Final = "stated"
"""The sentence says how the two are linked."""
TOGETHER: Final = "together"
"""The two are only named in one sentence."""

# Types of mentions. A person, an organization, … and the two that say less than a name does:
# GENERIC_TYPES are nationalities, creeds and languages, which half of all texts speak of.
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
"""A proper name of unknown kind."""
SURE: Final = "around"
"""The source of a mention whose kind is told by what stands around it."""
NER: Final = "ner"
"""The source of a mention whose kind a recogniser guessed."""
BARE: Final = "propn"
"""The source of a mention that is known by its capitals alone."""
AGAIN: Final = "again"
"""The source of a mention that has its kind from another one in the same text."""
MEANT: Final = "meant"
"""The source of a mention whose words mean somebody without being a name of theirs."""
GENERIC_TYPES: Final = frozenset({GROUP, LANGUAGE})

LONGEST_SURFACE: Final = 120
"""Characters of a name; what is longer is a clause or data."""


@dataclass(frozen=True, slots=True)
class FoundMention:
    """``text[start:end]`` names somebody or something; ``surface`` is that text on one line.

    ``source`` says what found it: ner, propn, around, quote, title, noun, code, jieba, capitals,
    model, or ``MEANT``, which is a model's too.
    ``name`` is the full name where a model gave another than the text's own.
    """

    start: int
    end: int
    surface: str
    type: str
    source: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """Two mentions (by their index) linked in the sentence ``text[start:end]``.

    ``predicate`` reads between the two names ("was born in"); it is empty when they are only
    named together. ``strength`` is 1 for what is stated, and at most 1.
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
    """What a model says of a mention's entity by the quote ``text[start:end]``."""

    mention: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """What the quote ``text[start:end]`` holds of a subject; mentions by their index.

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
    """Mentions in the order of the text, and what is said of them.

    Fragments, claims and content keywords come from a model only. Mentions do not overlap, except
    where a model named something that the text does not spell out.
    """

    mentions: tuple[FoundMention, ...] = ()
    relations: tuple[FoundRelation, ...] = ()
    fragments: tuple[FoundFragment, ...] = ()
    claims: tuple[FoundClaim, ...] = ()
    keywords: tuple[str, ...] = ()

    def shifted(self, offset: int) -> Extraction:
        """The same, for the text in which this one begins at ``offset``."""
        if not offset:
            return self
        return Extraction(
            _moved(self.mentions, offset),
            _moved(self.relations, offset),
            _moved(self.fragments, offset),
            _moved(self.claims, offset),
            self.keywords,
        )

    def as_json(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "mentions": [_row(mention) for mention in self.mentions],
            "relations": [_row(relation) for relation in self.relations],
        }
        if self.fragments or self.claims or self.keywords:
            payload["fragments"] = [_row(fragment) for fragment in self.fragments]
            payload["claims"] = [_row(claim) for claim in self.claims]
            payload["keywords"] = list(self.keywords)
        return payload

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Extraction:
        return cls(
            tuple(FoundMention(*row) for row in payload["mentions"]),
            tuple(_relation(row) for row in payload["relations"]),
            tuple(FoundFragment(*row) for row in payload.get("fragments", ())),
            tuple(FoundClaim(*row) for row in payload.get("claims", ())),
            tuple(payload.get("keywords", ())),
        )


def _relation(row: Sequence[Any]) -> FoundRelation:
    # A payload written before models were asked has the first seven only.
    told = len(FoundRelation.__slots__) - 1
    return FoundRelation(*row[:told], *map(tuple, row[told:]))


_Placed = TypeVar("_Placed", FoundMention, FoundRelation, FoundFragment, FoundClaim)


def _row(found: _Placed) -> list[object]:
    # dataclasses.astuple copies deeply: ten times as long for what is flat.
    return [getattr(found, name) for name in found.__slots__]


def _moved(found: tuple[_Placed, ...], offset: int) -> tuple[_Placed, ...]:
    return tuple(replace(one, start=one.start + offset, end=one.end + offset) for one in found)
