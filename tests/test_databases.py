"""Test databases: copied from a template, gone afterwards, never mixed up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connections

from ingestion.documents import lifecycle
from ingestion.health import services as health
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, Entity
from kb_project.database import embedded
from kb_project.database.config import OWNER_ALIAS
from kb_project.database.engine.base import DATA
from kb_project.database.prepare import Plan, connect, prepare
from tests import data_folders, databases, rows
from tests.databases import create_test_database, destroy_test_database, server_for_tests
from tests.ingestion import state
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def server(django_db_setup, django_db_blocker) -> Iterator[embedded.Server]:
    """The tests' server; afterwards both aliases lead where they led before."""
    before = {alias: dict(connections[alias].settings_dict) for alias in ("default", OWNER_ALIAS)}
    with django_db_blocker.unblock():
        yield server_for_tests()
        connections.close_all()
    for alias, settings in before.items():
        connections[alias].settings_dict.update(settings)


def names(server: embedded.Server) -> set[str]:
    with connect(server.conninfo()) as connection:
        return {row[0] for row in connection.execute("select datname from pg_database")}


def test_the_server_is_not_the_one_with_a_persons_data(server, settings):
    bundled = settings.DATA_DIR / "postgres"

    assert server.data_dir != bundled.resolve()
    assert connections["default"].settings_dict["OPTIONS"][DATA] == str(server.data_dir)


def test_a_database_is_a_migrated_copy_and_goes_when_it_is_destroyed(server):
    name = create_test_database(server, "copytry")

    with connections["default"].cursor() as cursor:
        cursor.execute("select current_database(), count(*) from django_migrations")
        assert cursor.fetchone() == (name, _migrations_applied(server, name))
    assert name in names(server)
    destroy_test_database(server, name)
    assert name not in names(server)


def _migrations_applied(server: embedded.Server, name: str) -> int:
    with connect(server.conninfo(), database=name) as connection:
        row = connection.execute("select count(*) from django_migrations").fetchone()
    assert row is not None
    assert row[0] > 0
    return int(row[0])


def test_databases_of_killed_test_runs_are_dropped_and_of_living_ones_kept(server):
    dead, living = "kb_test_4194304_gw0", "kb_test_1_gw0"
    # Another process of this run that makes its database now would drop the dead one half made.
    with databases._alone(server):
        prepare(server.conninfo(), Plan(dead))
    prepare(server.conninfo(), Plan(living))

    destroy_test_database(server, create_test_database(server, "orphantry"))

    assert dead not in names(server)
    assert living in names(server)
    destroy_test_database(server, living)


def test_a_changed_migration_makes_another_template(monkeypatch):
    before = data_folders.migrations_digest()
    monkeypatch.setattr(data_folders, "_source", lambda module: b"changed")

    assert data_folders.migrations_digest() != before


@pytest.mark.django_db(transaction=True)
def test_rows_of_every_tenant_are_gone_once_tables_are_emptied():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Ada Lind keeps the light of Skarrow.")

    databases.empty_tables()

    assert not User.objects.exists()
    assert not Workspace.objects.exists()
    with access.in_workspace(cast.workspace.pk):
        assert not Document.objects.in_workspace(cast.workspace).exists()
    assert ContentType.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("fake_embedder", "media")
def test_rows_that_were_kept_are_put_back_as_they_were_with_their_graph():
    workspace = rows.make_workspace()
    log = state.read(workspace)["Log"]
    before = state.ids(workspace)
    kept = databases.keep_rows()
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).update(name="Changed")
    lifecycle.documents_trash(change=ChangeContext(workspace, None), documents=[log])
    state.settled(workspace)
    databases.empty_tables()

    databases.put_back(kept)
    databases.forget_rows()

    assert state.ids(workspace) == before
    report = health.check(workspace.pk, is_deep=True)
    assert report.is_settled, str(report)
