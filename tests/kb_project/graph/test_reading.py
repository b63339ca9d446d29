from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

import networkx as nx
from hypothesis import given, strategies as st

from kb_project.graph import reading
from kb_project.graph.ports import MAX_PATHS, GraphEdge, GraphNode

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


@given(GRAPHS, st.integers(1, 3))
def test_shortest_chains_are_those_of_networkx(triples: list[tuple[int, int, float]], hops: int):
    edges = as_edges(triples)
    source, target = UUID(int=0), UUID(int=1)
    graph = nx.Graph([(e.source, e.target) for e in edges])

    chains = reading.shortest_chains(source, target, hops, Around(edges))

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


def test_three_steps_read_the_smaller_neighbourhood_only():
    hub, end = UUID(int=50), UUID(int=2)
    edges = as_edges([(50, number, 1) for number in range(3, 9)] + [(3, 1, 1), (1, 2, 1)])
    around = Around(edges)

    (chain,) = reading.shortest_chains(hub, end, 3, around)

    assert chain[0] == (hub, UUID(int=3), UUID(int=1), end)
    assert around.asked == [{hub}, {end}, {UUID(int=1)}]


def test_neighbours_of_unknown_nodes_and_loops_are_left_out():
    a, b = UUID(int=1), UUID(int=2)
    edges = as_edges([(1, 1, 9), (1, 3, 5), (1, 2, 1)])

    found = reading.as_neighbours(a, edges, {a: GraphNode(a, "A"), b: GraphNode(b, "B")}, 10)

    assert [one.node.id for one in found] == [b]


def test_nodes_are_chosen_by_the_sum_of_their_relationships():
    edges = as_edges([(0, 1, 2), (0, 2, 1.5), (2, 0, 1.5), (0, 0, 50)])

    chosen = reading.chosen_nodes([UUID(int=0)], edges, 2)

    assert chosen == [UUID(int=0), UUID(int=2)]


def test_more_nodes_than_the_limit_are_cut():
    asked = [UUID(int=number) for number in (3, 1, 2, 1)]

    assert reading.chosen_nodes(asked, [], 2) == [UUID(int=1), UUID(int=2)]
