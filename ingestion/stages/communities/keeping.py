"""Keep topics as they are while clustering the graph again would hardly divide it better.

One changed sentence may change every cluster of a graph, since a clustering is one of many that are
nearly as good; then every report is written again and every topic is another. So earlier clusters
stay, and only what is around a change moves, as in dynamic Leiden (Sahu 2024, its frontier): new
entities join those they are most closely related to, and they and their neighbours move to another
root where that divides the graph better; new parts of the graph are clustered on their own.

The whole graph is clustered again (``is_due``) when the kept clusters divide it less well than when
that was last done, when it has grown or shrunk much, or when clusters have outgrown what people can
survey. The new clustering is taken when it is clearly better (its modularity).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ingestion.stages.communities.clustering import MAX_SIZE, MOST_SIBLINGS, Cluster, hierarchy
from ingestion.stages.communities.graph import Graph

LEAST_QUALITY: Final = 0.9
"""Modularity of the kept clusters relative to that of new ones, among roots and among the smallest:
new clusters of nearly the same graph differ by half of that among the smallest."""
MOST_GROWTH: Final = 1.5
"""How far clusters, or their number side by side, may exceed their limits."""
MOST_CHANGE: Final = 0.05
"""Growth of the graph, as a share, after which it is clustered again as a whole."""
LEAST_KEPT: Final = 0.99
"""The same is done when less than this share of the last modularity is left."""
LEAST_GAIN: Final = 1e-6
"""Of an entity's relationships: less is no reason to move it to another root."""

NOWHERE: Final = -1
Homes = NDArray[np.int64]
"""The index of the cluster that each entity is in, or ``NOWHERE``."""


@dataclass(slots=True)
class _Topic:
    """An earlier cluster; ``parent`` is an index in the same list. Most are never copied."""

    level: int
    parent: int | None
    members: AbstractSet[int]

    def to_change(self) -> set[int]:
        """The members, for changes."""
        if not isinstance(self.members, set):
            self.members = set(self.members)
        return self.members


@dataclass(frozen=True, slots=True)
class Figures:
    """How a clustering divides its graph: ``roots`` and ``finest`` are modularities, 0 to 1.

    ``entities`` counts those in topics, ``largest`` those of the largest cluster without parts,
    ``beside`` the most clusters with one parent.
    """

    entities: int
    roots: float
    finest: float
    largest: int
    beside: int


def is_due(now: Figures, last: Figures) -> bool:
    """Whether to cluster the whole graph again; ``last`` describes when that was last done."""
    growth = now.entities / max(1, last.entities)
    return (
        not 1 / (1 + MOST_CHANGE) <= growth <= 1 + MOST_CHANGE
        or now.roots < LEAST_KEPT * last.roots
        or now.finest < LEAST_KEPT * last.finest
        or now.largest > MOST_GROWTH * max(MAX_SIZE, last.largest)
        or now.beside > MOST_GROWTH * max(MOST_SIBLINGS, last.beside)
    )


def brought_up_to_date(graph: Graph, old: Sequence[Cluster]) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters with what changed since, without clustering the whole graph again."""
    apart = gathered(old)
    roots = (one.members for one in old if one.level == 0 and not one.is_rest)
    settled = frozenset[int]().union(*roots)
    return _kept(hierarchy(graph, settled=settled, apart=apart), old, graph)


def gathered(clusters: Iterable[Cluster]) -> frozenset[int]:
    """The entities that were too little for a topic."""
    return frozenset[int]().union(*(one.members for one in clusters if one.is_rest))


def kept_or_new(
    new: Sequence[Cluster], old: Sequence[Cluster], graph: Graph
) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters brought up to date, or the new ones if those are clearly better.

    Both lists have parents before children. What is too small for a topic is as in the new ones.
    """
    rest = set(_rest_of(new))
    fresh = figures([one for index, one in enumerate(new) if index not in rest], graph)
    if not fresh.entities or not old:
        return new, fresh
    kept, now = _kept(new, old, graph)
    return (kept, now) if _is_good_enough(now, fresh) else (new, fresh)


