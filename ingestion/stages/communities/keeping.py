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
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from ingestion.stages.communities.clustering import (
    LEAST_WEIGHT,
    MAX_SIZE,
    MOST_SIBLINGS,
    Cluster,
    Link,
    hierarchy,
)

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

Ties = Mapping[UUID, Mapping[UUID, float]]


@dataclass(slots=True)
class _Topic:
    """An earlier cluster; ``parent`` is an index in the same list."""

    level: int
    parent: int | None
    members: set[UUID]


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


def is_due(now: Figures, last: Figures | None) -> bool:
    """Whether to cluster the whole graph again; ``last`` describes when that was last done."""
    if last is None:
        return True
    growth = now.entities / max(1, last.entities)
    return (
        not 1 / (1 + MOST_CHANGE) <= growth <= 1 + MOST_CHANGE
        or now.roots < LEAST_KEPT * last.roots
        or now.finest < LEAST_KEPT * last.finest
        or now.largest > MOST_GROWTH * max(MAX_SIZE, last.largest)
        or now.beside > MOST_GROWTH * max(MOST_SIBLINGS, last.beside)
    )


def brought_up_to_date(
    entities: Sequence[UUID], links: Sequence[Link], old: Sequence[Cluster]
) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters with what changed since, without clustering the whole graph again."""
    gathered = {entity for one in old if one.is_rest for entity in one.members}
    settled = frozenset().union(*(one.members for one in old)) - gathered
    new = hierarchy(entities, links, settled=settled, apart=gathered)
    return _kept(new, old, links, frozenset(entities))


def kept_or_new(
    new: Sequence[Cluster], old: Sequence[Cluster], links: Sequence[Link]
) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters brought up to date, or the new ones if those are clearly better.

    Both lists have parents before children. What is too small for a topic is as in the new ones.
    """
    rest = set(_rest_of(new))
    topics = [one for index, one in enumerate(new) if index not in rest]
    ties = _ties(links, frozenset().union(*(one.members for one in topics)))
    fresh = figures(topics, ties)
    if not ties or not old:
        return new, fresh
    everything = frozenset().union(*(one.members for one in new))
    kept, now = _kept(new, old, links, everything)
    return (kept, now) if _is_good_enough(now, fresh) else (new, fresh)


def _kept(
    new: Sequence[Cluster],
    old: Sequence[Cluster],
    links: Sequence[Link],
    everything: AbstractSet[UUID],
) -> tuple[Sequence[Cluster], Figures]:
    """The old clusters brought up to date, then the new ones of what is too small for a topic."""
    rest = _rest_of(new)
    outside = new[rest[0]].members if rest else frozenset[UUID]()
    ties = _ties(links, everything - outside)
    kept = _brought_up_to_date(new, old, ties, outside)
    first = len(kept)
    place = {index: first + number for number, index in enumerate(rest)}
    together = [
        *kept,
        *(
            replace(new[i], parent=None if (above := new[i].parent) is None else place[above])
            for i in rest
        ),
    ]
    return together, figures(kept, ties)


def _rest_of(clusters: Sequence[Cluster]) -> list[int]:
    """The indexes of the cluster that gathers what is too small, and of its parts."""
    found: list[int] = []
    for index, one in enumerate(clusters):
        if one.is_rest or one.parent in found:
            found.append(index)
    return found


def _ties(links: Iterable[Link], entities: Collection[UUID]) -> Ties:
    ties: defaultdict[UUID, defaultdict[UUID, float]] = defaultdict(lambda: defaultdict(float))
    for link in sorted(links):
        if link.source != link.target and link.source in entities and link.target in entities:
            weight = link.weight if math.isfinite(link.weight) else 0.0
            ties[link.source][link.target] += max(weight, LEAST_WEIGHT)
            ties[link.target][link.source] += max(weight, LEAST_WEIGHT)
    return ties


# --- bringing the old ones up to date -------------------------------------------------------------
def _brought_up_to_date(
    new: Sequence[Cluster], old: Sequence[Cluster], ties: Ties, outside: AbstractSet[UUID]
) -> list[Cluster]:
    gone = set(_rest_of(old))
    place = {
        index: number for number, index in enumerate(i for i in range(len(old)) if i not in gone)
    }
    topics = [
        _Topic(
            old[i].level,
            None if (above := old[i].parent) is None else place[above],
            set(old[i].members & ties.keys()),
        )
        for i in place
    ]
    housed = frozenset().union(*(one.members for one in topics if one.parent is None))
    homeless = [entity for entity in ties if entity not in housed]
    left = _joined(homeless, topics, ties)
    joined = set(homeless).difference(left)
    _move(joined.union(*(ties[one] for one in joined)), topics, ties)
    found = _without_empty(topics)
    return [*found, *_new_parts(new, set(left), len(found), outside)]


def _joined(homeless: Sequence[UUID], topics: Sequence[_Topic], ties: Ties) -> list[UUID]:
    """Have entities join the topics that they are most related to; returns those related to none.

    Those with a neighbour that joined follow it.
    """
    left = list(homeless)
    while True:
        still = [one for one in left if not _join(one, topics, ties)]
        if len(still) == len(left):
            return still
        left = still


