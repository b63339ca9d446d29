"""The bundled server, really started and really killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.embedded import ensure, postmaster_pid, running, stop
from kb_project.database.server import is_alive, processes_in
from kb_project.errors import UnavailableError
from tests.kb_project.database.conftest import Row, kill_all, query
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
ENSURE = """
import sys
from pathlib import Path
from kb_project.database.embedded import ensure
print(ensure(Path(sys.argv[1])).socket_dir)
"""


def ensure_elsewhere(data: Path) -> subprocess.Popen[str]:
    """``ensure`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE, str(data)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def with_a_row(data: Path) -> embedded.Server:
    server = ensure(data)
    query(server, "create table kept (id int)")
    query(server, "insert into kept values (7)")
    return server


def rows(server: embedded.Server) -> list[Row]:
    return query(server, "select id from kept")


def test_six_processes_at_once_get_one_server(folder):
    starters = [ensure_elsewhere(folder / "data") for _ in range(6)]
    answers = [starter.communicate(timeout=PATIENCE)[0].strip() for starter in starters]

    server = running(folder / "data")
    assert server is not None
    assert answers == [str(server.socket_dir)] * 6
    assert [starter.returncode for starter in starters] == [0] * 6


def test_threads_of_one_process_get_one_server_too(folder):
    with ThreadPoolExecutor(4) as pool:
        servers = set(pool.map(ensure, [folder / "data"] * 4))

    assert len(servers) == 1


def test_asking_for_a_server_that_does_not_run_starts_nothing(folder):
    assert running(folder / "data") is None
    assert not (folder / "data").exists()


def test_a_second_start_finds_the_first_one(initialised):
    first = ensure(initialised / "data")
    pid = postmaster_pid(first)

    assert ensure(initialised / "data") == first
    assert postmaster_pid(first) == pid


def test_rows_survive_when_every_process_is_killed(initialised):
    with_a_row(initialised / "data")
    kill_all(initialised / "data")

    assert running(initialised / "data") is None
    assert rows(ensure(initialised / "data")) == [(7,)]


def test_rows_survive_when_the_postmaster_alone_is_killed(initialised):
    server = with_a_row(initialised / "data")
    os.kill(postmaster_pid(server), signal.SIGKILL)

    assert rows(ensure(initialised / "data")) == [(7,)]


def test_a_killed_backend_does_not_keep_anyone_out(initialised):
    server = with_a_row(initialised / "data")
    with psycopg.connect(make_conninfo(**server.conninfo())) as victim:
        pid = victim.info.backend_pid
        os.kill(pid, signal.SIGKILL)
        # Until the postmaster has reaped it, it lets connections in and then throws them out.
        wait_until(lambda: not psutil.pid_exists(pid))

    assert rows(ensure(initialised / "data")) == [(7,)]


def test_a_pid_file_that_names_another_process_is_not_believed(initialised):
    server = with_a_row(initialised / "data")
    kill_all(server.data_dir)
    pid_file = server.data_dir / "postmaster.pid"
    with (
        subprocess.Popen(["/bin/sleep", "6000"]) as bystander,
        contextlib.ExitStack() as at_the_end,
    ):
        at_the_end.callback(bystander.kill)
        lines = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")

        assert rows(ensure(initialised / "data")) == [(7,)]
        stop(initialised / "data")

        assert is_alive(bystander.pid)


def test_a_socket_left_behind_does_not_keep_the_server_from_starting(initialised):
    server = with_a_row(initialised / "data")
    kill_all(server.data_dir)
    assert (server.socket_dir / ".s.PGSQL.5432.lock").exists()

    assert rows(ensure(initialised / "data")) == [(7,)]


def test_killed_while_being_made_it_is_made_again(folder):
    starter = ensure_elsewhere(folder / "data")
    wait_until(lambda: list(folder.glob("data.init-*/PG_VERSION")), every=0.005)
    # Its initdb goes with it: left alone, that one would write into its folder for a while yet.
    making = psutil.Process(starter.pid).children(recursive=True)
    starter.kill()
    for process in making:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    starter.communicate()
    wait_until(lambda: not any(is_alive(process.pid) for process in making))
    assert not (folder / "data").exists()

    server = ensure(folder / "data")

    assert query(server, "select 1") == [(1,)]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "data.lock"]


def test_two_projects_side_by_side_do_not_meet(folder):
    one, two = ensure(folder / "one"), ensure(folder / "two")
    query(one, "create table only_in_one (id int)")

    assert one.socket_dir != two.socket_dir
    tables = "select tablename from pg_tables where tablename = 'only_in_one'"
    assert query(one, tables) == [("only_in_one",)]
    assert query(two, tables) == []


def test_a_copied_folder_is_a_server_of_its_own(initialised):
    with_a_row(initialised / "data")
    stop(initialised / "data")
    shutil.copytree(initialised / "data", initialised / "copy")
    for path in [initialised / "copy", *(initialised / "copy").rglob("*")]:
        shutil.chown(path, *_owner(initialised / "data"))

    original, copy = ensure(initialised / "data"), ensure(initialised / "copy")
    query(copy, "insert into kept values (8)")

    assert rows(original) == [(7,)]
    assert rows(copy) == [(7,), (8,)]


def _owner(path: Path) -> tuple[int, int]:
    return path.stat().st_uid, path.stat().st_gid


def test_a_folder_renamed_while_its_server_runs_is_served_from_its_new_place(initialised):
    with_a_row(initialised / "data")
    (initialised / "data").rename(initialised / "moved")

    server = ensure(initialised / "moved")

    assert rows(server) == [(7,)]
    query(server, "checkpoint")
    assert query(server, "show data_directory") == [(str(initialised / "moved"),)]


def test_a_server_whose_folder_was_deleted_is_not_taken_for_the_new_one(initialised):
    old = with_a_row(initialised / "data")
    pids = processes_in(old.data_dir)
    shutil.rmtree(initialised / "data")

    new = ensure(initialised / "data")

    assert query(new, "select count(*) from pg_tables where tablename = 'kept'") == [(0,)]
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(old.socket_dir, ignore_errors=True)


def test_changed_settings_hold_from_the_next_start(initialised):
    first = ensure(initialised / "data", conf={"max_connections": "33"})
    assert query(first, "show max_connections") == [("33",)]
    stop(initialised / "data")

    second = ensure(
        initialised / "data", conf={"max_connections": "44", "shared_buffers": "'144MB'"}
    )

    assert query(second, "show max_connections") == [("44",)]
    assert query(second, "show shared_buffers") == [("144MB",)]


def test_settings_that_postgres_refuses_are_shown_with_its_reason(folder):
    with pytest.raises(UnavailableError, match="max_connections"):
        ensure(folder / "data", conf={"max_connections": "'many'"})

    assert query(ensure(folder / "data"), "select 1") == [(1,)]


def test_stopping_ends_every_process_and_says_whether_there_was_one(initialised):
    server = ensure(initialised / "data")

    assert stop(initialised / "data") is True
    assert processes_in(server.data_dir) == []
    assert not server.socket_dir.exists()
    assert stop(initialised / "data") is False


def test_a_server_in_use_can_be_left_running(initialised):
    server = ensure(initialised / "data")

    with psycopg.connect(make_conninfo(**server.conninfo())):
        assert stop(initialised / "data", only_if_idle=True) is False
    assert running(initialised / "data") == server


def test_nobody_else_can_reach_the_socket(initialised):
    server = ensure(initialised / "data")

    status = server.socket_dir.stat()
    assert status.st_mode & 0o777 == 0o700
    assert status.st_uid == server.data_dir.stat().st_uid
    assert query(server, "show listen_addresses") == [("",)]


def test_a_socket_folder_of_somebody_else_is_refused(initialised):
    server = ensure(initialised / "data")
    stop(initialised / "data")
    server.socket_dir.symlink_to("/etc")

    try:
        with pytest.raises(UnavailableError, match="belongs to another account"):
            ensure(initialised / "data")
    finally:
        server.socket_dir.unlink()


def test_rows_and_statements_stay_out_of_the_log(initialised):
    server = ensure(initialised / "data")
    query(server, "create table words (word text primary key)")
    query(server, "insert into words values ('confidential')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(server, "insert into words values ('confidential')")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        query(server, "select 'unspeakable' from words where 'x' = any('{' )")
    stop(initialised / "data")

    log = "".join(path.read_text() for path in (server.data_dir / "log").iterdir())
    assert "duplicate key" in log
    assert "confidential" not in log
    assert "unspeakable" not in log


def test_both_extensions_are_in_the_bundled_server(initialised):
    server = ensure(initialised / "data")

    names = "select name from pg_available_extensions where name in ('age', 'vector') order by 1"
    assert query(server, names) == [("age",), ("vector",)]
    assert query(server, "show shared_preload_libraries") == [("age",)]


def test_a_zombie_is_not_a_living_process(folder):
    with subprocess.Popen(["/bin/true"]) as child:
        wait_until(lambda: not is_alive(child.pid))
    assert processes_in(folder) == []


def test_a_server_that_recovers_slowly_is_waited_for_and_left_alone(initialised, monkeypatch):
    server = with_a_row(initialised / "data")
    pid = postmaster_pid(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(embedded, "SECONDS_TO_CONNECT", 1)
            with pytest.raises(UnavailableError, match="does not answer"):
                ensure(initialised / "data", patience=0.5)
        assert (server.data_dir / "postmaster.pid").exists()
    finally:
        os.kill(pid, signal.SIGCONT)

    assert ensure(initialised / "data") == server


def test_a_process_of_low_priority_lets_another_one_start_the_server(folder):
    """Or the server, and with it every page, would run at that low priority."""
    patient = subprocess.Popen(
        ["nice", "-n", "10", sys.executable, "-c", ENSURE, str(folder / "data")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(1)
    server = ensure(folder / "data")

    assert patient.communicate(timeout=PATIENCE)[0].strip() == str(server.socket_dir)
    postmaster = postmaster_pid(server)
    assert os.getpriority(os.PRIO_PROCESS, postmaster) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_process_of_low_priority_starts_it_where_nobody_else_does(initialised, monkeypatch):
    monkeypatch.setattr(embedded, "SECONDS_FOR_OTHERS", 0.1)
    monkeypatch.setattr(os, "getpriority", lambda which, who: 10)

    assert query(ensure(initialised / "data"), "select 1") == [(1,)]
