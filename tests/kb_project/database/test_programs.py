"""Started by root, the server becomes an ordinary account, wherever the checkout lies."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from kb_project.database import server as bundled
from kb_project.database.embedded import delete, ensure, stop
from kb_project.database.server import Account, place_for, processes_in, server_account
from kb_project.errors import UnavailableError
from tests.kb_project.database.conftest import query

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account"),
]


@pytest.fixture
def private(folder: Path) -> Path:
    """A folder only root may pass through, like one below /root."""
    inside = folder / "private"
    inside.mkdir(mode=0o700)
    return inside


@pytest.fixture
def state_dir(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = folder / "state"
    monkeypatch.setattr(bundled, "STATE_DIR", state)
    return state


def test_the_server_does_not_run_as_root(initialised):
    server = ensure(initialised / "data")

    owners = {Path(f"/proc/{pid}").stat().st_uid for pid in processes_in(server.data_dir)}
    assert owners == {server.data_dir.stat().st_uid}
    assert 0 not in owners


def test_an_ordinary_user_stays_who_they_are(folder):
    """In a child that gave up root for good."""
    home = folder / "home"
    home.mkdir()
    ordinary = server_account(folder / "data")
    assert ordinary is not None
    ordinary.own(home)
    child = os.fork()
    if child == 0:
        os._exit(_as_ordinary_user(ordinary, home))

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert (home / "data").stat().st_uid == ordinary.uid
    assert stop(home / "data")


def _as_ordinary_user(ordinary: Account, home: Path) -> int:
    os.setgroups([])
    os.setgid(ordinary.gid)
    os.setuid(ordinary.uid)
    server = ensure(home / "data")
    return 0 if query(server, "select 1") == [(1,)] and server_account(home) is None else 1


def test_data_that_exists_keeps_its_owner(folder):
    data = folder / "data"
    data.mkdir()
    os.chown(data, 12345, 12345)

    assert server_account(data) == Account(12345, 12345)


def test_a_checkout_root_alone_can_reach_works_with_its_data_elsewhere(private, state_dir):
    server = ensure(private / "data")

    assert (private / "data").is_symlink()
    assert server.data_dir.parent == state_dir
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert query(server, "select 1") == [(1,)]
    assert stop(private / "data")
    assert query(ensure(private / "data"), "select 1") == [(1,)]


def test_deleting_the_data_deletes_it_where_it_really_lies(private, state_dir):
    server = ensure(private / "data")

    delete(private / "data")

    assert processes_in(server.data_dir) == []
    assert list(private.iterdir()) == list(state_dir.glob("data-*")) == []


def test_a_new_checkout_at_an_old_path_starts_empty(private, state_dir):
    first = ensure(private / "data")
    query(first, "create table old (id int)")
    stop(private / "data")
    (private / "data").unlink()

    second = ensure(private / "data")

    assert second.data_dir != first.data_dir
    assert query(second, "select count(*) from pg_tables where tablename = 'old'") == [(0,)]
    stop(private / "data")


def test_programs_the_account_cannot_reach_are_copied_once(private, state_dir, monkeypatch):
    site = private / "site-packages"
    original = bundled.installed()
    shutil.copytree(original, site / "pgserver" / "pginstall")
    shutil.copytree(original.parent.parent / bundled.LIBRARIES, site / bundled.LIBRARIES)
    monkeypatch.setattr(bundled, "installed", lambda: site / "pgserver" / "pginstall")

    server = ensure(private / "data")

    (copy,) = [path for path in state_dir.iterdir() if path.name.startswith("postgres-")]
    executable = Path(f"/proc/{processes_in(server.data_dir)[0]}/exe").readlink()
    assert executable.is_relative_to(copy)
    made = copy.stat().st_ctime
    stop(private / "data")
    ensure(private / "data")
    assert copy.stat().st_ctime == made
    stop(private / "data")


def test_existing_data_out_of_reach_is_named_and_left_alone(private):
    data = private / "data"
    data.mkdir()
    somebody = server_account(private)

    assert somebody is not None
    with pytest.raises(UnavailableError, match="cannot access"):
        place_for(data, somebody)
    assert list(data.iterdir()) == []