def _join(entity: UUID, topics: Sequence[_Topic], ties: Ties, parent: int | None = None) -> bool:
    """Join the topics below a parent; returns whether the entity is in any."""
    while True:
        weights = {
            index: math.fsum(
                weight for other, weight in ties[entity].items() if other in topic.members
            )
            for index, topic in enumerate(topics)
            if topic.parent == parent
        }
        best = max(weights, key=lambda index: (weights[index], -index), default=None)
        if best is None or not weights[best]:
            return parent is not None
        topics[best].members.add(entity)
        parent = best


def _move(frontier: Iterable[UUID], topics: Sequence[_Topic], ties: Ties) -> None:
    """Move entities of the frontier to the root where modularity gains, and so on around them."""
    roots = _Roots(topics, ties)
    moved: dict[UUID, int] = {}
    waiting = deque(sorted(entity for entity in frontier if entity in roots.home))
    queued = set(waiting)
    while waiting:
        entity = waiting.popleft()
        queued.discard(entity)
        if (best := roots.best(entity)) == roots.home[entity]:
            continue
        roots.put(entity, best)
        moved[entity] = best
        around = {one for one in ties[entity] if roots.home.get(one, best) != best} - queued
        waiting.extend(sorted(around))
        queued |= around
    for entity, root in moved.items():
        for one in topics:
            one.members.discard(entity)
        topics[root].members.add(entity)
    for entity, root in moved.items():
        _join(entity, topics, ties, root)


class _Roots:
    """The root of each entity, and what each would gain by another (``home``: indexes)."""

    def __init__(self, topics: Sequence[_Topic], ties: Ties) -> None:
        self.home = {
            entity: index
            for index, one in enumerate(topics)
            if one.parent is None
            for entity in one.members
        }
        self._ties = ties
        self._degree = {entity: math.fsum(others.values()) for entity, others in ties.items()}
        self._total = math.fsum(self._degree.values())
        self._sums: defaultdict[int, float] = defaultdict(float)
        for entity, root in self.home.items():
            self._sums[root] += self._degree[entity]

    def best(self, entity: UUID) -> int:
        """The root with the greatest modularity for this entity: its own unless another gains."""
        own, degree = self.home[entity], self._degree[entity]
        weights: defaultdict[int, float] = defaultdict(float, {own: 0.0})
        for other, weight in self._ties[entity].items():
            if other in self.home:
                weights[self.home[other]] += weight
        gains = {
            one: weight - degree / self._total * (self._sums[one] - degree * (one == own))
            for one, weight in weights.items()
        }
        best = max(gains, key=lambda one: (gains[one], -one))
        return best if gains[best] > gains[own] + LEAST_GAIN * degree else own

    def put(self, entity: UUID, root: int) -> None:
        self._sums[self.home[entity]] -= self._degree[entity]
        self._sums[root] += self._degree[entity]
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
    new: Sequence[Cluster], homeless: AbstractSet[UUID], first: int, outside: AbstractSet[UUID]
) -> Iterator[Cluster]:
    """The new clusters of parts of the graph that no topic is related to."""
    topics = [_Topic(one.level, one.parent, set(one.members & homeless - outside)) for one in new]
    for one in _without_empty(topics):
        yield replace(one, parent=None if one.parent is None else first + one.parent)


# --- how good it is -------------------------------------------------------------------------------
def figures(clusters: Sequence[Cluster], ties: Ties) -> Figures:
    """How well the clusters divide the graph of these ties; what is not in it does not count."""
    finest = _finest(clusters)
    beside = Counter(one.parent for one in clusters)
    return Figures(
        entities=len(ties),
        roots=modularity(_roots(clusters), ties),
        finest=modularity(finest, ties),
        largest=max(Counter(finest[one] for one in ties).values(), default=0),
        beside=max(beside.values(), default=0),
    )


def _is_good_enough(kept: Figures, new: Figures) -> bool:
    return (
        kept.largest <= MOST_GROWTH * max(MAX_SIZE, new.largest)
        and kept.beside <= MOST_GROWTH * max(MOST_SIBLINGS, new.beside)
        and kept.roots >= LEAST_QUALITY * new.roots
        and kept.finest >= LEAST_QUALITY * new.finest
    )


def _roots(clusters: Sequence[Cluster]) -> dict[UUID, int]:
    return _homes(clusters, lambda one: one.level == 0)


def _finest(clusters: Sequence[Cluster]) -> dict[UUID, int]:
    return _homes(clusters, lambda _: True)


def _homes(clusters: Sequence[Cluster], counts: Callable[[Cluster], bool]) -> dict[UUID, int]:
    """The last of these clusters that each entity is in."""
    return {
        entity: index for index, one in enumerate(clusters) if counts(one) for entity in one.members
    }


def modularity(home: Mapping[UUID, int], ties: Ties) -> float:
    """Newman's modularity of the clusters that the entities are in.

    >>> a, b, c, d = (UUID(int=number) for number in range(4))
    >>> ties = {a: {b: 1.0}, b: {a: 1.0}, c: {d: 1.0}, d: {c: 1.0}}
    >>> modularity({a: 0, b: 0, c: 1, d: 1}, ties), modularity({a: 0, b: 0, c: 0, d: 0}, ties)
    (0.5, 0.0)
    """
    inside: defaultdict[int, float] = defaultdict(float)
    degree: defaultdict[int, float] = defaultdict(float)
    for entity, others in ties.items():
        for other, weight in others.items():
            degree[home[entity]] += weight
            inside[home[entity]] += weight * (home[entity] == home[other])
    total = math.fsum(degree.values())
    return math.fsum(inside[one] / total - (degree[one] / total) ** 2 for one in degree)
