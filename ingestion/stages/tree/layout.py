"""Which items a tree's clusters hold, kept so that a change below moves nothing else.

Clustering again may arrange everything differently for one new leaf, and whatever has other
children is written again. So clusters stay: a new item joins the cluster nearest to it, and one
that is gone keeps its place, since a document may come back from the trash. Only when a quarter of
the leaves joined since, when most are gone, or when a cluster has grown too long, is clustering
done again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import numpy as np

from ingestion.stages.tree.clustering import SMALLEST, Centres, Cluster, Rows
from kb_project.llm.ports import Vectors

MOST_JOINED: Final = 0.25
"""Share of the leaves that may have joined since the clustering."""
LEAST_LEFT: Final = 0.5
"""Share of the clustered leaves that must be left."""
MOST_OVER: Final = 1.25
"""How far a cluster's texts may exceed the limit; they are cut to fit."""
KEY_LENGTH: Final = 16

FEW_MOVING: Final = 16
"""Items that join clusters, up to which the vectors of others are sought, not all read."""
NEAREST: Final = 20
SLACK: Final = 0.01
"""How much a product of vectors in half precision may differ at most."""

# The probability of each member, by its key.
Members = dict[str, float]


class Leaves(Sequence[Vectors]):
    """The vectors of very many leaves: one that has not been read is read with all others."""

    @abstractmethod
    def read(self, places: Iterable[int]) -> None:
        """Read these, before they are looked at."""

    @abstractmethod
    def alike(self, vector: Vectors, most: int | None, least: float) -> list[int]:
        """Where the largest products with a vector are, or all of at least ``least``."""


class SoughtCentres:
    """As ``Centres``, for few items among very many leaves: most means are not made.

    A mean is no more like an item than its most similar member. So only clusters with a member that
    is as similar as the best mean known are looked at.
    """

    def __init__(self, clusters: Sequence[Cluster], leaves: Leaves) -> None:
        """``clusters`` may change while this is used."""
        self._clusters, self._leaves = clusters, leaves
        self._homes: defaultdict[int, set[int]] = defaultdict(set)
        for place, one in enumerate(clusters):
            self.renew(place, one)

    def renew(self, place: int, rows: Iterable[int]) -> None:
        for row in rows:
            self._homes[row].add(place)

    def nearest_to(self, item: int) -> int:
        """The cluster whose mean is most similar."""
        self._leaves.read([item])
        vector = self._leaves[item]
        near = self._products(self._leaves.alike(vector, NEAREST, -1.0), vector)
        if near:
            least = max(near.values()) - SLACK
            near |= self._products(self._leaves.alike(vector, None, least), vector)
        else:
            near = self._products(range(len(self._leaves)), vector)
        return max(near, key=lambda place: (near[place], -place))

    def _products(self, leaves: Iterable[int], vector: Vectors) -> dict[int, float]:
        """The products of a vector with the means of all clusters that have any of these leaves."""
        homes = {place: [*self._clusters[place]] for leaf in leaves for place in self._homes[leaf]}
        filled = {place: rows for place, rows in homes.items() if rows}
        self._leaves.read({row for rows in filled.values() for row in rows})
        return {
            place: float(np.array([self._leaves[row] for row in rows]).mean(axis=0) @ vector)
            for place, rows in filled.items()
        }


