"""Find a workspace's names in a text.

Unlike ``kb_project.graph.walk.names_in`` this needs no snapshot: one small query per text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from kb_project.text.names import LONGEST_NAME, name_runs, normalise_name
from kb_project.text.terms import terms
from kb_project.text.words import Word, is_unspaced, words
from retrieval.search import scope_sql

LONGEST: Final = 8_000
"""Characters of a text that are searched."""
_ARTICLES: Final = ("the", "a", "an")


@dataclass(frozen=True, slots=True)
class Named:
    """An entity named in a text; ``surface`` is its spelling there."""

    entity_id: UUID
    name: str
    type: str
    surface: str


@dataclass(frozen=True, slots=True)
class Place:
    """A run of characters that may be a name; ``key`` is from ``normalise_name``."""

    start: int
    stop: int
    key: str


def named_in(workspace_id: UUID, text: str) -> list[Named]:
    """Return the names in text order, each entity once. Call in the workspace's scope.

    If several entities share a name, the most mentioned one is returned.
    """
    text = text[:LONGEST]
    places = list(places_in(text))
    keys = sorted({place.key for place in places})
    rows = run_sql(scope_sql.ENTITIES_OF_KEYS, {"workspace": workspace_id, "keys": keys})
    known = {key: (entity_id, name, kind) for key, entity_id, name, kind in rows}
    found: dict[UUID, Named] = {}
    for place in longest([place for place in places if place.key in known]):
        entity_id, name, kind = known[place.key]
        surface = text[place.start : place.stop]
        found.setdefault(entity_id, Named(entity_id, name, kind, surface))
    return list(found.values())


def places_in(text: str) -> Iterator[Place]:
    """Yield every run that may be a name: capitalised or with a digit, unless all is lower case.

    >>> [place.key for place in places_in("Who kept Skarrow Light?")]
    ['skarrow light', 'skarrow', 'light']
    """
    found = list(words(text))
    is_lower = not any(text[word.start].isupper() for word in found[1:])
    for first, stop, key in name_runs(found):
        run = found[first:stop]
        if stop == first + 1 and is_unspaced(run[0].folded):
            yield from _inside(text, run[0])
        elif terms(key) and (is_lower or _is_name(text, run)):  # "who" is not The Who
            yield Place(run[0].start, run[-1].end, key)


def longest(places: Sequence[Place]) -> list[Place]:
    """Drop places that lie inside another, or overlap one that begins earlier."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda one: (one.start, -one.stop)):
        if not kept or place.start >= kept[-1].stop:
            kept.append(place)
    return kept


def _is_name(text: str, run: Sequence[Word]) -> bool:
    """Return whether the run begins and ends with words of a name: no "Was Ada", no "Ada kept"."""
    telling = [word for word in run if word.folded not in _ARTICLES]
    return bool(telling) and all(
        not text[word.start : word.end].islower() and terms(text[word.start : word.end])
        for word in (telling[0], telling[-1])
    )


def _inside(text: str, word: Word) -> Iterator[Place]:
    """Yield runs of two or more characters, in a script without spaces."""
    for start in range(word.start, word.end - 1):
        for stop in range(start + 2, min(word.end, start + LONGEST_NAME) + 1):
            if key := normalise_name(text[start:stop]):
                yield Place(start, stop, key)
