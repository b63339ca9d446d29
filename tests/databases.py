"""Test databases on a server of their own, migrated once for each state of the migrations.

A template is kept; each test run, and each of its processes, works on a copy, which takes a moment
to create. The tests themselves connect as the restricted application role.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Final, LiteralString

from django.conf import settings
from django.db import connections
from psycopg import sql as pgsql

from kb_project.database import embedded
from kb_project.database.config import OWNER_ALIAS, TEST_FOLDER
from kb_project.database.engine.base import CONF, DATA
from kb_project.database.prepare import Conninfo, Plan, connect, prepare
from kb_project.database.server import is_alive
from tests.data_folders import fill_migrated, migrations_digest

# A test database need not survive a power failure.
TEST_CONF: Final = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "256MB",
    "max_connections": "120",
}
TEMPLATE_PREFIX: Final = "kb_template_"
TEMPLATES_KEPT: Final = 6
COPY_PREFIX: Final = "kb_test_"
COPY_NAME: Final = re.compile(COPY_PREFIX + r"(\d+)_\w+")

TEST_LOCK: Final[LiteralString] = "select pg_advisory_lock(7242102)"
DATABASE_NAMES: Final[LiteralString] = (
    "select datname from pg_database where starts_with(datname, %s) order by oid"
)
CLONE_DATABASE: Final[LiteralString] = (
    "create database {database} template {template} owner {owner}"
)
DROP_DATABASE: Final[LiteralString] = "drop database if exists {database} with (force)"
RENAME_DATABASE: Final[LiteralString] = "alter database {database} rename to {name}"
# A table that nothing was ever written to has no pages. Those that migrate fills are left alone.
# The lock waits for whoever still writes.
EMPTY_TABLES: Final[LiteralString] = """
CREATE FUNCTION tests.empty_tables() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET session_replication_role = replica AS $empty$
DECLARE
    written text;
BEGIN
    FOR written IN
        SELECT oid::regclass::text FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
           AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
           AND pg_relation_size(oid) > 0
         ORDER BY oid
    LOOP
        EXECUTE 'LOCK TABLE ONLY ' || written || ' IN SHARE ROW EXCLUSIVE MODE';
        EXECUTE 'DELETE FROM ONLY ' || written;
    END LOOP;
END
$empty$
"""
# The same rows in tables of the same names without constraints, in a schema of their own. Graphs
# are schemas too, and may have been made anew when the rows are put back.
KEEP_ROWS: Final[LiteralString] = """
CREATE FUNCTION tests.keep_rows() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $keep$
DECLARE
    kept text := 'kept_' || gen_random_uuid();
    graphs text[] := ARRAY(SELECT 'kb_' || replace(id::text, '-', '') FROM workspaces_workspace);
    written regclass;
BEGIN
    EXECUTE format('CREATE SCHEMA %I', kept);
    FOR written IN
        SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE (nspname = 'public' OR nspname = ANY (graphs)) AND relkind = 'r'
           AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
           AND pg_relation_size(c.oid) > 0
    LOOP
        EXECUTE format('CREATE UNLOGGED TABLE %I.%I AS TABLE ONLY %s', kept, written, written);
    END LOOP;
    RETURN kept;
END
$keep$
"""
PUT_BACK: Final[LiteralString] = """
CREATE FUNCTION tests.put_back(kept text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET session_replication_role = replica AS $back$
DECLARE
    copied text;
    columns text;
BEGIN
    FOR copied IN SELECT relname FROM pg_class WHERE relnamespace = quote_ident(kept)::regnamespace
    LOOP
        SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
         WHERE attrelid = copied::regclass AND attnum > 0
           AND NOT attisdropped AND attgenerated = '';
        EXECUTE format('DELETE FROM ONLY %s', copied);
        EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %I.%I',
                       copied, columns, columns, kept, copied);
    END LOOP;
END
$back$
"""
FORGET_ROWS: Final[LiteralString] = """
CREATE FUNCTION tests.forget_rows() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $forget$
DECLARE
    kept text;
BEGIN
    FOR kept IN SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'kept_') LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', kept);
    END LOOP;
