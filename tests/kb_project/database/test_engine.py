"""Django's way to the bundled server: lazily, and again after a crash."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

from kb_project.database import config
from kb_project.database.config import database_settings
from kb_project.database.embedded import Server, running
from kb_project.database.engine import base as engine
from kb_project.database.engine.base import DatabaseWrapper
from tests.kb_project.database.conftest import kill_all

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def connections(folder: Path, django_db_blocker) -> Iterator[ConnectionHandler]:
    databases = database_settings(folder)
    with django_db_blocker.unblock():
        handler = ConnectionHandler(databases)
        yield handler
        for connection in handler.all():
            connection.close()


@pytest.fixture
def pooled(folder: Path, django_db_blocker, monkeypatch) -> Iterator[Any]:
    monkeypatch.setenv("DATABASE_POOL", "true")
    databases = database_settings(folder)
    with django_db_blocker.unblock():
        connection: Any = ConnectionHandler(databases)["default"]
        yield connection
        connection.close()
        connection.close_pool()


def one(connection: DatabaseWrapper, statement: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


def test_the_first_connection_makes_server_roles_and_database(connections, folder):
    assert running(folder / "postgres") is None

    assert one(connections["default"], "select current_user") == "kb_app"
    assert one(connections["owner"], "select current_user") == "kb_owner"
    assert one(connections["default"], "select current_database()") == config.DATABASE


def test_settings_and_checks_start_no_server(folder):
    checked = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "CONCORDANCE_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stderr
    assert not (folder / "postgres").exists()


def test_after_a_crash_the_next_connection_starts_the_server(connections, folder):
    connection = connections["default"]
    one(connection, "select 1")
    kill_all(folder / "postgres")

    with pytest.raises(OperationalError):
        one(connection, "select 1")
    connection.close()

    assert one(connection, "select 1") == 1


def test_a_pool_connects_as_the_application_too(pooled):
    assert one(pooled, "select current_user") == "kb_app"


def test_after_a_crash_a_pool_starts_the_server_as_well(pooled, folder):
    one(pooled, "select 1")
    pooled.close()
    kill_all(folder / "postgres")

    assert one(pooled, "select 1") == 1


def test_a_pool_starts_its_own_server_and_no_other(pooled, folder, connections):
    other = folder / "other"
    engine._servers[other] = Server(other, other)
    one(pooled, "select 1")
    pooled.close()
    kill_all(folder / "postgres")

    assert one(pooled, "select 1") == 1
    assert not other.exists()
    del engine._servers[other]


def test_values_are_bound_by_the_server_as_graph_queries_demand(connections):
    with connections["owner"].cursor() as cursor:
        cursor.execute("select ag_catalog.create_graph('kb_bound')")
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "select * from ag_catalog.cypher('kb_bound', $$ return $name $$, %s)"
            " as (name ag_catalog.agtype)",
            ['{"name": "Ada"}'],
        )

        assert cursor.fetchone()[0] == '"Ada"'
