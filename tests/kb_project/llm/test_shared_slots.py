"""The connection that holds the locks: over forks, ends and outages. More in ``test_slots``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, LiteralString

import psycopg
import pytest
from django.db import OperationalError, connections

from kb_project.env import child_environment
from kb_project.llm import slots
from kb_project.llm.slots import LockSession, SharedSlots
from tests.patience import PATIENCE, wait_until

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
            free = session.take(LINE, {"count": 1, "wanted": 1, "flag": slots.FLAGS})
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
    shared = SharedSlots(LINE, 2, session, longest_wait=PATIENCE)
    with monkeypatch.context() as patch, shared.enter(2) as gate:
        gate.adjust(running=0, wanted=2)
        connection = session._connection
        assert connection is not None
        connection.close()
        patch.setattr(slots, "_connect", refuse)

    # The server frees the locks some moments after the connection was closed, one by one.
    with shared.enter(2) as gate:
        wait_until(lambda: gate.adjust(running=0, wanted=2) == 2)


def test_a_database_that_is_away_is_said_to_be_away(session: LockSession, monkeypatch):
    monkeypatch.setattr(slots, "_connect", refuse)

    with pytest.raises(OperationalError), SharedSlots(LINE, 1, session).enter(2) as gate:
        gate.adjust(running=0, wanted=1)


def refuse() -> psycopg.Connection[tuple[object, ...]]:
    raise psycopg.OperationalError("connection refused")


# --- real processes -------------------------------------------------------------------------------
ASKER: Final = """
import django, sys, time
django.setup()
from django.db import connections
connections["default"].get_connection_params = lambda: {address!r}
from kb_project.llm.slots import shared_slots
with shared_slots({line}, 1).enter({priority}) as gate:
    print("asks", flush=True)
    gate.adjust(running=0, wanted=1)
    print(time.monotonic(), flush=True)
    {then}
"""


@contextmanager
def asker(priority: int, errors: Path, *, then: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that asks for the one slot, and says when it begins to and when it has it."""
    found = connections["default"].get_connection_params()
    names = ("dbname", "user", "password", "host", "port", "passfile")
    address = {name: found[name] for name in names if found.get(name)}
    code = ASKER.format(address=address, line=LINE, priority=priority, then=then)
    with (
        errors.open("wb") as said,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code],
            cwd=ROOT,
            env=child_environment(DJANGO_SETTINGS_MODULE="kb_project.settings"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        yield process


def line_from(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


RAISED: Final[LiteralString] = """
select count(*) from pg_locks
 where locktype = 'advisory' and classid = %(line)s and objid >= %(flag)s
"""


def wait_for_flags(session: LockSession, number: int) -> None:
    """Until as many processes have said that they wait."""
    values = {"line": LINE, "flag": slots.FLAGS}
    wait_until(lambda: session.rows(RAISED, values)[0][0] >= number)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_process_that_ends_in_any_way_frees_its_slots_and_says_nothing(
    session: LockSession, tmp_path: Path, is_killed: bool
):
    errors = tmp_path / "errors"
    with asker(2, errors, then="sys.stdin.read()") as process:
        assert line_from(process) == "asks", errors.read_text()
        assert float(line_from(process))
        assert session.take(LINE, {"count": 1, "wanted": 1, "flag": slots.FLAGS}) == []
        if is_killed:
            process.kill()

    with SharedSlots(LINE, 1, session, longest_wait=PATIENCE).enter(2) as gate:
        assert gate.adjust(running=0, wanted=1) == 1
    assert errors.read_text() == ""


@pytest.mark.django_db(transaction=True)
def test_processes_go_a_question_first_then_a_summary_then_an_extraction(
    session: LockSession, tmp_path: Path
):
    order = ["extraction", "summary", "question"]
    with ExitStack() as stack:
        slot = stack.enter_context(SharedSlots(LINE, 1, session).enter(2))
        slot.adjust(running=0, wanted=1)
        waiting = {}
        for name, priority in zip(order, (2, 1, 0), strict=True):
            asking = asker(priority, tmp_path / name, then="time.sleep(0.3)")
            waiting[name] = stack.enter_context(asking)
            assert line_from(waiting[name]) == "asks", (tmp_path / name).read_text()
        wait_for_flags(session, len(order))
        slot.give_back(0)  # type: ignore[attr-defined]  # what leaving the gate does
        got = {name: float(line_from(process)) for name, process in waiting.items()}

    assert sorted(got, key=got.__getitem__) == order[::-1]
