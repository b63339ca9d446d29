"""Orders and joins that every store shares."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from kb_project.errors import InputError
from kb_project.graph import reading
from kb_project.graph.ports import MAX_HOPS, MAX_PATHS, GraphEdge, GraphNode

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def edge(number: int, source: UUID, target: UUID, weight: float = 1.0) -> GraphEdge:
    return GraphEdge(UUID(int=100 + number), source, target, "", weight)


def around(edges: Sequence[GraphEdge]) -> reading.EdgesAround:
    return lambda ids: [e for e in edges if e.source in ids or e.target in ids]


def test_an_edge_knows_its_other_end():
    assert edge(0, A, B).other(A) == B
    assert edge(0, A, B).other(B) == A


def test_heavier_edges_come_first_and_equal_ones_by_id():
    edges = [edge(2, A, B), edge(1, A, B), edge(3, A, B, 5)]

    assert sorted(edges, key=reading.strongest_first) == [edges[2], edges[1], edges[0]]


def test_rare_nodes_come_first_and_equal_ones_by_name():
    nodes = [GraphNode(A, "Zoe", "", 1), GraphNode(B, "Ada", "", 1), GraphNode(C, "Hub", "", 9)]

    assert [one.name for one in sorted(nodes, key=reading.rarest_first)] == ["Ada", "Zoe", "Hub"]


def test_the_heaviest_edge_stands_for_all_between_two_nodes():
    light, heavy, back = edge(0, A, B, 1), edge(1, A, B, 3), edge(2, B, A, 2)

    assert reading.steps_from(A, [light, heavy, back]) == {B: heavy}


def test_edges_of_others_and_loops_lead_nowhere():
    assert reading.steps_from(A, [edge(0, B, C), edge(1, A, A)]) == {}


def test_neighbours_are_cut_after_the_heaviest():
    nodes = {one: GraphNode(one, str(one)) for one in (A, B, C)}
    edges = [edge(0, A, B, 1), edge(1, C, A, 2)]

    assert [one.node.id for one in reading.as_neighbours(A, edges, nodes, 1)] == [C]
    assert reading.as_neighbours(A, edges, nodes, 0) == []


@pytest.mark.parametrize("hops", [0, -1, MAX_HOPS + 1])
def test_a_path_has_a_sensible_length(hops: int):
    with pytest.raises(InputError) as caught:
        reading.shortest_chains(A, B, hops, around([]))

    assert caught.value.code == "too_many_hops"


def test_nobody_walks_to_themselves():
    assert reading.shortest_chains(A, A, 3, around([edge(0, A, B)])) == []


def test_a_direct_way_hides_every_longer_one():
    edges = [edge(0, A, B, 0.1), edge(1, A, C, 9), edge(2, C, B, 9)]

    assert [ids for ids, _ in reading.shortest_chains(A, B, 3, around(edges))] == [(A, B)]


def test_of_many_ways_the_heaviest_are_kept():
    middles = [UUID(int=50 + number) for number in range(MAX_PATHS + 3)]
    edges = [edge(number, A, via, number) for number, via in enumerate(middles)]
    edges += [edge(100 + number, via, B, 1) for number, via in enumerate(middles)]

    chains = reading.shortest_chains(A, B, 2, around(edges))

    assert [ids[1] for ids, _ in chains] == middles[:2:-1]


def test_a_path_through_a_node_that_is_gone_is_no_path():
    nodes = {A: GraphNode(A, "A"), B: GraphNode(B, "B")}
    direct, through = edge(0, A, B), edge(1, A, C)

    paths = reading.as_paths([((A, B), (direct,)), ((A, C), (through,))], nodes)

    assert [[one.name for one in path.nodes] for path in paths] == [["A", "B"]]
    assert paths[0].edges == (direct,)


def test_neighbours_chosen_alike_go_by_id():
    edges = [edge(0, A, C, 2), edge(1, A, B, 2)]

    assert reading.chosen_nodes([A], edges, 3) == [A, B, C]
