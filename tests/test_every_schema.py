"""The second lock in every schema: the application's tables, AGE's, and those of every graph."""

from __future__ import annotations

from typing import Final, LiteralString

import pytest
from psycopg import sql as pgsql

from ingestion.knowledge.projection import rebuild
from kb_project.graph.age_store import graph_name
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

# Every table of every schema, AGE's and those of graphs too, and whether row security is forced.
ALL_TABLES: Final[LiteralString] = """
SELECT n.nspname, c.relname, c.relrowsecurity AND c.relforcerowsecurity
       AND EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'f', 'm', 'v') AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
 ORDER BY 1, 2
"""
# Tables without a tenant's rows: those of Django and its applications, and AGE's catalogue.
FOREIGN: Final = ("django_", "auth_", "account_", "socialaccount_", "mfa_", "usersessions_")
OPEN_TABLES: Final = {
    "workspaces_user": "people belong to no workspace",
    "workspaces_user_groups": "people belong to no workspace",
    "workspaces_user_user_permissions": "people belong to no workspace",
    "workspaces_workspace": "the tenants themselves: name and address",
    "workspaces_ratelimit": "digests of names, and a time",
    "workspaces_accountevent": "what happened to accounts, which belong to no workspace",
    "workspaces_installationspending": "what people and the installation spent, in months",
    "ingestion_lanecall": "which workspaces have work waiting",
}


@pytest.fixture
def workspace() -> Workspace:
    """A workspace with documents, entities, a relationship, and its graph."""
    workspace = rows.make_cast().workspace
    document = rows.make_document(workspace, "Log", "Ada Lind keeps the light of Skarrow.")
    ada = rows.make_mentions(workspace, rows.chunks_of(document), "Ada Lind")
    skarrow = rows.make_mentions(workspace, rows.chunks_of(document), "Skarrow", "PLACE")
    rows.make_relationship(ada, skarrow, rows.chunks_of(document)[0], "keeps")
    rebuild(workspace.pk, graph_store())
    return workspace


def test_no_table_is_open_but_those_without_a_tenants_rows(workspace: Workspace):
    tables = run_sql(ALL_TABLES)

    open_tables = [
        f"{schema}.{name}"
        for schema, name, is_forced in tables
        if not is_forced and schema != "ag_catalog"
        if name not in OPEN_TABLES and not name.startswith(FOREIGN)
    ]

    assert (graph_name(workspace.pk), "_ag_label_vertex", True) in tables
    assert open_tables == []


def test_no_locked_table_shows_a_row_without_a_workspace(workspace: Workspace):
    access.set_scope(workspace_id=workspace.pk)
    inside = tables_with_rows()
    access.set_scope(workspace_id=None)

    assert {f"{graph_name(workspace.pk)}._ag_label_edge", "public.ingestion_chunk"} <= inside
    assert tables_with_rows() == set()


def tables_with_rows() -> set[str]:
    """The locked tables in which the application sees a row now."""
    found: LiteralString = "SELECT EXISTS (SELECT FROM {})"
    locked = [row[:2] for row in run_sql(ALL_TABLES) if row[2]]
    return {
        ".".join(name)
        for name in locked
        if run_sql(pgsql.SQL(found).format(pgsql.Identifier(*name))) == [(True,)]
    }


def test_the_application_owns_no_table_and_so_opens_none(workspace: Workspace):
    owned = run_sql(
        "SELECT relname FROM pg_class WHERE relpersistence <> 't'"
        " AND pg_has_role(current_user, relowner, 'USAGE')"
    )

    assert owned == []
