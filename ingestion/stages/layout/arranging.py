"""Compute where entities are drawn: those that are related close together, topics apart.

A small graph is laid out whole by ForceAtlas2, whose cost grows with the square of its size. In a
larger one ForceAtlas2 places the topics, and each topic's entities fill a disc around its centre,
sub-topic by sub-topic, the best connected in the middle. A layout that exists is kept, so that
people find things where they were: what is new goes beside its neighbours (``beside``), until so
much of the picture is approximate that it is laid out again, starting from where things are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import numpy as np

Point = tuple[float, float]
Link = tuple[UUID, UUID, float]

SMALL: Final = 300
"""Entities up to which the whole graph is laid out by ForceAtlas2."""
ITERATIONS: Final = 80
SEED: Final = 7
GOLDEN_ANGLE: Final = math.pi * (3 - math.sqrt(5))
LEAST_EXACT: Final = 0.7
"""The share of entities with an exact position below which everything is laid out again."""
NEARBY: Final = 0.8
"""How far a new entity is put from the middle of its neighbours."""
APART: Final = 1e-6
PUSHES: Final = 200
"""Rounds in which overlapping topics are pushed apart."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A position; ``is_approximate`` if it was derived from neighbours after the last layout."""

    x: float
    y: float
    is_approximate: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """What is laid out. ``entities`` are the best connected first.

    ``homes`` names each entity's topic and sub-topic; ``before`` are the last positions.
    """

    entities: Sequence[UUID]
    links: Sequence[Link]
    homes: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    before: Mapping[UUID, Placed] = field(default_factory=dict)

    def home(self, entity: UUID) -> tuple[str, ...]:
        return self.homes.get(entity) or ("",)


def is_kept(exact: int, entities: int) -> bool:
    """Whether a layout with so many exact positions is kept, and only extended."""
    return exact > 0 and exact >= LEAST_EXACT * entities


def arranged(graph: Graph) -> dict[UUID, Placed]:
    """Return a position for each entity: the same for the same graph."""
    points = _whole(graph) if len(graph.entities) <= SMALL else _by_topic(graph)
    return {one: Placed(*point) for one, point in points.items()}


def beside(graph: Graph, centres: Mapping[str, Point]) -> dict[UUID, Placed]:
    """Return positions for the entities that have none: beside their neighbours, or their topic.

    Of the graph, only the links of these entities matter, and the positions of their neighbours;
    ``centres`` are those of the topics.
    """
    placed = dict(graph.before)
    near: defaultdict[UUID, list[tuple[float, UUID]]] = defaultdict(list)
    for a, b, weight in graph.links:
        near[a].append((weight, b))
        near[b].append((weight, a))
    new = [one for one in graph.entities if one not in placed]
    for place, one in enumerate(new):
        known = [(weight + 0.001, placed[other]) for weight, other in near[one] if other in placed]
        total = sum(weight for weight, _ in known)
        x, y = centres.get(graph.home(one)[0], (0.0, 0.0))
        if known:
            x = sum(weight * at.x for weight, at in known) / total
            y = sum(weight * at.y for weight, at in known) / total
        angle = place * GOLDEN_ANGLE
        placed[one] = Placed(
            x + NEARBY * math.cos(angle), y + NEARBY * math.sin(angle), is_approximate=True
        )
    return {one: placed[one] for one in new}


# --- a small graph --------------------------------------------------------------------------------
def _whole(graph: Graph) -> dict[UUID, Point]:
    spread = math.sqrt(max(1, len(graph.entities)))
    start = dict(zip(graph.entities, _spiral([1.0] * len(graph.entities)), strict=True))
    start |= {one: (at.x, at.y) for one, at in graph.before.items() if one in start}
    return _forced(graph.entities, graph.links, start, spread)


def _forced(
    nodes: Sequence[Any],
    links: Iterable[tuple[Any, Any, float]],
    start: Mapping[Any, Point],
    spread: float,
) -> dict[Any, Point]:
    """Lay out by ForceAtlas2 from ``start``, and centre the result with that mean distance."""
    if len(nodes) < 3:
        return _centred({one: start[one] for one in nodes}, spread)
    import networkx

    net: networkx.Graph[Any] = networkx.Graph()
    net.add_nodes_from(nodes)
    known = set(nodes)
    net.add_weighted_edges_from(
        (a, b, 1 + math.log1p(max(0.0, weight)))
        for a, b, weight in links
        if a in known and b in known and a != b
    )
    found = networkx.forceatlas2_layout(
        net,
        # Two at one place would not part.
        pos={one: np.array(start[one]) + place * APART for place, one in enumerate(nodes)},
        max_iter=ITERATIONS,
        scaling_ratio=2.0,
        gravity=1.5,
        weight="weight",
        seed=SEED,
    )
    return _centred({one: (float(x), float(y)) for one, (x, y) in found.items()}, spread)