def _kept(
    new: Sequence[Cluster], old: Sequence[Cluster], graph: Graph
) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters brought up to date, then the new ones of what is too small for a topic.

    That is whole parts of the graph: nothing else is related to it.
    """
    rest = _rest_of(new)
    outside = new[rest[0]].members if rest else frozenset[int]()
    kept = _brought_up_to_date(new, old, graph, outside)
    first = len(kept)
    place = {index: first + number for number, index in enumerate(rest)}
    together = [
        *kept,
        *(
            replace(new[i], parent=None if (above := new[i].parent) is None else place[above])
            for i in rest
        ),
    ]
    return together, figures(kept, graph)


def _rest_of(clusters: Sequence[Cluster]) -> list[int]:
    """The indexes of the cluster that gathers what is too small, and of its parts."""
    found: list[int] = []
    within: set[int | None] = set()
    for index, one in enumerate(clusters):
        if one.is_rest or one.parent in within:
            found.append(index)
            within.add(index)
    return found


# --- bringing the old ones up to date -------------------------------------------------------------
def _brought_up_to_date(
    new: Sequence[Cluster], old: Sequence[Cluster], graph: Graph, outside: AbstractSet[int]
) -> list[Cluster]:
    gone = set(_rest_of(old))
    place = {
        index: number for number, index in enumerate(i for i in range(len(old)) if i not in gone)
    }
    counts = _counts(graph, outside)
    topics = [
        _Topic(
            old[i].level, None if (above := old[i].parent) is None else place[above], old[i].members
        )
        for i in place
    ]
    paths = _Paths(topics, graph.size)
    for entity in np.flatnonzero(~counts & paths.are_known).tolist():
        paths.leave(entity)
    homeless = np.flatnonzero(counts & ~paths.are_known).tolist()
    left = _joined(homeless, topics, paths, graph)
    joined = set(homeless).difference(left)
    around = joined.union(*(graph.near(one) for one in joined))
    _move(around, _Roots(paths, graph, counts), topics, paths)
    found = _without_empty(topics)
    return [*found, *_new_parts(new, set(left), len(found), outside)]


class _Paths:
    """The topics that each entity is in: only the last is kept, since they are parts of others."""

    def __init__(self, topics: Sequence[_Topic], size: int) -> None:
        self._topics = topics
        self._last = _homes(list(enumerate(topics)), size)

    @property
    def are_known(self) -> NDArray[np.bool_]:
        """Flag the entities that are in any topic."""
        known: NDArray[np.bool_] = self._last != NOWHERE
        return known

    @property
    def roots(self) -> Homes:
        """The root of each entity, or ``NOWHERE``."""
        tops = np.full(len(self._topics) + 1, NOWHERE)  # of NOWHERE, at the end
        for index, one in enumerate(self._topics):
            tops[index] = index if one.parent is None else tops[one.parent]
        return tops[self._last]

    def of(self, entity: int) -> list[int]:
        """The indexes of an entity's topics, from its root down."""
        path: list[int] = []
        index = int(self._last[entity])
        while index != NOWHERE:
            path.append(index)
            above = self._topics[index].parent
            index = NOWHERE if above is None else above
        return path[::-1]

    def join(self, entity: int, index: int) -> None:
        """Put an entity into a topic: a root, or a part of the last one that it is in."""
        self._topics[index].to_change().add(entity)
        self._last[entity] = index

    def leave(self, entity: int) -> None:
        for index in self.of(entity):
            self._topics[index].to_change().discard(entity)
        self._last[entity] = NOWHERE


def _joined(
    homeless: Sequence[int], topics: Sequence[_Topic], paths: _Paths, graph: Graph
) -> list[int]:
    """Have entities join the topics that they are most related to; returns those related to none.

    Those with a neighbour that joined follow it.
    """
    left = list(homeless)
    while True:
        for one in left:
            _join(one, topics, paths, graph)
        still = [one for one in left if not paths.of(one)]
        if len(still) == len(left):
            return still
        left = still


def _join(entity: int, topics: Sequence[_Topic], paths: _Paths, graph: Graph) -> None:
    """Have an entity join the most related topic, then its most related part, and so on down.

    It begins below the last one that it is in.
    """
    near = [(paths.of(other), weight) for other, weight in graph.near(entity).items()]
    parent = next(reversed(paths.of(entity)), None)
    while True:
        weights: defaultdict[int, list[float]] = defaultdict(list)
        for path, weight in near:
            for index in path:
                if topics[index].parent == parent:
                    weights[index].append(weight)
        best = max(weights, key=lambda index: (math.fsum(weights[index]), -index), default=None)
        if best is None:
            return
        paths.join(entity, best)
        parent = best


def _move(frontier: Iterable[int], roots: _Roots, topics: Sequence[_Topic], paths: _Paths) -> None:
    """Move entities of the frontier to the root where modularity gains, and so on around them."""
    waiting = deque(sorted(entity for entity in frontier if roots.home[entity] != NOWHERE))
    moved: dict[int, int] = {}
    queued = set(waiting)
    while waiting:
        entity = waiting.popleft()
        queued.discard(entity)
        if (best := roots.best(entity)) == roots.home[entity]:
            continue
        roots.put(entity, best)
        moved[entity] = best
        near = roots.graph.near(entity)
        around = {one for one in near if roots.home[one] not in (NOWHERE, best)} - queued
        waiting.extend(sorted(around))
        queued |= around
    for entity, root in moved.items():
        paths.leave(entity)
        paths.join(entity, root)
    for entity in moved:
        _join(entity, topics, paths, roots.graph)


