"""Facts collected from a model's answers, before they are placed in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ingestion.extractors.model.locate import Span
from ingestion.extractors.model.schema import SaidClaim


@dataclass(slots=True)
class Entity:
    """An entity; ``fragments`` are distinct descriptions, each with the span that supports it."""

    name: str
    type: str
    quote: Span
    fragments: dict[tuple[str, Span], None] = field(default_factory=dict)


@dataclass(slots=True)
class Relation:
    """Everything said about one relation on the strength of one quote."""

    strength: float = 0.0
    descriptions: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)

    def add(self, description: str, keywords: list[str]) -> None:
        if description and description not in self.descriptions:
            self.descriptions.append(description)
        self.keywords = list(dict.fromkeys([*self.keywords, *keywords]))


class Claim(NamedTuple):
    """``object`` is a key, or '' for none."""

    object: str
    said: SaidClaim
