"""The graph in dictionaries against networkx, and after any order of writes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from kb_project.graph.ports import GraphCounts, GraphEdge, GraphIds, GraphNode
from tests.memory_graph import MemoryGraphStore

HERE, THERE = UUID(int=1), UUID(int=2)
Triples = Sequence[tuple[int, int, float]]
GRAPHS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.1, 5)), max_size=16)


def node(number: int) -> GraphNode:
    return GraphNode(UUID(int=100 + number), f"N{number}", "person", number)


NODES = [node(number) for number in range(8)]


def edges_of(triples: Triples) -> list[GraphEdge]:
    return [
        GraphEdge(UUID(int=500 + number), node(a).id, node(b).id, "", weight)
        for number, (a, b, weight) in enumerate(triples)
    ]


def filled(triples: Triples) -> MemoryGraphStore:
    store = MemoryGraphStore()
    store.upsert(HERE, NODES, edges_of(triples))
    return store


def as_networkx(triples: Triples) -> nx.Graph[UUID]:
    graph: nx.Graph[UUID] = nx.Graph()
    graph.add_nodes_from(one.id for one in NODES)
    graph.add_edges_from((e.source, e.target) for e in edges_of(triples) if e.source != e.target)
    return graph


@given(GRAPHS)
def test_neighbours_are_those_of_networkx(triples: Triples):
    store, graph = filled(triples), as_networkx(triples)

    for one in NODES:
        found = store.neighbours(HERE, one.id)
        assert {other.node.id for other in found} == set(graph[one.id])
        weights = [other.edge.weight for other in found]
        assert weights == sorted(weights, reverse=True)


@given(GRAPHS)
def test_what_two_have_in_common_is_the_same_from_either(triples: Triples):
    store, graph = filled(triples), as_networkx(triples)
    a, b = NODES[0].id, NODES[1].id

    shared = store.shared_neighbours(HERE, a, b)

    assert {one.id for one in shared} == set(nx.common_neighbors(graph, a, b))
    assert shared == store.shared_neighbours(HERE, b, a)
    assert [one.degree for one in shared] == sorted(one.degree for one in shared)


@given(GRAPHS, st.sets(st.integers(0, 9), max_size=4), st.integers(1, 8))
def test_a_subgraph_is_closed_and_bounded(triples: Triples, wanted: set[int], limit: int):
    store = filled(triples)

    found = store.subgraph(HERE, [node(number).id for number in wanted], limit)

    inside = {one.id for one in found.nodes}
    assert len(found.nodes) == len(inside) <= limit
    assert set(found.edges) == {
        edge for edge in edges_of(triples) if {edge.source, edge.target} <= inside
    }


@given(GRAPHS, st.sets(st.integers(0, 7)))
def test_no_edge_outlives_its_ends(triples: Triples, removed: set[int]):
    store = filled(triples)
    gone = {node(number).id for number in removed}

    store.remove(HERE, gone, [])

    left = [e for e in edges_of(triples) if not gone & {e.source, e.target}]
    assert store.everything(HERE).ids == GraphIds(
        nodes=frozenset(one.id for one in NODES) - gone,
        edges=frozenset(edge.id for edge in left),
    )
    assert all(store.neighbours(HERE, one) == [] for one in gone)


@given(GRAPHS)
def test_writing_the_same_twice_changes_nothing(triples: Triples):
    store = filled(triples)
    before = [store.neighbours(HERE, one.id) for one in NODES]

    store.upsert(HERE, NODES, edges_of(triples))

    assert [store.neighbours(HERE, one.id) for one in NODES] == before
    assert store.counts(HERE) == GraphCounts(len(NODES), len(triples))


def test_an_edge_that_moves_leaves_its_old_ends():
    store = filled([(0, 1, 1.0)])
    (edge,) = edges_of([(2, 3, 4.0)])

    store.upsert(HERE, [], [edge])

    assert store.neighbours(HERE, node(0).id) == []
    assert [one.node for one in store.neighbours(HERE, node(3).id)] == [node(2)]
    assert store.counts(HERE).edges == 1


def test_a_node_that_is_written_again_shows_its_new_name():
    store = filled([(0, 1, 1.0)])

    store.upsert(HERE, [GraphNode(node(1).id, "Renamed")], [])

    assert store.neighbours(HERE, node(0).id)[0].node.name == "Renamed"


@pytest.mark.parametrize("write", ["remove", "drop", "replace"])
def test_what_happens_here_leaves_there_alone(write: str):
    store = filled([(0, 1, 1.0)])
    store.upsert(THERE, NODES, edges_of([(0, 1, 1.0)]))

    if write == "remove":
        store.remove(HERE, [node(0).id], [])
    elif write == "drop":
        store.drop(HERE)
    else:
        store.replace_all(HERE, [node(5)], [])

    assert store.counts(THERE) == GraphCounts(len(NODES), 1)
    assert store.counts(HERE) != store.counts(THERE)


def test_what_is_removed_by_two_reasons_at_once_is_gone_once():
    store = filled([(0, 1, 1.0), (1, 2, 1.0)])
    first, second = edges_of([(0, 1, 1.0), (1, 2, 1.0)])

    store.remove(HERE, [node(0).id], [first.id, UUID(int=9)])

    assert store.everything(HERE).ids.edges == {second.id}


def test_a_store_does_not_keep_what_it_is_only_asked_about():
    store = MemoryGraphStore()

    store.remove(HERE, [node(0).id], [])
    store.neighbours(HERE, node(0).id)

    assert store.counts(HERE) == GraphCounts()
