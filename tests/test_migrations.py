"""Migrations: complete, reversible, and named for what they do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from psycopg import sql as pgsql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from ingestion.documents import lifecycle
from ingestion.history import queries as history_queries
from ingestion.history.recording import ChangeContext
from ingestion.models import Chunk, Document
from kb_project.database import embedded
from kb_project.database.prepare import Plan
from retrieval.models import Answer
from tests import databases
from tests.databases import drop_database, server_for_tests
from workspaces import access
from workspaces.models import Workspace

OURS = ("workspaces", "ingestion", "retrieval")
DATABASE = "kb_migrations"
# What `manage.py backup FILE --workspace` wrote at 7d66713, the last state before 0.1.0.
BEFORE = Path(__file__).parent / "data" / "workspace-before-0.1.zip"
OIL = (
    "Nia Holm measured the oil of the lantern in 1991. The Skarrow Trust bought it from Bo Strand."
)
ANSWERS_BEFORE = [
    (
        "Who keeps the light of Skarrow?",
        ["Ada Lind keeps the light of Skarrow."],
        ["Ada Lind keeps the light of Skarrow."],
    ),
    (
        "Who sells oil to Ada Lind?",
        ["Bo Strand sells oil to Ada Lind.", "The Skarrow Trust pays Ada Lind every Friday."],
        ["Bo Strand sells oil to Ada Lind.\n\nThe Skarrow Trust pays Ada Lind every Friday."],
    ),
]
HISTORY_BEFORE = [
    "Alice moved 'Boats' to the trash.",
    "Alice disabled 'oil'.",
    "Alice confirmed 'Bo Strand'.",
    "Alice merged 'Skarrow Trust Ltd' into 'Skarrow Trust'.",
    "Alice added 'storms.txt'.",
    "Alice added 'oil.txt'.",
    "Alice added 'keepers.md'.",
    "Alice added 'boats.md'.",
]
SINCE = {"ingestion_conflict", "ingestion_structurestate"}
LISTS = {"people.ndjson": "workspaces_user", "workspace_list.ndjson": "workspaces_workspace"}
# A workspace's backup holds no passwords.
NEW_PERSON = {
    "password": "",
    "is_superuser": False,
    "is_staff": False,
    "is_active": True,
    "date_joined": "2026-01-01T00:00:00Z",
}


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
def migrated_database(django_db_setup: None, django_db_blocker) -> Iterator[embedded.Server]:
    """A copy of the tests' template; the aliases lead to it for the length of a test."""
    server = server_for_tests()
    with django_db_blocker.unblock():
        with databases._alone(server):
            template = databases._template(server)
            drop_database(server.conninfo(), DATABASE)
            databases.clone(server.conninfo(), Plan(DATABASE), template=template)
            databases.let_app_be_owner(server)
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


# Answers of other workspaces: one with support, one with passages near, one without, one queued.
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


# One statement a table: its columns are those that the backup's rows have.
FILL = pgsql.SQL(
    "INSERT INTO {table} ({columns})"
    " SELECT {columns} FROM jsonb_populate_recordset(NULL::{table}, %s)"
)


def fill(connection: psycopg.Connection, path: Path) -> None:
    """Write a workspace's backup into tables of the version that made it, past all triggers."""
    with ZipFile(path) as file:
        for name in file.namelist():
            if name.endswith(".ndjson"):
                table = LISTS.get(name) or name.rpartition("/")[2].removesuffix(".ndjson")
                rows = [json.loads(line) for line in file.read(name).splitlines()]
                write_rows(connection, table, rows)


def write_rows(connection: psycopg.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    if table == "workspaces_user":
        rows = [{**NEW_PERSON, **row} for row in rows]
    if rows:
        columns = pgsql.SQL(", ").join(map(pgsql.Identifier, rows[0]))
        statement = FILL.format(table=pgsql.Identifier(table), columns=columns)
        connection.execute(statement, [Jsonb(rows)])


@pytest.mark.slow
def test_all_since_the_version_before_is_undone_and_done_again_and_its_workspace_reads_the_same(
    migrated_database: embedded.Server, media: object
):
    made = tables(migrated_database)
    with ZipFile(BEFORE) as file:
        states = json.loads(file.read("manifest.json"))["migrations"]
    for app in reversed(OURS):
        migrate(app, states[app][-1])
    assert made >= SINCE
    assert not SINCE & tables(migrated_database)

    conninfo = make_conninfo(**migrated_database.conninfo(dbname=DATABASE))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(GIVEN_BEFORE)
        fill(connection, BEFORE)
        migrate()
        others = connection.execute(
            "SELECT written_by, outcome FROM retrieval_answer AS a"
            " WHERE NOT EXISTS (SELECT FROM retrieval_question WHERE id = a.question_id)"
        ).fetchall()
        forced = connection.execute(
            "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'retrieval_answer'"
        ).fetchone()
        sweeps = connection.execute(
            "SELECT func, cluster FROM django_q_schedule WHERE name = 'sweep'"
        ).fetchall()

    assert tables(migrated_database) == made
    assert sweeps == [("ingestion.tasks.sweep", "main")]
    assert dict(others) == {
        "supported": "answered",
        "near": "unsure",
        "far": "nothing",
        "queued": "answered",
    }
    assert forced == (True,)
    workspace = Workspace.objects.get(name="Harbour")
    assert answers(workspace) == ANSWERS_BEFORE
    assert history(workspace) == HISTORY_BEFORE
    assert passages_of(workspace, "oil") == []
    enable(workspace, "oil")
    assert passages_of(workspace, "oil") == [OIL]


def answers(workspace: Workspace) -> list[tuple[str, list[str], list[str]]]:
    """Each question with the sentences of its answer and the quotes they rest on."""
    with access.in_workspace(workspace.pk):
        return [
            (
                answer.question.text,
                [sentence["text"] for sentence in answer.sentences],
                [citation.quote for citation in answer.citations.order_by("number")],
            )
            for answer in Answer.objects.in_workspace(workspace).order_by("created_at")
        ]


def history(workspace: Workspace) -> list[str]:
    with access.in_workspace(workspace.pk):
        events = list(history_queries.events(workspace=workspace))
        return [
            view.sentence for view in history_queries.event_views(workspace=workspace, rows=events)
        ]


def passages_of(workspace: Workspace, title: str) -> list[str]:
    with access.in_workspace(workspace.pk):
        chunks = Chunk.objects.in_workspace(workspace).filter(document__title=title)
        return [chunk.text for chunk in chunks]


def enable(workspace: Workspace, title: str) -> None:
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).get(title=title)
    lifecycle.documents_enable(change=ChangeContext(workspace, None), documents=[document])