END
$forget$
"""
# The application itself may empty no table.
TEST_RIGHTS: Final[tuple[LiteralString, ...]] = (
    "create schema tests",
    EMPTY_TABLES,
    KEEP_ROWS,
    PUT_BACK,
    FORGET_ROWS,
    "grant usage on schema tests to {app}",
)
# For rows that only the owner may write, in the transaction of the test: see rows.as_owner.
APP_MAY_BE_OWNER: Final[LiteralString] = "grant {owner} to {app} with inherit false, set true"


def server_for_tests() -> embedded.Server:
    """Return the tests' own server, separate from the one with a user's data."""
    return embedded.ensure(settings.DATA_DIR / TEST_FOLDER, conf=TEST_CONF)


def create_test_database(server: embedded.Server, worker: str = "main") -> str:
    """Create a migrated database and return its name; Django's connections use it from here on.

    ``worker`` distinguishes the processes of one test run.
    """
    with _alone(server):
        _drop_orphans(server)
        template = _template(server)
        name = f"{COPY_PREFIX}{os.getpid()}_{worker}"
        drop_database(server.conninfo(), name)
        clone(server.conninfo(), Plan(name), template=template)
    _grant_test_rights(server, name)
    _point_to(server, name)
    return name


def destroy_test_database(server: embedded.Server, name: str) -> None:
    connections.close_all()
    drop_database(server.conninfo(), name)


def empty_tables() -> None:
    """Delete every row that tests committed, whoever's it is.

    Only tables that were written to are touched: to truncate all of them takes half a second.
    """
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT tests.empty_tables()")


def keep_rows() -> str:
    """Copy every row that is committed now, whoever's it is, and return the copy's name."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT tests.keep_rows()")
        return str(cursor.fetchone()[0])


def put_back(kept: str) -> None:
    """Fill tables with the rows of a copy, and with no others."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT tests.put_back(%s)", [kept])


def forget_rows() -> None:
    """Drop every copy."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT tests.forget_rows()")


def _template(server: embedded.Server) -> str:
    """Return the name of a fully migrated database, creating it if there is none."""
    name = TEMPLATE_PREFIX + migrations_digest()
    if name in _names(server, TEMPLATE_PREFIX):
        return name
    partial = f"{name}_partial"
    drop_database(server.conninfo(), partial)
    prepare(server.conninfo(), Plan(partial))
    fill_migrated(server, partial)
    with connect(server.conninfo()) as connection:
        names = {"database": pgsql.Identifier(partial), "name": pgsql.Identifier(name)}
        connection.execute(pgsql.SQL(RENAME_DATABASE).format(**names))
    _drop_old_templates(server)
    return name


def _grant_test_rights(server: embedded.Server, name: str) -> None:
    names = Plan(name).names()
    with connect(server.conninfo(), database=name) as connection:
        for statement in TEST_RIGHTS:
            connection.execute(pgsql.SQL(statement).format(**names))
    let_app_be_owner(server)


def let_app_be_owner(server: embedded.Server) -> None:
    """Grant the application's role what preparing any database of the server takes away again."""
    with connect(server.conninfo()) as connection:
        connection.execute(pgsql.SQL(APP_MAY_BE_OWNER).format(**Plan("").names()))


def _point_to(server: embedded.Server, name: str) -> None:
    """Point both aliases to a database on the test server."""
    connections.close_all()
    for alias in ("default", OWNER_ALIAS):
        connection = connections[alias]
        connection.settings_dict["NAME"] = name
        connection.settings_dict["OPTIONS"][DATA] = str(server.data_dir)
        connection.settings_dict["OPTIONS"][CONF] = TEST_CONF


def _drop_orphans(server: embedded.Server) -> None:
    """Drop the databases of test processes that were killed."""
    for name in _names(server, COPY_PREFIX):
        found = COPY_NAME.fullmatch(name)
        if found and not is_alive(int(found[1])):
            drop_database(server.conninfo(), name)


def _drop_old_templates(server: embedded.Server) -> None:
    for name in _names(server, TEMPLATE_PREFIX)[:-TEMPLATES_KEPT]:
        drop_database(server.conninfo(), name)


def _names(server: embedded.Server, prefix: str) -> list[str]:
    """Return database names, oldest first."""
    with connect(server.conninfo()) as connection:
        rows = connection.execute(DATABASE_NAMES, [prefix]).fetchall()
    return [row[0] for row in rows]


def clone(superuser: Conninfo, plan: Plan, *, template: str) -> None:
    """Copy a database, then prepare the copy: database settings are not copied with it."""
    with connect(superuser) as server:
        names = {"template": pgsql.Identifier(template), **plan.names()}
        server.execute(pgsql.SQL(CLONE_DATABASE).format(**names))
    prepare(superuser, plan)


def drop_database(superuser: Conninfo, name: str) -> None:
    """Drop a database if it exists, disconnecting its clients."""
    with connect(superuser) as server:
        server.execute(pgsql.SQL(DROP_DATABASE).format(database=pgsql.Identifier(name)))


@contextlib.contextmanager
def _alone(server: embedded.Server) -> Iterator[None]:
    """Let one process at a time in: a template cannot be copied while anyone is connected to it."""
    with connect(server.conninfo()) as connection:
        connection.execute(TEST_LOCK)
        yield
