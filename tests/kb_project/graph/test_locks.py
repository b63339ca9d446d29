"""Graphs belong to the owner: the application fills and reads them, and opens no lock."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest
from django.db import ProgrammingError, transaction
from psycopg import sql as pgsql

from kb_project.graph.age_store import AgeGraphStore, graph_name
from kb_project.graph.ports import GraphEdge, GraphNode
from kb_project.sql import run_sql
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

ADA = GraphNode(uuid4(), "Ada Lind", "PERSON", 1)
LIGHT = GraphNode(uuid4(), "The light", "THING", 1)
KEEPS = GraphEdge(uuid4(), ADA.id, LIGHT.id, "keeps", 1.0)

TABLES: LiteralString = """
SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity AND c.relforcerowsecurity,
       (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relkind = 'r' ORDER BY 1
"""


@pytest.fixture
def graph() -> UUID:
    """A workspace with two entities and a relationship in its graph; its rows are open."""
    workspace = rows.make_workspace()
    access.set_scope(workspace_id=workspace.pk)
    AgeGraphStore().upsert(workspace.pk, [ADA, LIGHT], [KEEPS])
    return workspace.pk


def cypher(graph: UUID, query: LiteralString) -> list[Any]:
    statement = pgsql.SQL("SELECT * FROM cypher({}, {}) AS (found agtype)").format(
        pgsql.Literal(graph_name(graph)), pgsql.SQL("$$" + query + "$$")
    )
    return run_sql(statement)


def of_table(graph: UUID, statement: LiteralString, table: str) -> pgsql.Composed:
    return pgsql.SQL(statement).format(table=pgsql.Identifier(graph_name(graph), table))


def test_every_table_of_a_graph_is_the_owners_and_locked(graph: UUID):
    assert run_sql(TABLES, [graph_name(graph)]) == [
        ("Entity", "kb_owner", True, 1),
        ("RELATES", "kb_owner", True, 1),
        ("_ag_label_edge", "kb_owner", True, 1),
        ("_ag_label_vertex", "kb_owner", True, 1),
    ]


@pytest.mark.parametrize("table", ["Entity", "RELATES", "_ag_label_edge", "_ag_label_vertex"])
@pytest.mark.parametrize("scope", [None, uuid4()])
def test_no_row_of_a_graph_is_seen_from_elsewhere(graph: UUID, table: str, scope: UUID | None):
    count = of_table(graph, "SELECT count(*) FROM {table}", table)
    assert run_sql(count) > [(0,)]

    access.set_scope(workspace_id=scope)

    assert run_sql(count) == [(0,)]


@pytest.mark.parametrize("query", ["MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"])
def test_a_pattern_without_a_label_sees_nothing_without_the_workspace(
    graph: UUID, query: LiteralString
):
    assert cypher(graph, query)

    access.set_scope(workspace_id=None)

    assert cypher(graph, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[*1..2]->(b) RETURN b",
        "MATCH ()-[r]->() RETURN startNode(r)",
        "MATCH (n) RETURN vertex_stats(n)",
    ],
)
def test_what_reads_past_the_policies_is_refused(graph: UUID, query: LiteralString):
    with pytest.raises(ProgrammingError, match="permission denied for function"):
        cypher(graph, query)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON {table}",
        "CREATE POLICY open ON {table} USING (true)",
        "TRUNCATE {table}",
        "DROP TABLE {table}",
    ],
)
@pytest.mark.parametrize("table", ["Entity", "_ag_label_vertex"])
def test_the_application_opens_no_lock(graph: UUID, table: str, statement: LiteralString):
    with pytest.raises(ProgrammingError, match=r"must be owner|permission denied"):
        run_sql(of_table(graph, statement, table))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT ag_catalog.create_vlabel(%s::text::cstring, 'Another')",
        "SELECT ag_catalog.drop_graph(%s::name, true)",
        "SELECT ag_catalog.alter_graph(%s::name, 'RENAME', 'kb_mine')",
        "SELECT workspaces_graph_protect(%s::name)",
    ],
)
def test_the_application_changes_no_graph_itself(graph: UUID, statement: LiteralString):
    with pytest.raises(ProgrammingError, match=r"must be owner|permission denied"):
        run_sql(statement, [graph_name(graph)])


def test_a_label_is_not_added_by_writing_one(graph: UUID):
    with pytest.raises(ProgrammingError, match="permission denied for schema"):
        cypher(graph, "CREATE (n:Another {name: 'x'}) RETURN n")


@pytest.mark.parametrize("do", ["create", "drop", "analyze"])
def test_only_the_current_workspaces_graph_is_made_or_dropped(graph: UUID, do: str):
    other = rows.make_workspace("Other")
    access.set_scope(workspace_id=other.pk)
    statement = pgsql.SQL("SELECT {}(%s)").format(pgsql.Identifier(f"workspaces_graph_{do}"))

    with pytest.raises(ProgrammingError, match="not the current workspace"):
        run_sql(statement, [graph])


def test_a_workspace_that_does_not_exist_gets_no_graph():
    nowhere = uuid4()
    access.set_scope(workspace_id=nowhere)

    with pytest.raises(ProgrammingError, match="does not exist"):
        AgeGraphStore().upsert(nowhere, [ADA], [])


def test_a_graph_that_exists_is_not_created_again(graph: UUID):
    run_sql("SELECT workspaces_graph_create(%s)", [graph])

    assert AgeGraphStore().counts(graph).nodes == 2


def test_a_dropped_graph_is_created_again_with_its_locks(graph: UUID):
    AgeGraphStore().replace_all(graph, [ADA], [])

    assert [row[2] for row in run_sql(TABLES, [graph_name(graph)])] == [True] * 4
    assert AgeGraphStore().counts(graph).nodes == 1


def test_a_rolled_back_graph_leaves_nothing():
    workspace = rows.make_workspace()

    with pytest.raises(ZeroDivisionError):
        fill_and_fail(workspace.pk)

    assert run_sql(TABLES, [graph_name(workspace.pk)]) == []


@transaction.atomic
def fill_and_fail(workspace_id: UUID) -> None:
    access.set_scope(workspace_id=workspace_id)
    AgeGraphStore().upsert(workspace_id, [ADA], [])
    raise ZeroDivisionError
