"""The bundled server trusts nobody: without the file of passwords, no role gets in."""

from __future__ import annotations

import stat
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.embedded import ensure, stop
from kb_project.database.server import ACCESS, ROLES
from tests.kb_project.database.conftest import query

pytestmark = pytest.mark.slow


def connect(server: embedded.Server, role: str, **changes: str) -> psycopg.Connection:
    return psycopg.connect(make_conninfo(**(server.conninfo(user=role) | changes)))


def require_closed(server: embedded.Server) -> None:
    for role in ROLES:
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            connect(server, role, passfile="/nowhere")


def test_each_role_comes_in_with_its_own_password_and_with_no_other(folder):
    server = ensure(folder / "data")
    lines = server.passfile.read_text().splitlines()
    passwords = {line.split(":")[3]: line.split(":")[4] for line in lines}

    require_closed(server)
    assert set(passwords) == set(ROLES)
    for role in ROLES:
        with connect(server, role) as connection:
            assert connection.execute("select current_user").fetchone() == (role,)
    for password in (passwords["kb_app"], ""):
        with pytest.raises(psycopg.OperationalError, match="password"):
            connect(server, "postgres", passfile="/nowhere", password=password)


def test_only_the_servers_account_can_read_the_passwords(folder):
    server = ensure(folder / "data")

    lines = server.passfile.read_text().splitlines()
    status = server.passfile.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_uid == server.data_dir.stat().st_uid
    assert len({line.rpartition(":")[2] for line in lines}) == len(ROLES)


def test_a_folder_that_trusted_everybody_is_closed_at_its_next_start(initialised):
    server = ensure(initialised / "data")
    query(server, "create table kept as select 7 as id")
    query(server, "drop role kb_app")
    query(server, "alter role kb_owner password null")
    stop(initialised / "data")
    server.passfile.unlink()
    (server.data_dir / "pg_hba.conf").write_text("local all all trust\n")

    server = ensure(initialised / "data")

    require_closed(server)
    assert (server.data_dir / "pg_hba.conf").read_text() == ACCESS
    assert query(server, "select id from kept") == [(7,)]
    with connect(server, "kb_app") as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_server_whose_passwords_were_lost_is_replaced_and_gets_new_ones(initialised):
    server = ensure(initialised / "data")
    query(server, "create table kept as select 7 as id")
    old = server.passfile.read_text()
    server.passfile.unlink()

    server = ensure(initialised / "data")

    assert server.passfile.read_text() != old
    assert query(server, "select id from kept") == [(7,)]


def test_the_server_inherits_no_secret(initialised, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "not to be seen")
    server = ensure(initialised / "data")
    postmaster = embedded.postmaster_pid(server)

    assert b"not to be seen" not in Path(f"/proc/{postmaster}/environ").read_bytes()
