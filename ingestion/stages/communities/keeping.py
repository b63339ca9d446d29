"""Keep topics as they are while clustering the graph again would hardly divide it better.

One changed sentence may change every cluster of a graph, since a clustering is one of many that are
nearly as good; then every report is written again and every topic is another. So earlier clusters
stay, new entities join those they are most closely related to, and only new parts of the graph are
clustered on their own. The new clustering is taken when it is clearly better (its modularity), or
when clusters have outgrown what people can survey.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
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
)

LEAST_QUALITY: Final = 0.9
"""Modularity of the kept clusters relative to that of new ones, among roots and among the smallest:
new clusters of nearly the same graph differ by half of that among the smallest."""
MOST_GROWTH: Final = 1.5
"""How far clusters, or their number side by side, may exceed their limits."""

Ties = Mapping[UUID, Mapping[UUID, float]]


@dataclass(slots=True)
class _Topic:
    """An earlier cluster; ``parent`` is an index in the same list."""

    level: int
    parent: int | None
    members: set[UUID]


def kept_or_new(
    new: Sequence[Cluster], old: Sequence[Cluster], links: Iterable[Link]
) -> Sequence[Cluster]:
    """The old clusters brought up to date, or the new ones if those are clearly better.

    Both lists have parents before children. What is too small for a topic is as in the new ones.
    """
    rest = _rest_of(new)
    outside = new[rest[0]].members if rest else frozenset()
    ties = _ties(links, frozenset().union(*(one.members for one in new)) - outside)
    if not ties or not old:
        return new
    kept = _brought_up_to_date(new, old, ties, outside)
    if not _is_good_enough(kept, [one for i, one in enumerate(new) if i not in rest], ties):
        return new
    first = len(kept)
    place = {index: first + number for number, index in enumerate(rest)}
    return [
        *kept,
        *(
            replace(new[i], parent=None if (above := new[i].parent) is None else place[above])
            for i in rest
        ),
    ]


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
    homeless = [entity for entity in ties if not any(entity in one.members for one in topics)]
    homeless = _joined(homeless, topics, ties)
    found = _without_empty(topics)
    return [*found, *_new_parts(new, set(homeless), len(found), outside)]


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


def _join(entity: UUID, topics: Sequence[_Topic], ties: Ties) -> bool:
    parent: int | None = None
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
def _is_good_enough(kept: Sequence[Cluster], new: Sequence[Cluster], ties: Ties) -> bool:
    largest = max(MAX_SIZE, *_sizes(_finest(new)))
    beside = max(MOST_SIBLINGS, *Counter(one.parent for one in new).values())
    if max(_sizes(_finest(kept))) > MOST_GROWTH * largest:
        return False
    if max(Counter(one.parent for one in kept).values()) > MOST_GROWTH * beside:
        return False
    return all(
        modularity(homes(kept), ties) >= LEAST_QUALITY * modularity(homes(new), ties)
        for homes in (_roots, _finest)
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


def _sizes(home: Mapping[UUID, int]) -> Iterable[int]:
    return Counter(home.values()).values()


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
