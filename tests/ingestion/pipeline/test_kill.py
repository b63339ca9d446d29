"""kill -9 in the middle of an ingest: it completes by itself, with the rows of a calm run.

There is no web server in these tests: workers and their stages need none.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.config import DATABASE
from kb_project.database.prepare import Plan
from kb_project.database.server import processes_in
from kb_project.env import child_environment
from tests.data_folders import make_migrated, new_root
from tests.databases import clone, drop_database
from tests.ingestion.content import assert_same, content
from tests.ingestion.papers import write_papers
from tests.patience import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
LANES = ("main", "embedding", "refreshing")
KEPT = "kept"

IS_DONE: LiteralString = """
SELECT (SELECT count(*) FROM ingestion_ingestionjob WHERE state IN ('pending', 'running')) = 0
   AND (SELECT count(*) FROM ingestion_ingestionjob WHERE kind = 'workspace') > 0
   AND (SELECT count(*) FROM ingestion_document WHERE state <> 'ready') = 0
"""
HOW_MANY: LiteralString = "SELECT count(*) FROM ingestion_stagerun WHERE stage = %s AND state = %s"


class House:
    """A database server, workers, and the commands of a person, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "var"
        self.data.mkdir()
        self.papers = folder / "papers"
        write_papers(self.papers, 12)
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._connection: psycopg.Connection | None = None
        self.log = (folder / "workers.log").open("ab")

    @property
    def postgres(self) -> Path:
        return self.data / "postgres"

    def manage(self, *words: str) -> None:
        command = [sys.executable, "manage.py", *words]
        subprocess.run(
            command, cwd=ROOT, env=self._environment(), check=True, stdout=self.log, stderr=self.log
        )

    def start_workers(self) -> None:
        for lane in LANES:
            self.workers[lane] = subprocess.Popen(
                [sys.executable, "manage.py", "worker", "--lane", lane],
                cwd=ROOT,
                env=self._environment(),
                stdout=self.log,
                stderr=self.log,
                process_group=0,
            )

    def kill_workers(self) -> None:
        """All of their processes at once, as a machine that loses power would."""
        for worker in self.workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        self.workers.clear()

    def kill_postgres(self) -> None:
        for pid in processes_in(self.postgres):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def query(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        return self.connected().execute(statement, values).fetchall()

    def connected(self) -> psycopg.Connection:
        """The connection kept for looking, or another one when the server was killed."""
        with contextlib.suppress(psycopg.OperationalError):
            if self._connection is not None:
                self._connection.execute("SELECT")
        if self._connection is None or self._connection.closed:
            server = embedded.ensure(self.postgres)
            conninfo = make_conninfo(**server.conninfo(dbname=DATABASE))
            self._connection = psycopg.connect(conninfo, autocommit=True)
        return self._connection

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def content(self) -> dict[str, list[tuple[Any, ...]]]:
        return content(self.connected())

    def keep(self) -> None:
        """Keep a copy of the database as it is, to begin with again."""
        self.disconnect()
        clone(embedded.ensure(self.postgres).conninfo(), Plan(KEPT), template=DATABASE)

    def begin_again(self) -> None:
        """With the same rows, so that ids come out the same."""
        self.disconnect()
        superuser = embedded.ensure(self.postgres).conninfo()
        drop_database(superuser, DATABASE)
        clone(superuser, Plan(DATABASE), template=KEPT)

    def ingest(self) -> None:
        self.manage("ingest", str(self.papers), "--workspace", "papers")

    def is_done(self) -> bool:
        return bool(self.query(IS_DONE)[0][0])

    def done(self, stage: str) -> int:
        return int(self.query(HOW_MANY, stage, "done")[0][0])

    def end(self) -> None:
        self.disconnect()
        self.kill_workers()
        self.kill_postgres()
        self.log.close()

    def _environment(self) -> dict[str, str]:
        return child_environment(CONCORDANCE_DATA_DIR=str(self.data), EMBEDDER="fake")


@pytest.fixture(scope="module")
def built() -> Iterator[House]:
    folder = new_root("kb kill ")
    made = House(folder)
    try:
        make_migrated(made.data)
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def calm(built: House) -> dict[str, list[tuple[Any, ...]]]:
    """What an undisturbed run leaves behind."""
    built.ingest()
    built.keep()
    built.start_workers()
    wait_until(built.is_done)
    built.kill_workers()
    return built.content()


@pytest.fixture
def house(built: House) -> Iterator[House]:
    yield built
    built.kill_workers()


@pytest.fixture
def waiting(house: House, calm: dict[str, list[tuple[Any, ...]]]) -> House:
    """The papers were added, and nothing has been done yet."""
    house.begin_again()
    return house


def test_a_calm_run_leaves_something_of_everything(calm: dict[str, list[tuple[Any, ...]]]):
    assert len(calm["documents"]) == 12
    assert {row[2] for row in calm["documents"]} == {"ready"}
    assert len(calm["vectors"]) == len(calm["chunks"]) >= 12
    assert all(rows for name, rows in calm.items() if name != "suggestions")


def test_workers_killed_in_the_middle_go_on_when_they_are_started_again(
    waiting: House, calm: dict[str, list[tuple[Any, ...]]]
):
    unfinished = []
    for stage, count in (("extract", 3), ("resolve", 7), ("describe", 1)):
        waiting.start_workers()
        wait_until(lambda stage=stage, count=count: waiting.done(stage) >= count)
        waiting.kill_workers()
        unfinished.append(not waiting.is_done())
    # On a busy machine, the last of them may come too late.
    assert any(unfinished)
    waiting.start_workers()
    wait_until(waiting.is_done)

    assert_same(waiting.content(), calm)
    waiting.manage("checkgraph", "--workspace", "papers")


def test_workers_go_on_by_themselves_after_one_of_their_processes_and_the_database_were_killed(
    waiting: House, calm: dict[str, list[tuple[Any, ...]]]
):
    waiting.start_workers()
    wait_until(lambda: waiting.done("extract") >= 3)

    [sentinel] = children_of(waiting.workers["main"].pid)
    busy, *_others = children_of(sentinel)
    os.kill(busy, signal.SIGKILL)
    wait_until(lambda: not is_running(sentinel))  # all of them are replaced
    for stage, count in (("resolve", 8), ("describe", 1)):
        wait_until(lambda stage=stage, count=count: waiting.done(stage) >= count)
        waiting.kill_postgres()
    wait_until(waiting.is_done)

    assert_same(waiting.content(), calm)
    waiting.manage("checkgraph", "--workspace", "papers")


def test_nothing_of_a_worker_outlives_its_first_process(house: House):
    house.start_workers()
    first = house.workers["main"].pid
    wait_until(lambda: sum(map(len, map(children_of, children_of(first)))) >= 3)
    [sentinel] = children_of(first)
    family = [sentinel, *children_of(sentinel)]

    os.kill(first, signal.SIGKILL)

    wait_until(lambda: not any(is_running(pid) for pid in family))


def children_of(pid: int) -> list[int]:
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(child) for child in listed.split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
