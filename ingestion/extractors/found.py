"""What an extractor finds in a text: plain values, before anything is resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

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
GENERIC_TYPES: Final = frozenset({GROUP, LANGUAGE})

LONGEST_SURFACE: Final = 120
"""Characters of a name; what is longer is a clause or data."""


@dataclass(frozen=True, slots=True)
class FoundMention:
    """``text[start:end]`` names somebody or something; ``surface`` is that text on one line.

    ``source`` says what found it: ner, propn, quote, title, noun, code, jieba, capitals.
    """

    start: int
    end: int
    surface: str
    type: str
    source: str


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


@dataclass(frozen=True, slots=True)
class Extraction:
    """Mentions in the order of the text, never overlapping, and the relations between them."""

    mentions: tuple[FoundMention, ...] = ()
    relations: tuple[FoundRelation, ...] = ()

    def shifted(self, offset: int) -> Extraction:
        """The same, for the text in which this one begins at ``offset``."""
        return Extraction(
            tuple(replace(m, start=m.start + offset, end=m.end + offset) for m in self.mentions),
            tuple(replace(r, start=r.start + offset, end=r.end + offset) for r in self.relations),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "mentions": [[m.start, m.end, m.surface, m.type, m.source] for m in self.mentions],
            "relations": [
                [r.source, r.target, r.predicate, r.start, r.end, r.kind, r.strength]
                for r in self.relations
            ],
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Extraction:
        return cls(
            tuple(FoundMention(*row) for row in payload["mentions"]),
            tuple(FoundRelation(*row) for row in payload["relations"]),
        )
