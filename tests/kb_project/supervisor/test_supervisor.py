"""Real parts, really killed: what crashes is started again and said; what is stopped stops."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_project.database.server import is_alive
from kb_project.supervisor.supervisor import Part, Supervisor, delay_before
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PYTHON = (sys.executable, "-S", "-c")
# Says its id and that of a child, then waits.
WITH_A_CHILD = """
import os, subprocess, time
child = subprocess.Popen(["/bin/sleep", "6000"])
print("pids", os.getpid(), child.pid, flush=True)
time.sleep(6000)
"""
DEAF = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("pids", os.getpid(), flush=True)
time.sleep(6000)
"""
SUPERVISE = """
import sys
from kb_project.supervisor import supervisor as module
from kb_project.supervisor.startup import Console
from kb_project.supervisor.supervisor import Part, Supervisor, stopped_by_signals
module.SECONDS_TO_STOP = 60_000  # no part has to be killed
parts = [Part(name, (sys.executable, "-S", "-c", sys.argv[1])) for name in ("one", "two")]
say = Console(sys.stdout).say
supervisor = Supervisor(parts, say=say)
with stopped_by_signals(supervisor, say):
    supervisor.run()
"""


class Heard:
    """What the supervisor and its parts said."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def say(self, name: str, line: str) -> None:
        self.lines.append((name, line))

    def from_(self, name: str) -> list[str]:
        return [line for speaker, line in self.lines if speaker == name]

    def pids(self, name: str) -> list[int]:
        """The ids in the latest line of a part."""
        return [int(word) for word in self.from_(name)[-1].split()[1:]]


@contextlib.contextmanager
def supervised(*parts: Part, heard: Heard) -> Iterator[Supervisor]:
    """A supervisor that runs while the block does."""
    supervisor = Supervisor(parts, say=heard.say)
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    try:
        yield supervisor
    finally:
        supervisor.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_a_part_prints_is_passed_on_under_its_name():
    heard = Heard()

    with supervised(Part("one", (*PYTHON, "print('hello'); input()")), heard=heard):
        wait_until(lambda: heard.from_("one"))

    assert heard.from_("one")[0] == "hello"


def test_a_killed_part_is_started_again_and_its_children_are_cleared_away():
    heard = Heard()

    with supervised(Part("one", (*PYTHON, WITH_A_CHILD)), heard=heard):
        wait_until(lambda: heard.from_("one"))
        first, child = heard.pids("one")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: len(heard.from_("one")) == 2)
        second, _ = heard.pids("one")

        assert second != first
        assert is_alive(second)
        wait_until(lambda: not is_alive(child))
    assert heard.from_("concordance") == [
        "one was killed (SIGKILL); restarting it in 0.5 s.",
    ]


def test_one_crash_leaves_the_other_parts_alone():
    heard = Heard()
    parts = [Part(name, (*PYTHON, WITH_A_CHILD)) for name in ("one", "two")]

    with supervised(*parts, heard=heard):
        wait_until(lambda: heard.from_("one") and heard.from_("two"))
        bystander = heard.pids("two")
        os.kill(heard.pids("one")[0], signal.SIGKILL)
        wait_until(lambda: len(heard.from_("one")) == 2)

        assert heard.pids("two") == bystander


def test_a_part_that_keeps_failing_is_tried_ever_more_rarely():
    heard = Heard()

    with supervised(Part("one", (*PYTHON, "raise SystemExit(3)")), heard=heard):
        wait_until(lambda: len(heard.from_("concordance")) >= 3)

    assert heard.from_("concordance")[:3] == [
        "one stopped (exit code 3); restarting it in 0.5 s.",
        "one stopped (exit code 3); restarting it in 1 s.",
        "one stopped (exit code 3); restarting it in 2 s.",
    ]
    assert delay_before(100) == 30


def test_a_one_off_part_ends_and_is_done():
    heard = Heard()

    with supervised(Part("demo", (*PYTHON, "pass"), once=True), heard=heard) as supervisor:
        supervisor.wait_until_done("demo")
        assert supervisor.is_done("demo")

    assert heard.lines == []


def test_a_one_off_part_that_keeps_failing_is_given_up():
    heard = Heard()
    part = Part("demo", (*PYTHON, "raise SystemExit(1)"), once=True)

    with supervised(part, heard=heard) as supervisor:
        assert not supervisor.is_done("demo")
        supervisor.wait_until_done("demo")

    assert heard.from_("concordance")[-1] == (
        "demo stopped (exit code 1) 3 times; continuing without it."
    )


def test_a_part_that_does_not_exist_counts_as_done():
    assert Supervisor([], say=Heard().say).is_done("demo")


def test_stopping_ends_parts_and_their_children():
    heard = Heard()

    with supervised(Part("one", (*PYTHON, WITH_A_CHILD)), heard=heard):
        wait_until(lambda: heard.from_("one"))
        pids = heard.pids("one")

    wait_until(lambda: not any(map(is_alive, pids)))


def test_a_part_that_does_not_listen_is_killed_in_the_end(monkeypatch):
    monkeypatch.setattr("kb_project.supervisor.supervisor.SECONDS_TO_STOP", 0.5)
    heard = Heard()

    with supervised(Part("one", (*PYTHON, DEAF)), heard=heard):
        wait_until(lambda: heard.from_("one"))
        (pid,) = heard.pids("one")

    assert not is_alive(pid)


def test_a_part_can_run_at_a_lower_priority():
    heard = Heard()

    with supervised(Part("one", (*PYTHON, WITH_A_CHILD), nice=10), heard=heard):
        wait_until(lambda: heard.from_("one"))
        pid, child = heard.pids("one")

        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10
        assert os.getpriority(os.PRIO_PROCESS, child) >= 10


def test_between_looks_at_the_parts_something_else_may_be_looked_after():
    looks: list[None] = []
    supervisor = Supervisor([], say=Heard().say, look=lambda: looks.append(None))

    thread = threading.Thread(target=supervisor.run)
    thread.start()
    wait_until(lambda: len(looks) >= 2)
    supervisor.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A supervisor of two parts as a program of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, WITH_A_CHILD],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


def pids_of_parts(program: subprocess.Popen[str]) -> list[int]:
    assert program.stdout is not None
    lines = [program.stdout.readline() for _ in range(2)]
    return [int(word) for line in lines for word in line.partition("pids")[2].split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_termination_stop_everything(program, number):
    pids = pids_of_parts(program)
    assert len(pids) == 4

    program.send_signal(number)
    program.wait(PATIENCE)

    assert program.returncode == 0
    wait_until(lambda: not any(map(is_alive, pids)))


def test_ctrl_c_on_the_terminal_stops_everything_once(program):
    """The terminal signals the whole foreground group; parts are in groups of their own."""
    pids = pids_of_parts(program)

    os.killpg(program.pid, signal.SIGINT)
    program.wait(PATIENCE)

    wait_until(lambda: not any(map(is_alive, pids)))


def test_the_same_request_passed_on_twice_does_not_cut_the_stopping_short():
    supervisor = Supervisor([], say=Heard().say)

    supervisor.stop()
    supervisor.stop()

    assert supervisor.is_stopping
    assert not supervisor._hurry.is_set()


def test_parts_do_not_outlive_a_supervisor_that_was_killed(program):
    pids = pids_of_parts(program)

    program.kill()

    wait_until(lambda: not any(map(is_alive, pids)))
