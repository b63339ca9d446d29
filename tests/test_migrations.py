"""Migrations: complete, reversible, and named for what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.config import OWNER_ALIAS
from kb_project.database.prepare import Plan, drop_database, prepare
from kb_project.database.testing import server_for_tests

OURS = ("workspaces", "ingestion", "retrieval")
DATABASE = "kb_migrations"


@pytest.mark.django_db
def test_the_models_and_the_migrations_agree():
    out = StringIO()

    call_command("makemigrations", check=True, dry_run=True, stdout=out)

    assert "No changes detected" in out.getvalue()


def test_every_migration_is_named_for_what_it_does():
    names = [name for app, name in MigrationLoader(None).disk_migrations if app in OURS]

    assert names
    assert [name for name in names if re.search(r"auto_|_alter_|_remove_|\d{8}", name)] == []


def test_every_migration_can_be_undone():
    stuck = [
        f"{app}.{name}: {operation}"
        for (app, name), migration in MigrationLoader(None).disk_migrations.items()
        if app in OURS
        for operation in migration.operations
        if not operation.reversible
    ]

    assert stuck == []


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker) -> Iterator[embedded.Server]:
    """A prepared database without tables; the aliases lead to it for the length of a test."""
    server = server_for_tests()
    with django_db_blocker.unblock():
        drop_database(server.conninfo(), DATABASE)
        prepare(server.conninfo(), Plan(DATABASE))
        before = {alias: connections[alias].settings_dict["NAME"] for alias in connections}
        connections.close_all()
        for alias in before:
            connections[alias].settings_dict["NAME"] = DATABASE
        yield server
        connections.close_all()
        for alias, name in before.items():
            connections[alias].settings_dict["NAME"] = name
        drop_database(server.conninfo(), DATABASE)


def tables(server: embedded.Server) -> set[str]:
    conninfo = make_conninfo(**server.conninfo(dbname=DATABASE))
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in rows}


def migrate(app: str = "", name: str = "") -> None:
    words = [word for word in (app, name) if word]
    call_command("migrate", *words, verbosity=0, interactive=False)


@pytest.mark.slow
def test_forwards_backwards_and_forwards_again(empty_database: embedded.Server):
    migrate()
    made = tables(empty_database)
    for app in reversed(OURS):
        if app != "workspaces":
            migrate(app, "zero")
    undone = tables(empty_database)
    migrate()

    assert {"ingestion_chunkembedding", "ingestion_chunkembedding_rest"} <= made
    assert not any(name.startswith(("ingestion_", "retrieval_")) for name in undone)
    assert tables(empty_database) == made
    connection = connections[OWNER_ALIAS]
    with connection.cursor() as cursor:
        cursor.execute("SELECT func, cluster FROM django_q_schedule WHERE name = 'sweep'")
        assert cursor.fetchall() == [("ingestion.tasks.sweep", "main")]


# Of every workspace, whoever may see its rows: an answer, one without passages, one on its way.
GIVEN_BEFORE = """
SET session_replication_role = replica;
INSERT INTO retrieval_answer (workspace_id, id, question_id, is_supported, sentences, nearest,
                              trace, written_by, created_at)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), supported, '[]', nearest, trace,
       name, now()
  FROM (VALUES ('supported', true, '[]'::jsonb, '{"hits": 1}'::jsonb),
               ('near', false, '[{"chunk": "x"}]', '{"hits": 1}'),
               ('far', false, '[]', '{"hits": 1}'),
               ('queued', false, '[]', '{}')) AS given (name, supported, nearest, trace)
"""


@pytest.mark.slow
def test_answers_given_before_say_what_they_came_to(empty_database: embedded.Server):
    migrate("retrieval", "0008_sources_gone")
    conninfo = make_conninfo(**empty_database.conninfo(dbname=DATABASE))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(GIVEN_BEFORE)
        migrate("retrieval", "0009_outcome")
        rows = connection.execute("SELECT written_by, outcome FROM retrieval_answer").fetchall()
        forced = connection.execute(
            "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'retrieval_answer'"
        ).fetchone()

    assert dict(rows) == {
        "supported": "answered",
        "near": "unsure",
        "far": "nothing",
        "queued": "answered",
    }
    assert forced == (True,)
