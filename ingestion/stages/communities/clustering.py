"""Group entities into a hierarchy of clusters that covers every one of them.

Hierarchical Leiden (Traag, Waltman, van Eck 2019) by graspologic's native core, with GraphRAG's
constants: clusters above ``max_size`` are split again, level by level, as long as that yields more
than one part. Unlike in GraphRAG, relationships in both directions count, every component takes
part, and too many clusters side by side are gathered under broader ones (``Bundles``). Components
too small for a topic of their own are gathered under one root.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import dataclass, replace
from typing import Final

import graspologic_native
import numpy as np
from numpy.typing import NDArray

from ingestion.stages.communities.graph import Graph

MAX_SIZE: Final = 10
SEED: Final = 0xDEADBEEF
RANDOMNESS: Final = 0.001

# A component with fewer entities, or based on fewer sentences, is not a topic of its own.
SMALLEST_TOPIC: Final = 4

LEAST_SENTENCES: Final = 3

MOST_SIBLINGS: Final = 12
"""Topics side by side: people scan five to fifteen."""
LARGEST: Final = 2
"""How many times the mean number of topics are gathered under one at most."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """``parent`` is the parent's index in the same list; level 0 has none.

    ``is_rest`` marks the root that gathers what is too small for a topic.
    """

    level: int
    members: frozenset[int]
    parent: int | None = None
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class _Unplaced:
    """A cluster that has no place in the list yet; ``key`` and ``parent`` name it until then."""

    key: str
    level: int
    members: frozenset[int]
    parent: str | None = None
    is_rest: bool = False


def hierarchy(
    graph: Graph,
    *,
    max_size: int = MAX_SIZE,
    settled: AbstractSet[int] = frozenset(),
    apart: AbstractSet[int] = frozenset(),
) -> list[Cluster]:
    """Clusters, parents before children.

    Every entity is in exactly one cluster of level 0, and at most one of every further level.
    Parts of the graph with an entity that is ``settled`` have their topics already and get no
    clusters; those whose entities are all ``apart`` stay gathered with what is too small for a
    topic.
    """
    topics, rest = _by_weight(graph)
    unsettled = [topic for topic in topics if settled.isdisjoint(topic)]
    still = [topic for topic in unsettled if apart >= set(topic)]
    new = [topic for topic in unsettled if not apart >= set(topic)]
    inside = np.zeros(graph.size, bool)
    inside[[node for topic in new for node in topic]] = True
    found, alone = _bundled(list(_leiden(graph, inside, max_size)), graph, graph.documents(inside))
    return _in_order([*found, *_gathered([*rest, *alone, *still], first_of_own=not topics)])


def _by_weight(graph: Graph) -> tuple[list[list[int]], list[list[int]]]:
    """Split the connected components into those that make topics and the rest."""
    topics: list[list[int]] = []
    rest: list[list[int]] = []
    for component, sentences in zip(
        graph.components(), graph.sentences_by_component().tolist(), strict=True
    ):
        # No sentence at all means that the sentences are unknown.
        is_thin = 0 < sentences < LEAST_SENTENCES
        is_topic = len(component) >= SMALLEST_TOPIC and not is_thin
        (topics if is_topic else rest).append(component)
    return topics, rest


def _leiden(graph: Graph, inside: NDArray[np.bool_], max_size: int) -> Iterator[_Unplaced]:
    low, high, weights = (some[inside[graph.pairs[0]]].tolist() for some in graph.pairs)
    if not weights:
        return
    entries = graspologic_native.hierarchical_leiden(
        [(str(a), str(b), weight) for a, b, weight in zip(low, high, weights, strict=True)],
        randomness=RANDOMNESS,
        max_cluster_size=max_size,
        seed=SEED,
    )
    members: defaultdict[int, set[int]] = defaultdict(set)
    place: dict[int, tuple[int, int | None]] = {}
    for entry in entries:
        members[entry.cluster].add(int(entry.node))
        place[entry.cluster] = entry.level, entry.parent_cluster
    for cluster, (level, parent) in place.items():
        above = None if parent is None else str(parent)
        yield _Unplaced(str(cluster), level, frozenset(members[cluster]), above)


def _gathered(parts: Sequence[list[int]], *, first_of_own: bool) -> Iterator[_Unplaced]:
    """Small components under one root, those with several entities as clusters of their own.

    A graph that is just one small component is its own topic.
    """
    if not parts:
        return
    if first_of_own and len(parts) == 1:
        yield _Unplaced("rest 0", 0, frozenset(parts[0]))
        return
    everything = frozenset(node for part in parts for node in part)
    yield _Unplaced("rest", 0, everything, is_rest=True)
    for part in parts:
        if len(part) > 1:
            yield _Unplaced(f"rest {part[0]}", 1, frozenset(part), "rest")


def _in_order(found: Collection[_Unplaced]) -> list[Cluster]:
    """By level, the largest first; nothing depends on how the clusters were numbered."""
    ordered = sorted(
        found, key=lambda one: (one.level, one.is_rest, -len(one.members), sorted(one.members))
    )
    place = {one.key: number for number, one in enumerate(ordered)}
    return [
        Cluster(
            level=one.level,
            members=one.members,
            parent=None if one.parent is None else place[one.parent],
            is_rest=one.is_rest,
        )
        for one in ordered
    ]


# --- gathering topics under broader ones ----------------------------------------------------------
def _bundled(
    found: Sequence[_Unplaced], graph: Graph, documents: Mapping[int, AbstractSet[int]]
) -> tuple[list[_Unplaced], list[list[int]]]:
    """The clusters, at most ``MOST_SIBLINGS`` side by side, and those that fit under no topic."""
    children: defaultdict[str | None, list[_Unplaced]] = defaultdict(list)
    for one in sorted(found, key=lambda one: min(one.members)):
        children[one.parent].append(one)
    alone: list[list[int]] = []
    kept: list[_Unplaced] = []
    waiting: list[_Unplaced | None] = [None]
    for parent in waiting:  # grows while it is read
        key, level = (parent.key, parent.level + 1) if parent else (None, 0)
        siblings = children[key]
        if len(siblings) > MOST_SIBLINGS:
            members = [one.members for one in siblings]
            bundles = Bundles(members, graph, documents, is_whole=parent is None)
            made = [[siblings[place] for place in places] for places in bundles.made()]
            alone += [_members(siblings[place] for place in places) for places in bundles.alone]
            siblings = [_bundle(members, key, children) for members in made]
        placed = [replace(one, level=level) for one in siblings]
        kept += placed
        waiting += placed
    return kept, alone


def _bundle(
    members: Sequence[_Unplaced], parent: str | None, children: dict[str | None, list[_Unplaced]]
) -> _Unplaced:
    if len(members) == 1:
        return members[0]
    key = f"bundle {len(children)}"
    children[key] = [replace(one, parent=key) for one in members]
    return _Unplaced(key, 0, frozenset(_members(members)), parent)


def _members(clusters: Iterable[_Unplaced]) -> list[int]:
    return sorted(frozenset[int]().union(*(one.members for one in clusters)))


class Bundles:
    """Clusters being merged into at most ``MOST_SIBLINGS`` bundles, known by their index.

    The most closely related are joined, the smallest first: by the weight of their relationships
    or, without any, by the documents they share.
    """

    def __init__(
        self,
        clusters: Sequence[frozenset[int]],
        graph: Graph,
        documents: Mapping[int, AbstractSet[int]],
        *,
        is_whole: bool,
    ) -> None:
        """``is_whole``: of the whole graph. Parts of a topic stay in it, also if unrelated."""
        self._clusters = clusters
        self._documents = documents
        self._is_whole = is_whole
        self._firsts = [min(cluster) for cluster in clusters]
        self._sizes = [len(cluster) for cluster in clusters]
        self._heap = list(zip(self._sizes, self._firsts, range(len(clusters)), strict=True))
        self._parts = [[place] for place in range(len(clusters))]
        self._most = max(MOST_SIBLINGS, LARGEST * len(clusters) // MOST_SIBLINGS)
        home = {node: place for place, cluster in enumerate(clusters) for node in cluster}
        self._ties = [self._ties_of(place, graph, home) for place in range(len(clusters))]
        self._places: defaultdict[int, set[int]] | None = None
        self._into = list(range(len(clusters)))
        self.alone: list[list[int]] = []
        """The bundles unrelated to any other, found when there were too many."""

    def _ties_of(self, place: int, graph: Graph, home: Mapping[int, int]) -> dict[int, float]:
        weights: defaultdict[int, list[float]] = defaultdict(list)
        for node in self._clusters[place]:
            for other, weight in graph.near(node).items():
                if (there := home.get(other, place)) != place:
                    weights[there].append(weight)
        # fsum, since a plain sum depends on the order.
        return {there: math.fsum(some) for there, some in weights.items()}

    def made(self) -> list[list[int]]:
        """The clusters' indexes by bundle, without those in ``alone``."""
        unrelated = set()
        heapq.heapify(self._heap)
        left = len(self._heap)
        while self._heap and left > MOST_SIBLINGS:
            size, first, place = heapq.heappop(self._heap)
            if self._is_outdated(size, first, place):
                continue
            partner = self._partner(place)
            left -= 1
            if partner is None:
                unrelated.add(place)
                continue
            self._merge(place, partner)
            heapq.heappush(self._heap, (self._sizes[partner], self._firsts[partner], partner))
        bundles = {
            place: sorted(self._parts[place])
            for place, into in enumerate(self._into)
            if into == place
        }
        self.alone = [bundles[place] for place in sorted(unrelated)]
        return sorted(members for place, members in bundles.items() if place not in unrelated)

    def _partner(self, place: int) -> int | None:
        """The most related bundle relative to its size, or else the largest would absorb all.

        Where those are full, the smallest: what is related to one of a thousand alone would
        otherwise be gathered around it again at each of a hundred levels.
        """
        ties: Mapping[int, float] = self._ties[place]
        found = self._with_room(place, ties)
        if not found:
            ties = self._sharing_documents(place)
            found = self._with_room(place, ties)
        if not found and (ties or self._ties[place] or not self._is_whole):
            while self._is_outdated(*self._heap[0]):
                heapq.heappop(self._heap)
            return self._heap[0][2]
        return max(
            found, key=lambda one: (ties[one] / self._sizes[one], -self._firsts[one]), default=None
        )

    def _with_room(self, place: int, others: Iterable[int]) -> list[int]:
        room = self._most - len(self._parts[place])
        return [one for one in others if len(self._parts[one]) <= room]

    def _is_outdated(self, size: int, _first: int, place: int) -> bool:
        return self._into[place] != place or size != self._sizes[place]

    def _sharing_documents(self, place: int) -> Counter[int]:
        """The other bundles, with the number of documents in which this one is named, too."""
        if self._places is None:
            self._places = defaultdict(set)
            for one in range(len(self._clusters)):
                for document in self._documents_of([one]):
                    self._places[document].add(one)
        return Counter(
            there
            for document in self._documents_of(self._parts[place])
            for there in {self._bundle_of(one) for one in self._places[document]} - {place}
        )

    def _documents_of(self, places: Iterable[int]) -> set[int]:
        return {
            document
            for place in places
            for node in self._clusters[place]
            for document in self._documents.get(node, ())
        }

    def _merge(self, place: int, partner: int) -> None:
        self._into[place] = partner
        self._sizes[partner] += self._sizes[place]
        self._parts[partner] += self._parts[place]
        for other, weight in self._ties[place].items():
            del self._ties[other][place]
            if other != partner:
                for one, two in ((partner, other), (other, partner)):
                    self._ties[one][two] = self._ties[one].get(two, 0.0) + weight

    def _bundle_of(self, place: int) -> int:
        while self._into[place] != place:
            place = self._into[place]
        return place