@dataclass(slots=True)
class Layout:
    """The clusters of each layer: those of the first hold leaves, by their keys (``leaf_keys``),
    those above hold clusters of the layer below, by their number.

    ``joined`` are leaves that joined after the clustering.
    """

    layers: list[list[Members]] = field(default_factory=list)
    joined: set[str] = field(default_factory=set)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Layout:
        return cls([list(one) for one in stored["layers"]], set(stored["joined"]))

    def as_json(self) -> dict[str, Any]:
        return {"layers": self.layers, "joined": sorted(self.joined)}

    def fits(self, keys: Sequence[str]) -> bool:
        """Whether enough of the leaves were clustered, and enough of the clustered are left."""
        known = set().union(*self.layers[0]) - self.joined if self.layers else set()
        left = known.intersection(keys)
        return len(keys) - len(left) <= MOST_JOINED * len(keys) and len(left) >= (
            LEAST_LEFT * len(known)
        )

    def has(self, number: int, keys: Sequence[str]) -> bool:
        """Whether any of these items were clustered in layer ``number``."""
        return number <= len(self.layers) and any(
            key in one for one in self.layers[number - 1] for key in keys
        )

    def keep(self, number: int, keys: Sequence[str], found: Iterable[Cluster]) -> None:
        """Replace layer ``number``, and with it those above, by clusters of the items' indexes."""
        clusters = [{keys[item]: chance for item, chance in one.items()} for one in found]
        self.layers[number - 1 :] = [clusters]
        if number == 1:
            self.joined.clear()

    def arranged(self, number: int, keys: Sequence[str], vectors: Rows) -> dict[str, Cluster]:
        """The clusters of layer ``number`` by their key, for the items with these keys."""
        clusters = self.layers[number - 1]
        places = {key: place for place, key in enumerate(keys)}
        found = [
            {places[key]: chance for key, chance in one.items() if key in places}
            for one in clusters
        ]
        held = set().union(*found)
        new = [place for place in range(len(keys)) if place not in held]
        # Where none is to join a cluster, no vector is looked at.
        if moving := len(new) + sum(len(one) == 1 for one in found):
            centres: Centres | SoughtCentres = (
                SoughtCentres(found, vectors)
                if isinstance(vectors, Leaves) and moving <= FEW_MOVING
                else Centres(found, vectors)
            )
            for place in new:
                near = _joined(place, found, centres)
                clusters[near][keys[place]] = 1.0
                if number == 1:
                    self.joined.add(keys[place])
            found = _without_lone(found, centres)
        return _distinct(found)


def digest_of_text(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]


def leaf_keys(digests: Iterable[str]) -> list[str]:
    """Identify leaves by the digests of their texts, so that one added again is the same; copies by
    number.
    """
    seen: Counter[str] = Counter()
    keys = []
    for digest in digests:
        keys.append(f"{digest}-{seen[digest]}" if seen[digest] else digest)
        seen[digest] += 1
    return keys


def is_overlong(clusters: Iterable[Cluster], tokens: Sequence[int], limit: int) -> bool:
    return any(
        len(one) > SMALLEST and sum(tokens[item] for item in one) > MOST_OVER * limit
        for one in clusters
    )


def _joined(item: int, clusters: Sequence[Cluster], centres: Centres | SoughtCentres) -> int:
    """Put an item into the cluster with the most similar mean, and return its place."""
    near = centres.nearest_to(item)
    clusters[near][item] = 1.0
    centres.renew(near, clusters[near])
    return near


def _without_lone(found: list[Cluster], centres: Centres | SoughtCentres) -> list[Cluster]:
    """A cluster left with one item has nothing to summarise: the item joins another, for now."""
    homes: defaultdict[int, int] = defaultdict(int)
    for one in found:
        for item in one:
            homes[item] += 1
    filled = sum(map(bool, found))
    for place, one in enumerate(found):
        if len(one) != 1 or filled < 2:
            continue
        [item] = one
        one.clear()
        centres.renew(place, one)
        filled -= 1
        homes[item] -= 1
        if not homes[item]:
            _joined(item, found, centres)
            homes[item] += 1
    return found


def _distinct(found: Sequence[Cluster]) -> dict[str, Cluster]:
    """Two clusters of the same items are one node, and one of none is no node."""
    keys: dict[frozenset[int], str] = {}
    for place, one in enumerate(found):
        if one:
            keys.setdefault(frozenset(one), str(place))
    return {key: found[int(key)] for key in keys.values()}
