"""The neighbours of entities, kept as numbers until somebody asks for them.

A million relationships are four million entries in sets of ids, and most entities are never
compared so far that their neighbours matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import numpy as np

from kb_project.graph.compact import ID, Ids

KEPT: Final = 10_000
"""Neighbourhoods kept as sets: an entity is compared with several others in a row."""


class Links:
    """Who is linked with whom; relationships by the ids of their ends, sixteen bytes each."""

    def __init__(self, sources: bytes, targets: bytes) -> None:
        found, ends = np.unique(np.frombuffer(sources + targets, ID), return_inverse=True)
        self._ids = ids = Ids(found, np.arange(len(found), dtype=np.int32))
        others = np.roll(ends, len(ends) // 2)
        others = others[np.argsort(ends, kind="stable")].astype(np.int32)
        firsts = np.append(0, np.cumsum(np.bincount(ends, minlength=len(ids))))

        def read(place: int) -> frozenset[UUID]:
            near = others[firsts[place] : firsts[place + 1]]
            return frozenset(map(ids.__getitem__, np.unique(near).tolist()))

        self.of = lru_cache(KEPT)(read)
        """The ids of the neighbours of the entity at a place."""

    def neighbours(self, entities: Sequence[UUID]) -> list[Set[UUID]]:
        places = self._ids.places(entities).tolist()
        return [Neighbours(self, place) if place >= 0 else frozenset() for place in places]


class Neighbours(Set[UUID]):
    """The neighbours of one entity."""

    __slots__ = ("_links", "_place")

    def __init__(self, links: Links, place: int) -> None:
        self._links, self._place = links, place

    def __contains__(self, one: object) -> bool:
        return one in self._links.of(self._place)

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._links.of(self._place))

    def __len__(self) -> int:
        return len(self._links.of(self._place))

    @classmethod
    def _from_iterable(cls, found: Iterable[Any]) -> frozenset[Any]:
        return frozenset(found)  # an intersection is nobody's neighbourhood
