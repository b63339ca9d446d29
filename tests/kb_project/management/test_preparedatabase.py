"""`manage.py preparedatabase`: a Postgres of one's own, made ready over the network or a socket."""

from __future__ import annotations

from io import StringIO
from urllib.parse import urlencode

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from tests.kb_project.database.conftest import (
    cluster as cluster,
    folder as folder,
    initialised as initialised,
    query,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def server(initialised) -> embedded.Server:
    return embedded.ensure(initialised / "data")


@pytest.fixture
def remote(monkeypatch) -> None:
    """Settings as DATABASE_URL and DATABASE_OWNER_URL make them."""
    common = {"NAME": "theirs", "OPTIONS": {}, "HOST": "db.test"}
    app = common | {"USER": "their_app", "PASSWORD": "one"}
    owner = common | {"USER": "their_owner", "PASSWORD": "two"}
    monkeypatch.setitem(settings.DATABASES, "default", app)
    monkeypatch.setitem(settings.DATABASES, "owner", owner)


def superuser_url(server: embedded.Server) -> str:
    options = {"host": str(server.socket_dir), "passfile": str(server.passfile)}
    return f"postgres://postgres@/postgres?{urlencode(options)}"


def test_it_makes_the_roles_and_the_database_that_the_settings_name(server, remote):
    out = StringIO()

    call_command("preparedatabase", superuser_url=superuser_url(server), stdout=out)
    call_command("preparedatabase", superuser_url=superuser_url(server), stdout=out)

    assert "theirs is ready for their_owner and their_app" in out.getvalue()
    app = server.conninfo(dbname="theirs", user="their_app") | {"password": "one"}
    conninfo = make_conninfo(**app)
    with psycopg.connect(conninfo) as app:
        assert app.execute("show hnsw.iterative_scan").fetchone() == ("relaxed_order",)
    owner = "select pg_get_userbyid(datdba) from pg_database where datname = 'theirs'"
    assert query(server, owner) == [("their_owner",)]


def test_the_superuser_may_come_from_the_environment(server, remote, monkeypatch):
    monkeypatch.setenv("DATABASE_SUPERUSER_URL", superuser_url(server))

    call_command("preparedatabase", stdout=StringIO())

    assert query(server, "select 1", dbname="theirs") == [(1,)]


def test_without_a_superuser_it_says_what_is_missing(remote):
    with pytest.raises(CommandError, match="DATABASE_SUPERUSER_URL"):
        call_command("preparedatabase")


def test_a_server_that_is_not_there_is_said_in_one_sentence(remote):
    with pytest.raises(CommandError, match="cannot be reached"):
        call_command("preparedatabase", superuser_url="postgres://x@/y?host=/nowhere")


def test_the_bundled_server_needs_no_preparing():
    with pytest.raises(CommandError, match="needs no preparation"):
        call_command("preparedatabase", superuser_url="postgres://x@/y?host=/nowhere")
