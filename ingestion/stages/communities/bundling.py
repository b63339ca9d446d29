"""Gather topics under broader ones, so that no list of topics gets too long.

The most closely related clusters are joined, the smallest first: by the weight of their
relationships or, without any, by the documents they share.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

MOST_SIBLINGS: Final = 12
"""Topics side by side: people scan five to fifteen."""

Pair = tuple[int, int]
Neighbours = Mapping[int, Mapping[int, float]]


def neighbours(weights: Mapping[Pair, float]) -> Neighbours:
    """Each node's neighbours, with the weight of each pair."""
    found: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for (a, b), weight in weights.items():
        found[a][b] = found[b][a] = weight
    return found


class Bundles:
    """Clusters being merged into at most ``MOST_SIBLINGS`` bundles, known by their index."""

    def __init__(
        self,
        clusters: Sequence[frozenset[int]],
        near: Neighbours,
        documents: Mapping[int, frozenset[Hashable]],
    ) -> None:
        self._clusters = clusters
        home = {node: place for place, cluster in enumerate(clusters) for node in cluster}
        self._ties = [defaultdict[int, float](float) for _ in clusters]
        self._sizes = [len(cluster) for cluster in clusters]
        self._documents: list[set[Hashable]] = []
        self._places: defaultdict[Hashable, set[int]] = defaultdict(set)
        for place, cluster in enumerate(clusters):
            for node in sorted(cluster):
                for other, weight in sorted(near.get(node, {}).items()):
                    if (there := home.get(other, place)) != place:
                        self._ties[place][there] += weight
            said_in = {one for node in cluster for one in documents.get(node, ())}
            self._documents.append(said_in)
            for document in said_in:
                self._places[document].add(place)
        self._into = list(range(len(clusters)))
        self.alone: list[int] = []
        """Clusters unrelated to any other, found when there were too many."""

    def made(self) -> list[list[int]]:
        """The clusters' indexes by bundle, without those in ``alone``."""
        heap = [(size, self._first(place), place) for place, size in enumerate(self._sizes)]
        heapq.heapify(heap)
        left = len(heap)
        while heap and left > MOST_SIBLINGS:
            size, _, place = heapq.heappop(heap)
            if self._into[place] != place or size != self._sizes[place]:
                continue
            partner = self._partner(place)
            left -= 1
            if partner is None:
                self.alone.append(place)
                continue
            self._merge(place, partner)
            heapq.heappush(heap, (self._sizes[partner], self._first(partner), partner))
        bundles: defaultdict[int, list[int]] = defaultdict(list)
        for place in range(len(self._clusters)):
            bundles[self._found(place)].append(place)
        return [members for place, members in bundles.items() if place not in self.alone]

    def _first(self, place: int) -> int:
        return min(self._clusters[place])

    def _partner(self, place: int) -> int | None:
        """The most related bundle relative to its size, or else the largest would absorb all."""
        ties: Mapping[int, float] = self._ties[place]
        if not ties:
            ties = Counter(
                there
                for document in self._documents[place]
                for there in {self._found(one) for one in self._places[document]} - {place}
            )
        return max(
            ties, key=lambda one: (ties[one] / self._sizes[one], -self._first(one)), default=None
        )

    def _merge(self, place: int, partner: int) -> None:
        self._into[place] = partner
        self._sizes[partner] += self._sizes[place]
        self._documents[partner] |= self._documents[place]
        for other, weight in self._ties[place].items():
            del self._ties[other][place]
            if other != partner:
                self._ties[partner][other] += weight
                self._ties[other][partner] += weight

    def _found(self, place: int) -> int:
        while self._into[place] != place:
            place = self._into[place]
        return place