class _Roots:
    """The root of each entity, and what each would gain by another (``home``: indexes)."""

    def __init__(self, paths: _Paths, graph: Graph, counts: NDArray[np.bool_]) -> None:
        """``counts`` flags the entities of which modularity is."""
        self.graph = graph
        roots = paths.roots
        self.home: Homes = roots
        self._total = float(graph.degrees[counts].sum())
        has_one = roots != NOWHERE
        self._sums: list[float] = np.bincount(roots[has_one], graph.degrees[has_one]).tolist()

    def best(self, entity: int) -> int:
        """The root with the greatest modularity for this entity: its own unless another gains."""
        own, degree = int(self.home[entity]), float(self.graph.degrees[entity])
        weights: defaultdict[int, float] = defaultdict(float, {own: 0.0})
        for other, weight in self.graph.near(entity).items():
            if (root := int(self.home[other])) != NOWHERE:
                weights[root] += weight
        gains = {
            one: weight - degree / self._total * (self._sums[one] - degree * (one == own))
            for one, weight in weights.items()
        }
        best = max(gains, key=lambda one: (gains[one], -one))
        return best if gains[best] > gains[own] + LEAST_GAIN * degree else own

    def put(self, entity: int, root: int) -> None:
        degree = float(self.graph.degrees[entity])
        self._sums[self.home[entity]] -= degree
        self._sums[root] += degree
        self.home[entity] = root


def _without_empty(topics: Sequence[_Topic]) -> list[Cluster]:
    """The topics as clusters, without those that have no members, or all of their parent's."""
    place: dict[int, int | None] = {}
    found: list[Cluster] = []
    for index, one in enumerate(topics):
        above = None if one.parent is None else place[one.parent]
        if not one.members or (above is not None and found[above].members == one.members):
            place[index] = above
            continue
        place[index] = len(found)
        level = 0 if above is None else found[above].level + 1
        found.append(Cluster(level, frozenset(one.members), above))
    return found


def _new_parts(
    new: Sequence[Cluster], homeless: AbstractSet[int], first: int, outside: AbstractSet[int]
) -> Iterator[Cluster]:
    """The new clusters of parts of the graph that no topic is related to."""
    alone = homeless - outside
    topics = [_Topic(one.level, one.parent, one.members & alone) for one in new]
    for one in _without_empty(topics):
        yield replace(one, parent=None if one.parent is None else first + one.parent)


# --- how good it is -------------------------------------------------------------------------------
def _counts(graph: Graph, outside: AbstractSet[int]) -> NDArray[np.bool_]:
    """Flag the entities that are related to any other and not ``outside``."""
    counts = graph.degrees > 0
    counts[list(outside)] = False
    return counts


def figures(clusters: Sequence[Cluster], graph: Graph) -> Figures:
    """How well the clusters divide the parts of the graph that they cover."""
    roots = _homes([one for one in enumerate(clusters) if one[1].level == 0], graph.size)
    finest = _homes(list(enumerate(clusters)), graph.size)
    inside = finest[(graph.degrees > 0) & (finest != NOWHERE)]
    beside = Counter(one.parent for one in clusters)
    return Figures(
        entities=len(inside),
        roots=modularity(roots, graph),
        finest=modularity(finest, graph),
        largest=int(np.bincount(inside).max(initial=0)),
        beside=max(beside.values(), default=0),
    )


def _is_good_enough(kept: Figures, new: Figures) -> bool:
    return (
        kept.largest <= MOST_GROWTH * max(MAX_SIZE, new.largest)
        and kept.beside <= MOST_GROWTH * max(MOST_SIBLINGS, new.beside)
        and kept.roots >= LEAST_QUALITY * new.roots
        and kept.finest >= LEAST_QUALITY * new.finest
    )


def _homes(clusters: Sequence[tuple[int, Cluster | _Topic]], size: int) -> Homes:
    """The last of these clusters that each entity is in."""
    homes = np.full(size, NOWHERE, np.int64)
    in_parts = Counter[int | None]()
    for _, one in clusters:
        in_parts[one.parent] += len(one.members)
    # Of an entity in several, the last one is left: nothing is left where all are in parts.
    found = [(index, one.members) for index, one in clusters if in_parts[index] != len(one.members)]
    sizes = np.array([len(members) for _, members in found], np.int64)
    entities = np.fromiter(chain.from_iterable(of for _, of in found), np.int64, sizes.sum())
    homes[entities] = np.repeat(np.array([index for index, _ in found], np.int64), sizes)
    return homes


def modularity(homes: Homes, graph: Graph) -> float:
    """Newman's modularity of the clusters that the entities are in; the others do not count.

    >>> links = np.array([[0, 1], [2, 3]])
    >>> graph = Graph.of(5, links, np.ones(2))
    >>> halves, whole = np.array([0, 0, 1, 1, -1]), np.array([0, 0, 0, 0, -1])
    >>> modularity(halves, graph), modularity(whole, graph)
    (0.5, 0.0)
    """
    one, other, weights = homes[graph.pairs[0]], homes[graph.pairs[1]], graph.pairs[2]
    counts = (one != NOWHERE) & (other != NOWHERE)
    one, other, weights = one[counts], other[counts], weights[counts]
    if not len(weights):
        return 0.0
    size = int(max(one.max(), other.max())) + 1
    degree = np.bincount(one, weights, size) + np.bincount(other, weights, size)
    is_within = one == other
    within = 2 * np.bincount(one[is_within], weights[is_within], size)
    return float((within / degree.sum() - (degree / degree.sum()) ** 2).sum())
