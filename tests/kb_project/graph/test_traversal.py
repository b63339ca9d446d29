from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from uuid import UUID

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.graph import traversal
from kb_project.graph.ports import MAX_HOPS, MAX_PATHS, GraphEdge, GraphNode

NODES = 9
GRAPHS = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.floats(0.1, 5)),
    max_size=18,
)


def as_edges(triples: Sequence[tuple[int, int, float]]) -> list[GraphEdge]:
    return [
        GraphEdge(UUID(int=100 + number), UUID(int=a), UUID(int=b), "", weight)
        for number, (a, b, weight) in enumerate(triples)
    ]


class Around:
    """Edges around nodes, and how often they were asked for."""

    def __init__(self, edges: list[GraphEdge]) -> None:
        self.edges = edges
        self.asked: list[set[UUID]] = []

    def __call__(self, node_ids: Collection[UUID]) -> list[GraphEdge]:
        self.asked.append(set(node_ids))
        return [e for e in self.edges if e.source in node_ids or e.target in node_ids]


class Between:
    """Edges from one set of nodes to another, either way."""

    def __init__(self, edges: Sequence[GraphEdge]) -> None:
        self.edges = edges

    def __call__(self, some: Collection[UUID], others: Collection[UUID]) -> list[GraphEdge]:
        return [
            e
            for e in self.edges
            if (e.source in some and e.target in others)
            or (e.target in some and e.source in others)
        ]


def reads(edges: Sequence[GraphEdge]) -> traversal.Reads:
    return traversal.Reads(Around(list(edges)), Between(edges))


@given(GRAPHS, st.integers(1, 3))
def test_shortest_chains_are_those_of_networkx(triples: list[tuple[int, int, float]], hops: int):
    edges = as_edges(triples)
    source, target = UUID(int=0), UUID(int=1)
    graph = nx.Graph([(e.source, e.target) for e in edges])

    chains = traversal.shortest_chains(source, target, hops, reads(edges))

    expected: set[tuple[UUID, ...]] = set()
    if graph.has_node(source) and graph.has_node(target) and nx.has_path(graph, source, target):
        shortest = map(tuple, nx.all_shortest_paths(graph, source, target))
        expected = {path for path in shortest if len(path) <= hops + 1}
    found = {ids for ids, _ in chains}
    assert found <= expected
    assert len(found) == min(len(expected), MAX_PATHS)
    for ids, steps in chains:
        assert all(
            {a, b} == {e.source, e.target} for a, b, e in zip(ids, ids[1:], steps, strict=False)
        )


def test_three_steps_read_both_ends_and_what_is_between_them():
    hub, end = UUID(int=50), UUID(int=2)
    edges = as_edges([(50, number, 1) for number in range(3, 9)] + [(3, 1, 1), (1, 2, 1)])
    near = Around(edges)
    between: list[tuple[set[UUID], set[UUID]]] = []

    def read_between(some: Collection[UUID], others: Collection[UUID]) -> list[GraphEdge]:
        between.append((set(some), set(others)))
        return Between(edges)(some, others)

    (chain,) = traversal.shortest_chains(hub, end, 3, traversal.Reads(near, read_between))

    assert chain[0] == (hub, UUID(int=3), UUID(int=1), end)
    assert near.asked == [{hub}, {end}]
    assert between == [({UUID(int=number) for number in range(3, 9)}, {UUID(int=1)})]


@given(GRAPHS, st.integers(1, 3))
def test_best_chains_are_the_strongest_simple_paths_of_networkx(
    triples: list[tuple[int, int, float]], hops: int
):
    edges = as_edges(triples)
    source, target = UUID(int=0), UUID(int=1)
    graph: nx.Graph[UUID] = nx.Graph()
    for one in sorted(edges, key=traversal.strongest_first):
        if one.source != one.target and not graph.has_edge(one.source, one.target):
            graph.add_edge(one.source, one.target, edge=one)

    chains = traversal.best_chains(source, target, hops, MAX_PATHS, reads(edges))

    expected: list[traversal.Chain] = []
    if graph.has_node(source) and graph.has_node(target):
        expected = [
            (tuple(ids), tuple(graph[a][b]["edge"] for a, b in pairwise(ids)))
            for ids in nx.all_simple_paths(graph, source, target, cutoff=hops)
        ]
    assert chains == sorted(expected, key=traversal.strongest_chain_first)[:MAX_PATHS]


def test_neighbours_of_unknown_nodes_and_loops_are_left_out():
    a, b = UUID(int=1), UUID(int=2)
    edges = as_edges([(1, 1, 9), (1, 3, 5), (1, 2, 1)])

    found = traversal.as_neighbours(a, edges, {a: GraphNode(a, "A"), b: GraphNode(b, "B")}, 10)

    assert [one.node.id for one in found] == [b]


