"""One contract for every store: what a caller may rely on, whichever Postgres is behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from uuid import UUID, uuid4

import pytest

from ingestion.models import Entity, Relationship
from kb_project.errors import InputError
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import (
    GraphCounts,
    GraphEdge,
    GraphIds,
    GraphNode,
    GraphPath,
    GraphStore,
)
from kb_project.graph.table_store import TableGraphStore
from tests.memory_graph import MemoryGraphStore
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@dataclass
class Bench:
    """A store, a workspace the transaction may see, and a way to put a graph in."""

    store: GraphStore
    workspace: UUID
    fill: Callable[[Sequence[GraphNode], Sequence[GraphEdge]], None]


def make_workspace(slug: str) -> Workspace:
    return Workspace.objects.create(name=slug, slug=slug)


def save_rows(workspace: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> None:
    Entity.objects.bulk_create(
        Entity(
            id=node.id,
            workspace_id=workspace,
            key=f"{node.name} {node.id}",
            name=node.name,
            type=node.type,
            degree=node.degree,
        )
        for node in nodes
    )
    Relationship.objects.bulk_create(
        Relationship(
            id=edge.id,
            workspace_id=workspace,
            source_id=edge.source,
            target_id=edge.target,
            description=edge.description,
            weight=edge.weight,
        )
        for edge in edges
    )


STORES: dict[str, Callable[[], GraphStore]] = {
    "memory": MemoryGraphStore,
    "age": AgeGraphStore,
    "tables": TableGraphStore,
}


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest) -> Bench:
    workspace = make_workspace("graphs").pk
    access.set_scope(workspace_id=workspace)
    store = STORES[request.param]()

    def fill(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> None:
        if isinstance(store, TableGraphStore):
            save_rows(workspace, nodes, edges)
        store.upsert(workspace, nodes, edges)

    return Bench(store, workspace, fill)


@pytest.fixture(params=["memory", "age"])
def copy(request: pytest.FixtureRequest) -> Bench:
    """A store that holds a copy of the graph, so that writing it means something."""
    workspace = make_workspace("graphs").pk
    access.set_scope(workspace_id=workspace)
    store = STORES[request.param]()
    return Bench(store, workspace, lambda nodes, edges: store.upsert(workspace, nodes, edges))


def node(name: str, degree: int = 0, type_: str = "person") -> GraphNode:
    return GraphNode(id=uuid4(), name=name, type=type_, degree=degree)


def edge(source: GraphNode, target: GraphNode, weight: float = 1.0, text: str = "") -> GraphEdge:
    return GraphEdge(uuid4(), source.id, target.id, text, weight)


def names(path: GraphPath) -> str:
    return " ".join(one.name for one in path.nodes)


def test_a_workspace_without_a_graph_is_empty_everywhere(bench: Bench):
    store, workspace, nobody = bench.store, bench.workspace, uuid4()

    assert store.counts(workspace) == GraphCounts()
    assert store.everything(workspace).ids == GraphIds()
    assert store.everything(workspace).nodes == ()
    assert store.neighbours(workspace, nobody) == []
    assert store.paths(workspace, nobody, uuid4()) == []
    assert store.shared_neighbours(workspace, nobody, uuid4()) == []
    assert store.subgraph(workspace, [nobody]).nodes == ()
    store.remove(workspace, [nobody], [nobody])
    store.drop(workspace)


def test_what_was_put_in_is_counted_and_listed(bench: Bench):
    a, b, c = node("A"), node("B"), node("C")
    ab, bc = edge(a, b), edge(b, c)

    bench.fill([a, b, c], [ab, bc])

    assert bench.store.counts(bench.workspace) == GraphCounts(nodes=3, edges=2)
    assert bench.store.everything(bench.workspace).ids == GraphIds(
        nodes=frozenset({a.id, b.id, c.id}), edges=frozenset({ab.id, bc.id})
    )


def test_everything_comes_back_as_it_was_put_in(bench: Bench):
    a, b, c = node("A"), node("B"), node("C")
    ab, bc = edge(a, b), edge(b, c)

    bench.fill([a, b, c], [ab, bc])

    whole = bench.store.everything(bench.workspace)
    assert set(whole.nodes) == {a, b, c}
    assert set(whole.edges) == {ab, bc}


def test_neighbours_come_from_both_directions_strongest_first(bench: Bench):
    a, b, c, d = node("A", 3), node("B", 1), node("C", 1), node("D", 1)
    ab, ca, ad = edge(a, b, 1.0, "knows"), edge(c, a, 3.5, "pays"), edge(a, d, 2.0)
    bench.fill([a, b, c, d], [ab, ca, ad])

    found = bench.store.neighbours(bench.workspace, a.id)

    assert [(one.node, one.edge) for one in found] == [(c, ca), (d, ad), (b, ab)]
    assert bench.store.neighbours(bench.workspace, a.id, limit=2) == found[:2]
    assert [one.node for one in bench.store.neighbours(bench.workspace, b.id)] == [a]


@pytest.mark.parametrize(
    "name",
    ["O'Neill", '"quoted"', "$$ ; drop table", "x' }) DETACH DELETE (n", "back\\slash", "朱元璋",
     "tab\tand\nline", "emoji 🎄", "%s %(x)s {nodes}", "null", "1.5", "", "\x1b[0m"],
)  # fmt: skip
def test_any_name_and_description_comes_back_as_it_was(bench: Bench, name: str):
    a, b = node(name), node("B")
    ab = edge(a, b, 0.1, f"{name} and B")
    bench.fill([a, b], [ab])

    (found,) = bench.store.neighbours(bench.workspace, b.id)

    assert found.node == a
    assert found.edge == ab


def test_a_direct_relationship_is_the_only_path(bench: Bench):
    a, b, c = node("A"), node("B"), node("C")
    ab = edge(b, a)
    bench.fill([a, b, c], [ab, edge(a, c), edge(c, b)])

    (path,) = bench.store.paths(bench.workspace, a.id, b.id)

    assert names(path) == "A B"
    assert path.edges == (ab,)


def test_between_two_nodes_a_path_takes_the_heaviest_relationship(bench: Bench):
    a, b = node("A"), node("B")
    light, heavy = edge(a, b, 1.0), edge(b, a, 2.0)
    bench.fill([a, b], [light, heavy])

    (path,) = bench.store.paths(bench.workspace, a.id, b.id)

    assert path.edges == (heavy,)


def test_paths_of_two_steps_are_all_found_heaviest_first(bench: Bench):
    a, b, x, y, z = (node(name) for name in "ABXYZ")
    edges = [edge(a, x, 1), edge(x, b, 1), edge(y, a, 2), edge(b, y, 2), edge(a, z, 9)]
    bench.fill([a, b, x, y, z], edges)

    paths = bench.store.paths(bench.workspace, a.id, b.id)

    assert [names(path) for path in paths] == ["A Y B", "A X B"]


def test_paths_of_three_steps_are_found_whatever_the_directions(bench: Bench):
    a, b, c, d, hub = (node(name) for name in "ABCDH")
    edges = [edge(b, a), edge(b, c), edge(d, c), edge(a, hub), edge(hub, c, 0.5)]
    bench.fill([a, b, c, d, hub], edges)

    paths = bench.store.paths(bench.workspace, a.id, d.id)

    assert [names(path) for path in paths] == ["A B C D", "A H C D"]
    backwards = bench.store.paths(bench.workspace, d.id, a.id)
    assert [names(path) for path in backwards] == ["D C B A", "D C H A"]


def test_a_path_is_never_longer_than_asked_for(bench: Bench):
    chain = [node(name) for name in "ABCDE"]
    bench.fill(chain, [edge(left, right) for left, right in pairwise(chain)])
    store, workspace, first = bench.store, bench.workspace, chain[0].id

    assert store.paths(workspace, first, chain[2].id, max_hops=1) == []
    assert store.paths(workspace, first, chain[3].id, max_hops=2) == []
    assert len(store.paths(workspace, first, chain[3].id)) == 1
    assert store.paths(workspace, first, chain[4].id) == []
    assert store.paths(workspace, first, first) == []


@pytest.mark.parametrize("hops", [0, 4])
def test_paths_beyond_three_steps_are_refused(bench: Bench, hops: int):
    with pytest.raises(InputError):
        bench.store.paths(bench.workspace, uuid4(), uuid4(), max_hops=hops)


def test_shared_neighbours_are_found_in_every_direction_rarest_first(bench: Bench):
    a, b = node("A"), node("B")
    out, into, through, back = node("O", 9), node("I", 2), node("T", 5), node("K", 2)
    only_a = node("X", 1)
    edges = [
        *(edge(a, out), edge(b, out)),
        *(edge(into, a), edge(into, b)),
        *(edge(a, through), edge(through, b)),
        *(edge(back, a), edge(b, back)),
        *(edge(a, only_a), edge(a, b)),
    ]
    bench.fill([a, b, out, into, through, back, only_a], edges)

    shared = bench.store.shared_neighbours(bench.workspace, a.id, b.id)

    assert shared == [into, back, through, out]


def test_a_subgraph_holds_the_nodes_asked_for_and_every_edge_between_its_nodes(bench: Bench):
    a, b, c, d, far = (node(name) for name in ("A", "B", "C", "D", "far"))
    ab, ac, bc, ad = edge(a, b, 3), edge(c, a, 2), edge(b, c, 1), edge(a, d, 0.5)
    bench.fill([a, b, c, d, far], [ab, ac, bc, ad, edge(d, far)])

    found = bench.store.subgraph(bench.workspace, [a.id], limit=3)

    assert found.nodes == (a, b, c)
    assert found.edges == (ab, ac, bc)


def test_a_subgraph_never_has_more_nodes_than_the_limit(bench: Bench):
    several = [node(str(number)) for number in range(8)]
    bench.fill(several, [])

    found = bench.store.subgraph(bench.workspace, [one.id for one in several], limit=5)

    assert len(found.nodes) == 5
    assert found.edges == ()


def test_another_workspace_sees_nothing(bench: Bench):
    a, b = node("A"), node("B")
    bench.fill([a, b], [edge(a, b)])
    other = make_workspace("strangers").pk
    access.set_scope(workspace_id=other)
    store = bench.store

    assert store.counts(other) == GraphCounts()
    assert store.neighbours(other, a.id) == []
    assert store.paths(other, a.id, b.id) == []
    assert store.shared_neighbours(other, a.id, b.id) == []
    assert store.subgraph(other, [a.id, b.id]).nodes == ()


@pytest.mark.parametrize("kind", ["age", "tables"])
def test_the_database_itself_hides_a_graph_from_the_wrong_tenant(kind: str):
    workspace, a, b = make_workspace("mine").pk, node("A"), node("B")
    access.set_scope(workspace_id=workspace)
    save_rows(workspace, [a, b], [])
    store = STORES[kind]()
    store.upsert(workspace, [a, b], [edge(a, b)])

    access.set_scope(workspace_id=make_workspace("theirs").pk)

    assert store.counts(workspace) == GraphCounts()
    assert store.neighbours(workspace, a.id) == []
    assert store.subgraph(workspace, [a.id]).nodes == ()


def test_writing_again_overwrites_instead_of_doubling(copy: Bench):
    a, b, c = node("A"), node("B"), node("C")
    ab = edge(a, b)
    copy.fill([a, b, c], [ab])

    renamed = GraphNode(a.id, "Anna", "person", 7)
    moved = GraphEdge(ab.id, a.id, c.id, "new", 4.0)
    copy.fill([renamed], [moved])

    assert copy.store.counts(copy.workspace) == GraphCounts(nodes=3, edges=1)
    (found,) = copy.store.neighbours(copy.workspace, c.id)
    assert (found.node, found.edge) == (renamed, moved)
    assert copy.store.neighbours(copy.workspace, b.id) == []


def test_an_edge_with_an_unknown_end_is_left_out(copy: Bench):
    a = node("A")

    copy.fill([a], [edge(a, node("nobody"))])

    assert copy.store.counts(copy.workspace) == GraphCounts(nodes=1, edges=0)


def test_removing_a_node_takes_its_edges_along(copy: Bench):
    a, b, c = node("A"), node("B"), node("C")
    bc = edge(b, c)
    copy.fill([a, b, c], [edge(a, b), edge(c, a), bc])

    copy.store.remove(copy.workspace, [a.id], [])

    left = copy.store.everything(copy.workspace).ids
    assert left == GraphIds(nodes=frozenset({b.id, c.id}), edges=frozenset({bc.id}))


def test_removing_an_edge_leaves_its_ends(copy: Bench):
    a, b = node("A"), node("B")
    ab, ba = edge(a, b), edge(b, a)
    copy.fill([a, b], [ab, ba])

    copy.store.remove(copy.workspace, [], [ab.id])

    assert copy.store.everything(copy.workspace).ids.edges == {ba.id}
    assert copy.store.counts(copy.workspace).nodes == 2


def test_replacing_all_leaves_nothing_of_the_old_graph(copy: Bench):
    copy.fill([node("old")], [])
    a, b = node("A"), node("B")
    ab = edge(a, b)

    copy.store.replace_all(copy.workspace, [a, b], [ab])

    assert copy.store.everything(copy.workspace).ids == GraphIds(
        nodes=frozenset({a.id, b.id}), edges=frozenset({ab.id})
    )


def test_after_a_drop_the_graph_can_be_written_again(copy: Bench):
    a = node("A")
    copy.fill([a], [])

    copy.store.drop(copy.workspace)
    assert copy.store.counts(copy.workspace) == GraphCounts()
    copy.fill([a], [])

    assert copy.store.counts(copy.workspace).nodes == 1


@pytest.mark.parametrize("seed", range(4))
def test_all_stores_agree_on_a_random_graph(seed: int):
    random = Random(seed)
    workspace = make_workspace("dice").pk
    access.set_scope(workspace_id=workspace)
    nodes = [node(f"N{number}", degree=number % 4) for number in range(25)]
    pairs = {tuple(random.sample(range(25), 2)) for _ in range(40)}
    edges = [edge(nodes[a], nodes[b], random.random()) for a, b in sorted(pairs)]
    save_rows(workspace, nodes, edges)
    stores = [make() for make in STORES.values()]
    for store in stores:
        store.upsert(workspace, nodes, edges)

    for _ in range(20):
        a, b, *some = (one.id for one in random.sample(nodes, 8))
        for answers in (
            [store.paths(workspace, a, b) for store in stores],
            [store.best_paths(workspace, a, b) for store in stores],
            [store.best_paths(workspace, a, b, max_hops=2, limit=2) for store in stores],
            [store.shared_neighbours(workspace, a, b) for store in stores],
            [store.shared_neighbours(workspace, a, b, limit=1) for store in stores],
            [store.induced_subgraph(workspace, some) for store in stores],
            [store.neighbours(workspace, a, limit=3) for store in stores],
            [store.subgraph(workspace, [a, b], limit=8) for store in stores],
            [store.everything(workspace).ids for store in stores],
        ):
            assert answers[0] == answers[1] == answers[2]
