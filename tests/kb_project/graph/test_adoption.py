"""Graphs that an earlier version made, and so the application owns: they get an owner and locks."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.prepare import Plan, prepare
from kb_project.graph.age_store import graph_name
from tests.databases import (
    TEMPLATE_PREFIX,
    clone,
    drop_database,
    let_app_be_owner,
    server_for_tests,
)

pytestmark = pytest.mark.django_db

DATABASE = "kb_adoption"
WORKSPACE = UUID(int=7)
GRAPH = graph_name(WORKSPACE)
OLD_RIGHTS = (
    "grant create on database kb_adoption to kb_app",
    "grant execute on all functions in schema ag_catalog to kb_app",
)
OLD_LABELS = f"""
select ag_catalog.create_graph('{GRAPH}');
select ag_catalog.create_vlabel('{GRAPH}', 'Entity');
alter table {GRAPH}."Entity" enable row level security;
alter table {GRAPH}."Entity" force row level security;
create policy tenant on {GRAPH}."Entity"
 using (nullif(current_setting('app.workspace_id', true), '')::uuid = '{WORKSPACE}'::uuid);
select set_config('app.workspace_id', '{WORKSPACE}', true);
insert into {GRAPH}."Entity" (properties) values ('{{"name": "Ada Lind"}}');
"""
COUNT_ALL = f"select count(*) from {GRAPH}._ag_label_vertex"


@pytest.fixture
def server() -> Iterator[embedded.Server]:
    """A server with a migrated database in which the application made a graph itself."""
    server = server_for_tests()
    names = "select datname from pg_database where starts_with(datname, %s) order by oid desc"
    [(template,), *_] = as_role(server, "postgres", names, [TEMPLATE_PREFIX])
    drop_database(server.conninfo(), DATABASE)
    clone(server.conninfo(), Plan(DATABASE), template=str(template))
    for statement in (*OLD_RIGHTS, "comment on database kb_adoption is 'prepared before'"):
        as_role(server, "postgres", statement, database=DATABASE)
    as_role(server, "kb_app", OLD_LABELS, database=DATABASE)
    yield server
    drop_database(server.conninfo(), DATABASE)
    let_app_be_owner(server)


def as_role(
    server: embedded.Server,
    role: str,
    statement: str,
    values: list[str] | None = None,
    *,
    database: str = "postgres",
) -> list[tuple[object, ...]]:
    conninfo = make_conninfo(**server.conninfo(dbname=database, user=role))
    with psycopg.connect(conninfo) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def test_a_graph_of_an_earlier_version_gets_its_owner_and_its_locks(server: embedded.Server):
    assert as_role(server, "kb_app", COUNT_ALL, database=DATABASE) == [(1,)]

    prepare(server.conninfo(), Plan(DATABASE))

    assert as_role(server, "kb_app", COUNT_ALL, database=DATABASE) == [(0,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role(server, "kb_app", f"drop schema {GRAPH} cascade", database=DATABASE)


def test_what_it_holds_is_kept(server: embedded.Server):
    prepare(server.conninfo(), Plan(DATABASE))

    scoped = f"set app.workspace_id = '{WORKSPACE}'; {COUNT_ALL}"
    conninfo = make_conninfo(**server.conninfo(dbname=DATABASE, user="kb_app"))
    with psycopg.connect(conninfo) as connection:
        cursor = connection.execute(scoped.encode())
        cursor.nextset()
        assert cursor.fetchall() == [(1,)]