def _centred(points: Mapping[Any, Point], spread: float) -> dict[Any, Point]:
    if not points:
        return {}
    cloud = np.nan_to_num(np.array(list(points.values()), dtype=float))
    cloud -= cloud.mean(axis=0)
    distance = float(np.sqrt((cloud**2).sum(axis=1)).mean())
    if distance > 0:
        cloud *= spread / distance
    return {one: (float(x), float(y)) for one, (x, y) in zip(points, cloud, strict=True)}


# --- a large graph --------------------------------------------------------------------------------
def _by_topic(graph: Graph) -> dict[UUID, Point]:
    """Place topics by ForceAtlas2, then each topic's entities around its centre."""
    members: defaultdict[str, list[UUID]] = defaultdict(list)
    for one in graph.entities:
        members[graph.home(one)[0]].append(one)
    between: defaultdict[tuple[str, str], float] = defaultdict(float)
    for a, b, weight in graph.links:
        first, second = sorted((graph.home(a)[0], graph.home(b)[0]))
        if first != second:
            between[first, second] += weight
    topics = sorted(members, key=lambda topic: (-len(members[topic]), topic))
    sizes = [_radius(len(members[topic])) for topic in topics]
    start = dict(zip(topics, _spiral(sizes), strict=True))
    start |= _last_centres(graph, members)
    links = [(a, b, weight) for (a, b), weight in sorted(between.items())]
    spread = math.sqrt(sum(size**2 for size in sizes))
    centres = _apart(topics, sizes, _forced(topics, links, start, spread))
    inside = _discs(graph)
    return {
        one: (centres[topic][0] + inside[one][0], centres[topic][1] + inside[one][1])
        for topic in topics
        for one in members[topic]
    }


def _last_centres(graph: Graph, members: Mapping[str, Sequence[UUID]]) -> dict[str, Point]:
    centres = {}
    for topic, ids in members.items():
        known = [graph.before[one] for one in ids if one in graph.before]
        if known:
            centres[topic] = (
                sum(at.x for at in known) / len(known),
                sum(at.y for at in known) / len(known),
            )
    return centres


def _apart(
    topics: Sequence[str], sizes: Sequence[float], at: Mapping[str, Point]
) -> dict[str, Point]:
    """Push overlapping discs apart."""
    cloud = np.array([at[topic] for topic in topics], dtype=float).reshape(-1, 2)
    reach = np.add.outer(np.array(sizes), np.array(sizes)) * 1.1
    np.fill_diagonal(reach, 0)
    for _ in range(PUSHES):
        away = cloud[:, None, :] - cloud[None, :, :]
        distance = np.sqrt((away**2).sum(axis=2))
        overlap = np.maximum(0, reach - distance)
        if overlap.max(initial=0) < 1e-3:
            break
        # Two discs at one place part along a direction of their own.
        index = np.arange(len(topics))
        turn = np.subtract.outer(index, index).astype(float)
        same = distance < 1e-9
        away[..., 0] = np.where(same, turn, away[..., 0])
        unit = away / np.maximum(np.sqrt((away**2).sum(axis=2)), 1e-9)[..., None]
        cloud += (unit * (overlap / 2)[..., None]).sum(axis=1) * 0.6
    return {topic: (float(x), float(y)) for topic, (x, y) in zip(topics, cloud, strict=True)}


def _discs(graph: Graph) -> dict[UUID, Point]:
    """Place each topic's entities around the origin, sub-topics as discs within the topic's."""
    groups: defaultdict[str, defaultdict[tuple[str, ...], list[UUID]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in graph.entities:
        home = graph.home(one)
        groups[home[0]][home].append(one)
    points: dict[UUID, Point] = {}
    for parts in groups.values():
        ordered = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
        centres = _spiral([_radius(len(ids)) for _, ids in ordered])
        for (x, y), (_, ids) in zip(centres, ordered, strict=True):
            for one, (across, up) in zip(ids, _spiral([1.0] * len(ids)), strict=True):
                points[one] = (x + across, y + up)
    return points


def _radius(members: int) -> float:
    return math.sqrt(members) + 0.5


def _spiral(sizes: Sequence[float]) -> list[Point]:
    """Return centres of discs on a spiral, the first in the middle, so that they hardly overlap."""
    points, area = [], 0.0
    for place, size in enumerate(sizes):
        radius = math.sqrt(area + size**2 / 2) if place else 0.0
        angle = place * GOLDEN_ANGLE
        points.append((radius * math.cos(angle), radius * math.sin(angle)))
        area += size**2
    return points
