"""Entities and relations collected from a model's answers, and their places in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ingestion.extractors.extraction import (
    LONGEST_SURFACE,
    MEANT,
    STATED,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.model.locate import Folded, Span, folded, occurrences, part_like
from ingestion.extractors.model.schema import SaidClaim
from kb_project.text.names import normalise_name


@dataclass(slots=True)
class EntityDraft:
    """An entity; ``fragments`` are distinct descriptions, each with the span that supports it."""

    name: str
    type: str
    quote: Span
    fragments: dict[tuple[str, Span], None] = field(default_factory=dict)


@dataclass(slots=True)
class RelationDraft:
    """Everything said about one relation on the strength of one quote."""

    strength: float = 0.0
    descriptions: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)

    def add(self, description: str, keywords: list[str]) -> None:
        if description and description not in self.descriptions:
            self.descriptions.append(description)
        self.keywords = list(dict.fromkeys([*self.keywords, *keywords]))


class ClaimDraft(NamedTuple):
    """``object`` is a key, or '' for none."""

    object: str
    said: SaidClaim


SOURCE: Final = "model"
ALIKE_NAME: Final = 75.0
"""0 to 100: a part of a quote at least this similar to the name is taken as the name."""
MOST_KEYWORDS: Final = 10
_LONGEST_PREDICATE: Final = 60
_MOST_PREDICATE_WORDS: Final = 6
_SENTENCE_END: Final = re.compile(r"[.!?。！？]")


@dataclass(frozen=True, slots=True)
class Placed:
    """Mentions in the order of the text, and the indexes of each entity's own."""

    text: str
    mentions: tuple[FoundMention, ...]
    indexes: Mapping[str, tuple[int, ...]]

    def mention_of(self, key: str, span: Span) -> int:
        """The entity's first mention inside the span, or else its first."""
        start, end = span
        for index in self.indexes[key]:
            if start <= self.mentions[index].start and self.mentions[index].end <= end:
                return index
        return self.indexes[key][0]


def placed(entities: Mapping[str, EntityDraft], text: Folded) -> Placed:
    """A mention for every place that spells out an entity's name.

    An entity that is not spelt out anywhere is mentioned at its quote: only these mentions may
    overlap others.
    """
    spelled = occurrences((entity.name for entity in entities.values()), text)
    found: list[tuple[Span, str, str]] = []
    for key, entity in entities.items():
        spans = [(span, SOURCE) for span in spelled[entity.name]] or [_meant(entity, text)]
        found += [(span, key, source) for span, source in spans]
    found.sort(key=lambda one: (one[0][0], -one[0][1], one[1]))
    indexes: dict[str, tuple[int, ...]] = {}
    for index, (_, key, _) in enumerate(found):
        indexes[key] = (*indexes.get(key, ()), index)
    mentions = [_mention(span, source, entities[key], text) for span, key, source in found]
    return Placed(text.original, tuple(mentions), indexes)


def relation_found(
    places: Placed, ends: tuple[str, str], span: Span, relation: RelationDraft
) -> FoundRelation:
    source, target = (places.mention_of(key, span) for key in ends)
    return FoundRelation(
        source=source,
        target=target,
        predicate=_predicate(places, source, target, span),
        start=span[0],
        end=span[1],
        kind=STATED,
        strength=relation.strength,
        description=" ".join(relation.descriptions),
        keywords=tuple(relation.keywords[:MOST_KEYWORDS]),
    )


def _meant(entity: EntityDraft, text: Folded) -> tuple[Span, str]:
    """The part of the quote that refers to the entity: what resembles its name, or all of it."""
    start, end = entity.quote
    part = part_like(entity.name, folded(text.original[start:end]), least=ALIKE_NAME)
    if part is not None and part[1] - part[0] <= LONGEST_SURFACE:
        return (start + part[0], start + part[1]), SOURCE
    if end - start <= LONGEST_SURFACE:
        return (start, end), MEANT
    head = text.original[start : start + LONGEST_SURFACE]
    return (start, start + (len(head.rsplit(maxsplit=1)[0].rstrip()) or len(head))), MEANT


def _mention(span: Span, source: str, entity: EntityDraft, text: Folded) -> FoundMention:
    surface = " ".join(text.original[span[0] : span[1]].split())
    name = "" if normalise_name(surface) == normalise_name(entity.name) else entity.name
    return FoundMention(*span, surface, entity.type, source, name)


def _predicate(places: Placed, source: int, target: int, span: Span) -> str:
    """The few words between the two in the quote; '' if there are none or too many."""
    first, second = places.mentions[source], places.mentions[target]
    if first.start < span[0] or second.end > span[1] or first.end > second.start:
        return ""
    between = " ".join(places.text[first.end : second.start].split()).strip(" ,;:-–—")
    is_short = len(between) <= _LONGEST_PREDICATE and between.count(" ") < _MOST_PREDICATE_WORDS
    is_clause = any(map(str.isalpha, between)) and not _SENTENCE_END.search(between)
    return between if is_short and is_clause else ""
