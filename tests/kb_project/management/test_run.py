"""`manage.py run`: everything up, everything again after a kill, everything down."""

from __future__ import annotations

import http.client
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kb_project.database import embedded
from kb_project.database.embedded import running
from kb_project.database.server import processes_in
from kb_project.env import child_environment
from tests.kb_project.database.conftest import folder as folder, kill_all, new_folder
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PORT, OTHER_PORT = 18600, 18601
READY = r"is ready: +(http://\S+)"


class Run:
    """The command as a person starts it, and what it prints."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir
        self.process = start(data_dir, port)
        self.lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first new line that has the pattern."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                self.seen.append(self.lines.get(timeout=0.5))
            except queue.Empty:
                assert self.process.poll() is None, "".join(self.seen)
                continue
            found = re.search(pattern, self.seen[-1])
            if found:
                return found
        raise AssertionError(f"never said {pattern!r}:\n{''.join(self.seen)}")


def start(data_dir: Path, port: int) -> subprocess.Popen[str]:
    return command(data_dir, "run", "--no-demo", "--port", str(port))


def command(data_dir: Path, *words: str) -> subprocess.Popen[str]:
    environment = child_environment(CONCORDANCE_DATA_DIR=str(data_dir))
    return subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def migrated() -> Iterator[tuple[Path, str]]:
    """A folder with the database that a command made in it, and what the command said."""
    with new_folder() as data_dir:
        process = command(data_dir, "createworkspace", "Merrow Sound")
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        embedded.stop(data_dir / "postgres")
        yield data_dir, said


@dataclass(frozen=True)
class Served:
    """The product, started once for the tests that leave it running, and its address."""

    run: Run
    address: str


@pytest.fixture(scope="module")
def served(migrated: tuple[Path, str]) -> Iterator[Served]:
    data_dir, _ = migrated
    with running_on(data_dir, OTHER_PORT) as run:
        yield Served(run, run.wait_for(READY)[1])


@contextmanager
def running_on(data_dir: Path, port: int) -> Iterator[Run]:
    run = Run(data_dir, port)
    try:
        yield run
    finally:
        run.process.send_signal(signal.SIGTERM)
        try:
            run.process.wait(PATIENCE)
        finally:
            run.process.kill()


def status(address: str) -> int:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
    connection.request("GET", "/accounts/login/")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def web_process(run: Run) -> int:
    """The id of the web server: the child of the supervisor that serves."""
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text()
    for pid in children.split():
        if b"\0serve\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(pid)
    raise AssertionError("no web server")


def test_from_nothing_to_a_page_and_back_to_nothing(folder: Path):
    with running_on(folder, PORT) as run:
        address = run.wait_for(READY)[1]

        assert status(address) == 200
        assert running(run.data_dir / "postgres") is not None

        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(PATIENCE) == 0
        assert processes_in(run.data_dir / "postgres") == []


def test_web_server_and_database_come_back_after_kill_9(served: Served):
    run = served.run
    os.kill(web_process(run), signal.SIGKILL)
    run.wait_for(r"web was killed \(SIGKILL\); restarting it")
    assert status(served.address) == 200  # the request waits for the new process

    kill_all(run.data_dir / "postgres")
    run.wait_for(r"database \| died; restarted")
    assert status(served.address) == 200


def test_a_command_before_the_first_start_makes_the_database(migrated: tuple[Path, str]):
    _, said = migrated

    assert "Updating the database" in said
    assert "The workspace 'Merrow Sound' is at /w/merrow-sound/" in said


def test_a_second_start_names_the_first_one(served: Served):
    second = start(served.run.data_dir, OTHER_PORT)
    said, _ = second.communicate(timeout=PATIENCE)

    assert second.returncode == 1
    assert f"already running here: {served.address}" in said
