"""The connection that holds the locks: over forks, ends and outages. More in ``test_slots``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connections

from kb_project.env import child_environment
from kb_project.llm import shared_slots
from kb_project.llm.shared_slots import LockSession, SharedSlots

LINE = 7654321
ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.django_db


@pytest.fixture
def session() -> Iterator[LockSession]:
    found = LockSession()
    yield found
    found.close()


def backend_of(session: LockSession) -> int:
    return session._connected().info.backend_pid


def test_a_forked_process_does_not_use_its_parents_connection(session: LockSession):
    with SharedSlots(LINE, 1, session).enter(2) as gate:
        assert gate.adjust(running=0, wanted=1) == 1
        mine = backend_of(session)
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            # Nothing of pytest may run here: only what a worker would do, and out.
            free = session.take(LINE, {"count": 1, "wanted": 1, "flag": shared_slots.FLAGS})
            os.write(writing, f"{backend_of(session)} {free}".encode())
            session.close()
            os._exit(0)
        os.waitpid(child, 0)
        theirs, taken = os.read(reading, 100).decode().split(" ", 1)
        os.close(reading)
        os.close(writing)

        # The child saw the slot taken, and its end did not hang up on the parent.
        assert int(theirs) != mine
        assert taken == "[]"
        assert backend_of(session) == mine


def test_slots_are_free_again_after_an_outage(session: LockSession, monkeypatch):
    slots = SharedSlots(LINE, 2, session, longest_wait=1)
    with monkeypatch.context() as patch, slots.enter(2) as gate:
        gate.adjust(running=0, wanted=2)
        connection = session._connection
        assert connection is not None
        connection.close()
        patch.setattr(shared_slots, "_connect", refuse)

    with slots.enter(2) as gate:
        assert gate.adjust(running=0, wanted=2) == 2


def test_a_database_that_is_away_is_said_to_be_away(session: LockSession, monkeypatch):
    monkeypatch.setattr(shared_slots, "_connect", refuse)

    with pytest.raises(OperationalError), SharedSlots(LINE, 1, session).enter(2) as gate:
        gate.adjust(running=0, wanted=1)


def refuse(_using: str) -> psycopg.Connection[tuple[object, ...]]:
    raise psycopg.OperationalError("connection refused")


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_frees_its_slots_and_one_that_ends_says_nothing(
    session: LockSession, tmp_path: Path
):
    address = connections["default"].get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    known = {name: address[name] for name in names if address.get(name)}
    holder = (
        "import django, sys; django.setup()\n"
        "from django.db import connections\n"
        f"connections['default'].get_connection_params = lambda: {known!r}\n"
        "from kb_project.llm.shared_slots import shared_slots\n"
        f"gate = shared_slots({LINE}, 1).enter(2)\n"
        "gate.__enter__().adjust(running=0, wanted=1)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-W", "error", "-c", holder]
    environment = child_environment(DJANGO_SETTINGS_MODULE="kb_project.settings")

    for way in ("killed", "ended"):
        said = tmp_path / way
        with said.open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            assert process.stdout.readline() == b"held\n", said.read_text()
            assert session.take(LINE, {"count": 1, "wanted": 1, "flag": shared_slots.FLAGS}) == []
            if way == "killed":
                process.kill()
        process.wait(20)

        with SharedSlots(LINE, 1, session, longest_wait=5).enter(2) as gate:
            started = time.monotonic()
            assert gate.adjust(running=0, wanted=1) == 1
            assert time.monotonic() - started < 3
        assert said.read_text() == ""