def test_nodes_are_chosen_by_the_sum_of_their_relationships():
    edges = as_edges([(0, 1, 2), (0, 2, 1.5), (2, 0, 1.5), (0, 0, 50)])

    chosen = traversal.chosen_nodes([UUID(int=0)], edges, 2)

    assert chosen == [UUID(int=0), UUID(int=2)]


def test_more_nodes_than_the_limit_are_cut():
    asked = [UUID(int=number) for number in (3, 1, 2, 1)]

    assert traversal.chosen_nodes(asked, [], 2) == [UUID(int=1), UUID(int=2)]


A, B, C = (UUID(int=number) for number in (1, 2, 3))


def edge(number: int, source: UUID, target: UUID, weight: float = 1.0) -> GraphEdge:
    return GraphEdge(UUID(int=100 + number), source, target, "", weight)


def test_an_edge_knows_its_other_end():
    assert edge(0, A, B).other(A) == B
    assert edge(0, A, B).other(B) == A


def test_heavier_edges_come_first_and_equal_ones_by_id():
    edges = [edge(2, A, B), edge(1, A, B), edge(3, A, B, 5)]

    assert sorted(edges, key=traversal.strongest_first) == [edges[2], edges[1], edges[0]]


def test_rare_nodes_come_first_and_equal_ones_by_name():
    nodes = [GraphNode(A, "Zoe", "", 1), GraphNode(B, "Ada", "", 1), GraphNode(C, "Hub", "", 9)]

    assert [one.name for one in sorted(nodes, key=traversal.rarest_first)] == ["Ada", "Zoe", "Hub"]


def test_the_heaviest_edge_stands_for_all_between_two_nodes():
    light, heavy, back = edge(0, A, B, 1), edge(1, A, B, 3), edge(2, B, A, 2)

    assert traversal.steps_from(A, [light, heavy, back]) == {B: heavy}


def test_edges_of_others_and_loops_lead_nowhere():
    assert traversal.steps_from(A, [edge(0, B, C), edge(1, A, A)]) == {}


def test_neighbours_are_cut_after_the_heaviest():
    nodes = {one: GraphNode(one, str(one)) for one in (A, B, C)}
    edges = [edge(0, A, B, 1), edge(1, C, A, 2)]

    assert [one.node.id for one in traversal.as_neighbours(A, edges, nodes, 1)] == [C]
    assert traversal.as_neighbours(A, edges, nodes, 0) == []


@pytest.mark.parametrize("hops", [0, -1, MAX_HOPS + 1])
def test_a_path_has_a_sensible_length(hops: int):
    with pytest.raises(InputError) as caught:
        traversal.shortest_chains(A, B, hops, reads([]))

    assert caught.value.code == "too_many_hops"


def test_nobody_walks_to_themselves():
    assert traversal.shortest_chains(A, A, 3, reads([edge(0, A, B)])) == []


def test_a_direct_way_hides_every_longer_one():
    edges = [edge(0, A, B, 0.1), edge(1, A, C, 9), edge(2, C, B, 9)]

    assert [ids for ids, _ in traversal.shortest_chains(A, B, 3, reads(edges))] == [(A, B)]


def test_of_many_ways_the_heaviest_are_kept():
    middles = [UUID(int=50 + number) for number in range(MAX_PATHS + 3)]
    edges = [edge(number, A, via, number) for number, via in enumerate(middles)]
    edges += [edge(100 + number, via, B, 1) for number, via in enumerate(middles)]

    chains = traversal.shortest_chains(A, B, 2, reads(edges))

    assert [ids[1] for ids, _ in chains] == middles[:2:-1]


class Torn(traversal.Traversal):
    """A store whose edges outlive a node."""

    def __init__(self, nodes: dict[UUID, GraphNode], edges: list[GraphEdge]) -> None:
        self.found = nodes
        self.edges = edges

    def nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> dict[UUID, GraphNode]:
        return {id_: self.found[id_] for id_ in ids if id_ in self.found}

    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        return Around(self.edges)(ids)

    edges_among = edges_around

    def edges_between(
        self, workspace_id: UUID, some: Collection[UUID], others: Collection[UUID]
    ) -> list[GraphEdge]:
        return Between(self.edges)(some, others)


def test_a_path_through_a_node_that_is_gone_is_no_path():
    middle, gone = UUID(int=50), UUID(int=51)
    nodes = {id_: GraphNode(id_, str(id_)) for id_ in (A, B, middle)}
    ways = [edge(0, A, middle), edge(1, middle, B), edge(2, A, gone), edge(3, gone, B)]

    (path,) = Torn(nodes, ways).paths(UUID(int=1), A, B)

    assert [one.id for one in path.nodes] == [A, middle, B]
    assert path.edges == (ways[0], ways[1])


def test_neighbours_chosen_alike_go_by_id():
    edges = [edge(0, A, C, 2), edge(1, A, B, 2)]

    assert traversal.chosen_nodes([A], edges, 3) == [A, B, C]
