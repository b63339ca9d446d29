"""Where entities are drawn."""

from __future__ import annotations

import math
from uuid import UUID

import pytest

from ingestion.stages.layout.arranging import SMALL, Graph, Placed, arranged, beside, is_kept


def ids(count: int) -> list[UUID]:
    return [UUID(int=number + 1) for number in range(count)]


def ring(count: int) -> list[tuple[UUID, UUID, float]]:
    nodes = ids(count)
    return [(one, nodes[(place + 1) % count], 1.0) for place, one in enumerate(nodes)]


def distance(a: Placed, b: Placed) -> float:
    return math.hypot(a.x - b.x, a.y - b.y)


@pytest.mark.parametrize("count", [0, 1, 2, 5, SMALL + 1])
def test_every_entity_gets_a_place_of_its_own(count: int):
    links = ring(count) if count > 2 else []

    found = arranged(Graph(ids(count), links))

    assert list(found) and set(found) == set(ids(count)) if count else found == {}
    places = {(round(at.x, 6), round(at.y, 6)) for at in found.values()}
    assert len(places) == count
    assert all(math.isfinite(at.x) and math.isfinite(at.y) for at in found.values())


@pytest.mark.parametrize("count", [12, SMALL + 20])
def test_the_same_graph_gives_the_same_picture(count: int):
    graph = Graph(ids(count), ring(count))

    assert arranged(graph) == arranged(graph)


def test_related_entities_are_closer_than_others():
    nodes = ids(20)
    cliques = (nodes[:10], nodes[10:])
    links = [(a, b, 5.0) for group in cliques for a in group for b in group if a < b]

    at = arranged(Graph(nodes, [*links, (nodes[0], nodes[10], 1.0)]))

    inside = max(distance(at[a], at[b]) for group in cliques for a in group for b in group)
    between = min(distance(at[a], at[b]) for a in nodes[1:10] for b in nodes[11:])
    assert inside < between


def test_topics_of_a_large_graph_do_not_overlap():
    nodes = ids(600)
    homes = {one: (str(place % 6), str(place % 30)) for place, one in enumerate(nodes)}

    at = arranged(Graph(nodes, [], homes))

    middles = {}
    for topic in map(str, range(6)):
        members = [at[one] for one in nodes if homes[one][0] == topic]
        middles[topic] = Placed(
            sum(one.x for one in members) / len(members),
            sum(one.y for one in members) / len(members),
        )
    strays = [
        one
        for one in nodes
        if min(middles, key=lambda topic: distance(at[one], middles[topic])) != homes[one][0]
    ]
    assert len(strays) < 0.05 * len(nodes)


def test_what_is_new_goes_beside_its_neighbour_or_its_topic():
    before = arranged(Graph(ids(40), ring(40)))
    nodes = ids(43)
    links = [(nodes[40], nodes[3], 1.0), (nodes[41], nodes[40], 1.0)]

    found = beside(Graph(nodes, links, {nodes[42]: ("log",)}, before), {"log": (90.0, 7.0)})

    assert list(found) == nodes[40:]
    assert all(at.is_approximate for at in found.values())
    assert distance(found[nodes[40]], before[nodes[3]]) < 1
    assert distance(found[nodes[41]], found[nodes[40]]) < 1
    assert distance(found[nodes[42]], Placed(90.0, 7.0)) < 1


def test_a_layout_is_kept_while_most_positions_are_exact():
    assert is_kept(70, 100)
    assert not is_kept(69, 100)
    assert not is_kept(0, 0)


def test_what_was_deleted_has_no_place():
    before = arranged(Graph(ids(10), ring(10)))

    assert set(arranged(Graph(ids(9), [], before=before))) == set(ids(9))
