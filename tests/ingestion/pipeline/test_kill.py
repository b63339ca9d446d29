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
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kb_project.database import embedded
from kb_project.database.config import DATABASE
from kb_project.database.server import processes_in
from kb_project.env import child_environment
from tests.data_folders import make_migrated, new_root
from tests.ingestion.content import assert_same, content
from tests.ingestion.papers import write_papers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
LANES = ("main", "embedding", "refreshing")
PATIENCE = 180.0

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
        with self.connect() as connection:
            return connection.execute(statement, values).fetchall()

    def connect(self) -> psycopg.Connection:
        server = embedded.ensure(self.postgres)
        conninfo = make_conninfo(**server.conninfo(dbname=DATABASE))
        return psycopg.connect(conninfo, autocommit=True)

    def content(self) -> dict[str, list[tuple[Any, ...]]]:
        with self.connect() as connection:
            return content(connection)

    def empty(self) -> None:
        """Forget every document but keep the workspace, so that ids come out the same."""
        with self.connect() as connection:
            connection.execute("TRUNCATE ingestion_document, ingestion_entity CASCADE")
            connection.execute("TRUNCATE ingestion_community, ingestion_walksnapshot CASCADE")
            connection.execute("TRUNCATE ingestion_graphtombstone, django_q_ormq")
            # Emptying a table fires no trigger, so the counts of its rows are emptied with it.
            connection.execute("TRUNCATE ingestion_corpuscount, ingestion_clustering")
        self.manage("rebuildgraph", "--workspace", "papers")

    def ingest(self) -> None:
        self.manage("ingest", str(self.papers), "--workspace", "papers")

    def is_done(self) -> bool:
        return bool(self.query(IS_DONE)[0][0])

    def done(self, stage: str) -> int:
        return int(self.query(HOW_MANY, stage, "done")[0][0])

    def end(self) -> None:
        self.kill_workers()
        self.kill_postgres()
        self.log.close()

    def _environment(self) -> dict[str, str]:
        return child_environment(CONCORDANCE_DATA_DIR=str(self.data), EMBEDDER="fake")


def wait_for(happens: Callable[[], bool], *, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    folder = new_root("kb kill ")
    made = House(folder)
    try:
        make_migrated(made.data)
        made.manage("createworkspace", "Papers", "--slug", "papers")
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def calm(house: House) -> dict[str, list[tuple[Any, ...]]]:
    """What an undisturbed run leaves behind."""
    house.ingest()
    house.start_workers()
    wait_for(house.is_done)
    house.kill_workers()
    return house.content()


@pytest.fixture
def emptied(house: House, calm: dict[str, list[tuple[Any, ...]]]) -> Iterator[House]:
    house.empty()
    yield house
    house.kill_workers()


def test_a_calm_run_leaves_something_of_everything(calm: dict[str, list[tuple[Any, ...]]]):
    assert len(calm["documents"]) == 12
    assert {row[2] for row in calm["documents"]} == {"ready"}
    assert len(calm["vectors"]) == len(calm["chunks"]) >= 12
    assert all(rows for name, rows in calm.items() if name != "suggestions")


def test_workers_killed_in_the_middle_go_on_when_they_are_started_again(
    emptied: House, calm: dict[str, list[tuple[Any, ...]]]
):
    emptied.ingest()

    unfinished = []
    for stage, count in (("extract", 3), ("resolve", 7), ("describe", 1)):
        emptied.start_workers()
        wait_for(lambda stage=stage, count=count: emptied.done(stage) >= count)
        emptied.kill_workers()
        unfinished.append(not emptied.is_done())
    # On a busy machine, the last of them may come too late.
    assert any(unfinished)
    emptied.start_workers()
    wait_for(emptied.is_done)

    assert_same(emptied.content(), calm)
    emptied.manage("checkgraph", "--workspace", "papers")


def test_workers_go_on_by_themselves_after_the_database_was_killed(
    emptied: House, calm: dict[str, list[tuple[Any, ...]]]
):
    emptied.ingest()
    emptied.start_workers()

    for count in (3, 8):
        wait_for(lambda count=count: emptied.done("extract") >= count)
        emptied.kill_postgres()
    wait_for(emptied.is_done)

    assert_same(emptied.content(), calm)
    emptied.manage("checkgraph", "--workspace", "papers")


def test_one_process_of_a_worker_that_is_killed_is_replaced(
    emptied: House, calm: dict[str, list[tuple[Any, ...]]]
):
    emptied.ingest()
    emptied.start_workers()
    wait_for(lambda: emptied.done("extract") >= 3)

    [sentinel] = children_of(emptied.workers["main"].pid)
    busy, *_others = children_of(sentinel)
    os.kill(busy, signal.SIGKILL)
    wait_for(emptied.is_done)

    assert_same(emptied.content(), calm)


def test_nothing_of_a_worker_outlives_its_first_process(emptied: House):
    emptied.start_workers()
    first = emptied.workers["main"].pid
    wait_for(lambda: sum(map(len, map(children_of, children_of(first)))) >= 3)
    [sentinel] = children_of(first)
    family = [sentinel, *children_of(sentinel)]

    os.kill(first, signal.SIGKILL)

    wait_for(lambda: not any(is_running(pid) for pid in family), patience=10)


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
