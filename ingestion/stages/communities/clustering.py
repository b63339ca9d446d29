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
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

import graspologic_native

MAX_SIZE: Final = 10
SEED: Final = 0xDEADBEEF
RANDOMNESS: Final = 0.001

# A component with fewer entities, or based on fewer sentences, is not a topic of its own.
SMALLEST_TOPIC: Final = 4

LEAST_SENTENCES: Final = 3

# Leiden ignores edges without weight, but every relationship should bind a little.
LEAST_WEIGHT: Final = 1e-3

MOST_SIBLINGS: Final = 12
"""Topics side by side: people scan five to fifteen."""

Pair = tuple[int, int]
Neighbours = Mapping[int, Mapping[int, float]]
"""Each node's neighbours, with the weight of each pair."""


class Link(NamedTuple):
    """A relationship; ``first`` and ``last`` name the first and last sentence of its evidence."""

    source: UUID
    target: UUID
    weight: float
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """``parent`` is the parent's index in the same list; level 0 has none.

    ``is_rest`` marks the root that gathers what is too small for a topic.
    """

    level: int
    members: frozenset[UUID]
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
    entities: Iterable[UUID],
    links: Iterable[Link],
    *,
    max_size: int = MAX_SIZE,
    settled: AbstractSet[UUID] = frozenset(),
    apart: AbstractSet[UUID] = frozenset(),
) -> list[Cluster]:
    """Clusters, parents before children: the same list for links in any order.

    Every entity is in exactly one cluster of level 0, and at most one of every further level.
    Of equally good clusters, the order of the entities decides. Parts of the graph with an entity
    that is ``settled`` have their topics already and get no clusters; those whose entities are all
    ``apart`` stay gathered with what is too small for a topic.
    """
    ids = list(dict.fromkeys(entities))
    links = list(links)
    weights = pair_weights(links, {entity: place for place, entity in enumerate(ids)})
    sentences = _sentences(links)
    topics, rest = _by_weight(components(len(ids), weights), sentences, ids)
    new = [topic for topic in topics if settled.isdisjoint(ids[place] for place in topic)]
    still = [topic for topic in new if apart >= {ids[place] for place in topic}]
    new = [topic for topic in new if topic not in still]
    in_topics = frozenset(place for topic in new for place in topic)
    inside = {pair: weight for pair, weight in weights.items() if pair[0] in in_topics}
    neighbours: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for (a, b), weight in inside.items():
        neighbours[a][b] = neighbours[b][a] = weight
    documents = {
        place: frozenset(one.split()[0] for one in sentences.get(entity, ()))
        for place, entity in enumerate(ids)
    }
    found, alone = _bundled(list(_leiden(inside, max_size)), neighbours, documents)
    return _in_order([*found, *_gathered([*rest, *alone, *still], first_of_own=not topics)], ids)


def pair_weights(links: Iterable[Link], places: Mapping[UUID, int]) -> dict[Pair, float]:
    """The summed weight of each pair in both directions, without loops and unknown ends.

    >>> a, b = UUID(int=1), UUID(int=2)
    >>> pair_weights([Link(a, b, 1.0), Link(b, a, 2.0), Link(a, a, 9.0)], {a: 0, b: 1})
    {(0, 1): 3.0}
    """
    given: defaultdict[Pair, list[float]] = defaultdict(list)
    for link in links:
        a, b = places.get(link.source), places.get(link.target)
        if a is not None and b is not None and a != b:
            weight = link.weight if math.isfinite(link.weight) else 0.0
            given[min(a, b), max(a, b)].append(weight)
    # fsum, since a plain sum depends on the order of the rows.
    return {pair: max(math.fsum(given[pair]), LEAST_WEIGHT) for pair in sorted(given)}


