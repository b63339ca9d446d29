"""Which items a tree's clusters hold, kept so that a change below moves nothing else.

Clustering again may arrange everything differently for one new leaf, and whatever has other
children is written again. So clusters stay: a new item joins the cluster nearest to it, and one
that is gone keeps its place, since a document may come back from the trash. Only when a quarter of
the leaves joined since, when most are gone, or when a cluster has grown too long, is clustering
done again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from ingestion.stages.tree.clustering import SMALLEST, Centres, Cluster, Rows

MOST_JOINED: Final = 0.25
"""Share of the leaves that may have joined since the clustering."""
LEAST_LEFT: Final = 0.5
"""Share of the clustered leaves that must be left."""
MOST_OVER: Final = 1.25
"""How far a cluster's texts may exceed the limit; they are cut to fit."""
KEY_LENGTH: Final = 16

# The probability of each member, by its key.
Members = dict[str, float]


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
        centres = Centres(found, vectors)
        for place, key in enumerate(keys):
            if place not in held:
                near = _joined(place, found, centres, vectors)
                clusters[near][key] = 1.0
                if number == 1:
                    self.joined.add(key)
        return _distinct(_without_lone(found, centres, vectors))


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


def _joined(item: int, clusters: Sequence[Cluster], centres: Centres, vectors: Rows) -> int:
    """Put an item into the cluster with the most similar mean, and return its place."""
    near = centres.nearest(vectors[item])
    clusters[near][item] = 1.0
    centres.renew(near, clusters[near])
    return near


def _without_lone(found: list[Cluster], centres: Centres, vectors: Rows) -> list[Cluster]:
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
            _joined(item, found, centres, vectors)
            homes[item] += 1
    return found


def _distinct(found: Sequence[Cluster]) -> dict[str, Cluster]:
    """Two clusters of the same items are one node, and one of none is no node."""
    keys: dict[frozenset[int], str] = {}
    for place, one in enumerate(found):
        if one:
            keys.setdefault(frozenset(one), str(place))
    return {key: found[int(key)] for key in keys.values()}
