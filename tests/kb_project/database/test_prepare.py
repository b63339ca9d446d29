"""Roles, database, extensions and rights: any number of times, from any number of processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.prepare import Plan, prepare
from tests.databases import clone, drop_database
from tests.kb_project.database.conftest import query

pytestmark = pytest.mark.slow

FIRST = {"owner_password": "owner's secret", "app_password": "app's %secret"}
SECOND = {"owner_password": "new", "app_password": "new"}
FORBIDDEN = (
    "create table public.stray (id int)",
    "drop table note",
    "truncate note",
    "alter table note disable row level security",
    "create role another",
    "create database another",
    "set role kb_owner",
    "copy note from program 'id'",
)


@pytest.fixture
def server(initialised) -> embedded.Server:
    return embedded.ensure(initialised / "data")


@pytest.fixture
def app(server) -> Iterator[psycopg.Connection]:
    prepare(server.conninfo(), Plan("kb"))
    conninfo = make_conninfo(**server.conninfo(dbname="kb", user="kb_app"))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


def as_owner(server: embedded.Server) -> psycopg.Connection:
    conninfo = make_conninfo(**server.conninfo(dbname="kb", user="kb_owner"))
    return psycopg.connect(conninfo, autocommit=True)


def test_neither_role_can_step_over_row_level_security(app):
    rows = app.execute(
        "select rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles"
        " where rolname like 'kb\\_%' order by 1"
    ).fetchall()

    assert rows == [
        ("kb_app", False, False, False, False),
        ("kb_owner", False, False, True, False),
    ]


def test_both_extensions_are_there(app):
    names = app.execute("select extname from pg_extension order by 1").fetchall()

    assert {("age",), ("vector",)} <= set(names)


def test_the_application_reads_and_writes_what_the_owner_makes(server, app):
    with as_owner(server) as owner:
        owner.execute("create table note (id int generated always as identity, text text)")

    app.execute("insert into note (text) values ('a'), ('b')")
    app.execute("update note set text = 'c' where id = 1")
    app.execute("delete from note where id = 2")

    assert app.execute("select id, text from note").fetchall() == [(1, "c")]


def test_the_application_may_do_nothing_else(server, app):
    with as_owner(server) as owner:
        owner.execute("create table note (id int)")

    for statement in FORBIDDEN:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(statement)


def test_preparing_again_changes_nothing(server, app):
    prepare(server.conninfo(), Plan("kb"))
    prepare(server.conninfo(), Plan("kb", **FIRST))

    assert app.execute("show search_path").fetchone() == ('"$user", public, ag_catalog',)


def test_four_processes_may_prepare_at_once(server):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: prepare(server.conninfo(), Plan("kb")), range(4)))

    assert query(server, "select 1", dbname="kb") == [(1,)]


def test_a_role_that_somebody_widened_is_narrowed_again(server, app):
    query(server, "alter role kb_app superuser bypassrls")

    prepare(server.conninfo(), Plan("another"))

    widened = "select rolsuper or rolbypassrls from pg_roles where rolname = 'kb_app'"
    assert query(server, widened) == [(False,)]


def test_passwords_are_kept_hashed_and_can_be_changed(server):
    prepare(server.conninfo(), Plan("kb", **FIRST))
    passwords = "select rolpassword from pg_authid where rolname in ('kb_app', 'kb_owner')"
    before = query(server, passwords)

    prepare(server.conninfo(), Plan("kb", **SECOND))

    after = query(server, passwords)
    assert all(password.startswith("SCRAM-SHA-256$") for (password,) in before + after)
    assert not set(before) & set(after)


def test_other_roles_may_not_connect(server, app):
    query(server, "create role stranger login password 'known'")
    conninfo = server.conninfo(dbname="kb", user="stranger") | {"password": "known"}

    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(make_conninfo(**conninfo))


def test_a_copy_has_the_tables_and_the_settings(server):
    prepare(server.conninfo(), Plan("kb"))
    query(server, "create table note (id int)", dbname="kb")

    clone(server.conninfo(), Plan("copy"), template="kb")

    assert query(server, "select count(*) from note", dbname="copy") == [(0,)]
    assert query(server, "show search_path", dbname="copy") == [('"$user", public, ag_catalog',)]


def test_a_database_is_dropped_even_while_somebody_is_connected(server):
    prepare(server.conninfo(), Plan("kb"))
    with psycopg.connect(make_conninfo(**server.conninfo(dbname="kb", user="kb_app"))):
        drop_database(server.conninfo(), "kb")
        drop_database(server.conninfo(), "kb")

    assert query(server, "select 1 from pg_database where datname = 'kb'") == []


def test_names_are_quoted_never_pasted(server):
    odd = 'k"b; drop database postgres'

    prepare(server.conninfo(), Plan(odd))

    assert query(server, "select current_database()", dbname=odd) == [(odd,)]
