"""Which store answers, and what happens when one of them cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import pytest

from ingestion.models import Entity, GraphTombstone, Relationship
from kb_project.errors import UnavailableError
from kb_project.graph import routing
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import GraphEdge, GraphNode, Neighbour
from kb_project.graph.routing import ANSWERED_BY, RoutedGraphReader, Store
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql
from tests.kb_project.graph.test_stores import edge, make_workspace, node, save_rows
from workspaces import access

pytestmark = pytest.mark.django_db

AGE_PATTERN = next(name for name, store in ANSWERED_BY.items() if store is Store.AGE)


class World:
    """A – B – C in the tables and in the projection, which is up to date."""

    def __init__(self) -> None:
        self.workspace = make_workspace("routes").pk
        access.set_scope(workspace_id=self.workspace)
        a, b, c = self.nodes = [node("A", 1), node("B", 2), node("C", 1)]
        self.edges = [edge(a, b), edge(b, c)]
        save_rows(self.workspace, self.nodes, self.edges)
        AgeGraphStore().upsert(self.workspace, self.nodes, self.edges)
        self.settle()

    def settle(self) -> None:
        Entity.objects.in_workspace(self.workspace).update(is_changed=False)
        Relationship.objects.in_workspace(self.workspace).update(is_changed=False)

    @property
    def ends(self) -> tuple[UUID, UUID]:
        return self.nodes[0].id, self.nodes[2].id

    def answers(self, reader: RoutedGraphReader) -> list[object]:
        a, c = self.ends
        return [
            reader.neighbours(self.workspace, a),
            reader.paths(self.workspace, a, c),
            reader.best_paths(self.workspace, a, c),
            reader.shared_neighbours(self.workspace, a, c),
            reader.subgraph(self.workspace, [a]),
            reader.induced_subgraph(self.workspace, [a, c]),
        ]


@pytest.fixture
def world() -> World:
    return World()


def test_a_projection_that_is_up_to_date_is_asked(world: World):
    assert RoutedGraphReader().store_for(AGE_PATTERN, world.workspace) is Store.AGE


@pytest.mark.parametrize("change", ["entity", "relationship", "tombstone", "drop"])
def test_a_projection_that_lags_behind_is_not_asked(world: World, change: str):
    if change == "entity":
        Entity.objects.filter(pk=world.nodes[1].id).update(is_changed=True)
    elif change == "relationship":
        Relationship.objects.filter(pk=world.edges[0].id).update(is_changed=True)
    elif change == "tombstone":
        GraphTombstone.objects.create(id=uuid4(), workspace_id=world.workspace)
    else:
        AgeGraphStore().drop(world.workspace)

    reader = RoutedGraphReader()

    assert reader.store_for(AGE_PATTERN, world.workspace) is Store.TABLES
    assert len(reader.best_paths(world.workspace, *world.ends)) == 1


def test_what_changed_since_the_projection_is_in_the_answer(world: World):
    new = GraphEdge(uuid4(), *world.ends, "", 5)
    save_rows(world.workspace, [], [new])

    paths = RoutedGraphReader().paths(world.workspace, *world.ends)

    assert [path.edges for path in paths] == [(new,)]


def test_with_the_projection_dropped_everything_still_answers_alike(world: World):
    before = world.answers(RoutedGraphReader())

    AgeGraphStore().drop(world.workspace)

    assert world.answers(RoutedGraphReader()) == before
    assert all(before)


def test_a_postgres_without_age_answers_from_the_tables(world: World):
    expected = world.answers(RoutedGraphReader())
    # The catalogue off the search path: what a Postgres without AGE looks like to a session.
    run_sql("SET LOCAL search_path = public")

    assert world.answers(RoutedGraphReader()) == expected


class Slow(TableGraphStore):
    """A store whose statements take a second, as on a graph that is far too large."""

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        run_sql("SELECT pg_sleep(1)")
        return []


class Broken(TableGraphStore):
    """A projection as pg_restore leaves it: every statement on it is an error."""

    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        run_sql("SELECT ag_catalog.no_such_graph()")
        return []


def test_a_projection_that_cannot_be_read_is_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(routing, "ANSWERED_BY", dict.fromkeys(ANSWERED_BY, Store.AGE))
    reader = RoutedGraphReader()
    expected = reader.best_paths(world.workspace, *world.ends)
    monkeypatch.setattr(reader, "_age", Broken())

    assert reader.best_paths(world.workspace, *world.ends) == expected != []


@contextmanager
def timeout_setting() -> Iterator[list[str]]:
    seen = [run_sql("SHOW statement_timeout")[0][0]]
    yield seen
    seen.append(run_sql("SHOW statement_timeout")[0][0])


@pytest.mark.parametrize("slow", ["age", "tables"])
def test_an_answer_that_takes_too_long_is_an_error_and_no_empty_result(
    world: World, monkeypatch: pytest.MonkeyPatch, slow: str
):
    wanted = Store.AGE if slow == "age" else Store.TABLES
    monkeypatch.setattr(routing, "ANSWERED_BY", {**ANSWERED_BY, "neighbours": wanted})
    reader = RoutedGraphReader(time_limit=50)
    monkeypatch.setattr(reader, f"_{slow}", Slow())

    with timeout_setting() as seen, pytest.raises(UnavailableError) as caught:
        reader.neighbours(world.workspace, world.nodes[0].id)

    assert caught.value.code == "graph_timeout"
    assert caught.value.next_step
    assert seen[0] == seen[1]
    # The transaction goes on.
    assert Entity.objects.in_workspace(world.workspace).count() == 3


def test_the_time_limit_ends_with_the_answer(world: World):
    with timeout_setting() as seen:
        RoutedGraphReader(time_limit=4321).neighbours(world.workspace, world.nodes[0].id)

    assert seen[0] == seen[1] != "4321ms"


def test_another_tenant_sees_nothing_through_either_store(world: World):
    access.set_scope(workspace_id=make_workspace("strangers").pk)

    assert not any(
        one.nodes if hasattr(one, "nodes") else one for one in world.answers(RoutedGraphReader())
    )


def test_a_node_is_one_of_the_workspace(world: World):
    stranger = GraphNode(uuid4(), "X")

    assert RoutedGraphReader().neighbours(world.workspace, stranger.id) == []