def components(size: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """The connected parts of a graph of ``size`` nodes, single nodes included.

    >>> components(4, [(0, 2), (2, 3)])
    [[0, 2, 3], [1]]
    """
    root = list(range(size))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        root[high] = low
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for node in range(size):
        parts[find(node)].append(node)
    return list(parts.values())


def _sentences(links: Iterable[Link]) -> dict[UUID, set[str]]:
    """The first and last sentence behind each of an entity's relationships."""
    found: defaultdict[UUID, set[str]] = defaultdict(set)
    for link in links:
        for end in (link.source, link.target):
            found[end].update(place for place in (link.first, link.last) if place is not None)
    return found


def _by_weight(
    parts: Iterable[list[int]], sentences: Mapping[UUID, set[str]], ids: Sequence[UUID]
) -> tuple[list[list[int]], list[list[int]]]:
    """Split components into those that make topics and the rest."""
    topics: list[list[int]] = []
    rest: list[list[int]] = []
    for part in parts:
        resting_on = set().union(*(sentences.get(ids[node], ()) for node in part))
        # No sentence at all means that the sentences are unknown.
        is_thin = 0 < len(resting_on) < LEAST_SENTENCES
        is_topic = len(part) >= SMALLEST_TOPIC and not is_thin
        (topics if is_topic else rest).append(part)
    return topics, rest


def _leiden(weights: Mapping[Pair, float], max_size: int) -> Iterator[_Unplaced]:
    if not weights:
        return
    entries = graspologic_native.hierarchical_leiden(
        [(str(a), str(b), weight) for (a, b), weight in weights.items()],
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


def _in_order(found: Collection[_Unplaced], ids: Sequence[UUID]) -> list[Cluster]:
    """By level, the largest first; nothing depends on how the clusters were numbered."""
    ordered = sorted(
        found, key=lambda one: (one.level, one.is_rest, -len(one.members), sorted(one.members))
    )
    place = {one.key: number for number, one in enumerate(ordered)}
    return [
        Cluster(
            level=one.level,
            members=frozenset(ids[node] for node in one.members),
            parent=None if one.parent is None else place[one.parent],
            is_rest=one.is_rest,
        )
        for one in ordered
    ]


# --- gathering topics under broader ones ----------------------------------------------------------
def _bundled(
    found: Sequence[_Unplaced], near: Neighbours, documents: Mapping[int, frozenset[str]]
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
            bundles = Bundles([one.members for one in siblings], near, documents)
            made = [[siblings[place] for place in places] for places in bundles.made()]
            if parent is None:
                alone = [_members(siblings[place] for place in places) for places in bundles.alone]
            else:
                made += [[siblings[place] for place in places] for places in bundles.alone]
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
            in_documents = {one for node in cluster for one in documents.get(node, ())}
            self._documents.append(in_documents)
            for document in in_documents:
                self._places[document].add(place)
        self._into = list(range(len(clusters)))
        self.alone: list[list[int]] = []
        """The bundles unrelated to any other, found when there were too many."""

    def made(self) -> list[list[int]]:
        """The clusters' indexes by bundle, without those in ``alone``."""
        unrelated = set()
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
                unrelated.add(place)
                continue
            self._merge(place, partner)
            heapq.heappush(heap, (self._sizes[partner], self._first(partner), partner))
        bundles: defaultdict[int, list[int]] = defaultdict(list)
        for place in range(len(self._clusters)):
            bundles[self._bundle_of(place)].append(place)
        self.alone = [bundles[place] for place in sorted(unrelated)]
        return [members for place, members in bundles.items() if place not in unrelated]

    def _first(self, place: int) -> int:
        return min(self._clusters[place])

    def _partner(self, place: int) -> int | None:
        """The most related bundle relative to its size, or else the largest would absorb all."""
        ties: Mapping[int, float] = self._ties[place]
        if not ties:
            ties = Counter(
                there
                for document in self._documents[place]
                for there in {self._bundle_of(one) for one in self._places[document]} - {place}
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

    def _bundle_of(self, place: int) -> int:
        while self._into[place] != place:
            place = self._into[place]
        return place
