from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, LiteralString

import psycopg
import pytest
from django.db import connections

from kb_project.errors import EndpointError
from kb_project.llm.slots import (
    FREE_SLOTS,
    TAKE_SLOTS,
    LocalSlots,
    LockSession,
    SharedSlots,
    Slots,
    _connect,
    shared_slots,
)
from tests.patience import PATIENCE, wait_until

LINE = 1234567


@pytest.fixture
def sessions() -> Iterator[list[LockSession]]:
    """Connections as two processes would have them."""
    found = [LockSession(), LockSession()]
    yield found
    for session in found:
        session.close()


@pytest.fixture(params=["one process", "two processes", "one session"])
def pair(request, db, sessions) -> list[Slots]:
    """Two askers that share two slots."""
    if request.param == "one process":
        slots = LocalSlots(2, longest_wait=PATIENCE)
        return [slots, slots]
    second = sessions[1] if request.param == "two processes" else sessions[0]
    return [
        SharedSlots(LINE, 2, session, longest_wait=PATIENCE) for session in (sessions[0], second)
    ]


def impatient(slots: Slots) -> Slots:
    """The same slots, for an asker who does not wait long."""
    if isinstance(slots, SharedSlots):
        return replace(slots, longest_wait=0.3)
    assert isinstance(slots, LocalSlots)
    slots.longest_wait = 0.3
    return slots


def test_slots_are_given_as_far_as_they_go(pair):
    with pair[0].enter(2) as gate:
        assert gate.adjust(running=0, wanted=1) == 1

        with pair[1].enter(2) as other:
            assert other.adjust(running=0, wanted=8) == 1


def test_an_asker_who_leaves_gives_all_slots_back(pair):
    with pair[0].enter(2) as gate:
        assert gate.adjust(running=0, wanted=2) == 2

    with pair[1].enter(2) as other:
        assert other.adjust(running=0, wanted=2) == 2


def test_whoever_waits_too_long_is_told_that_the_endpoint_is_busy(pair):
    with pair[0].enter(2) as gate, impatient(pair[1]).enter(2) as other:
        gate.adjust(running=0, wanted=2)

        with pytest.raises(EndpointError) as raised:
            other.adjust(running=0, wanted=1)

    assert raised.value.code == "endpoint_busy"


def test_a_question_gets_a_slot_from_an_extraction_that_is_under_way(pair):
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        extraction = stack.enter_context(pair[0].enter(2))
        extraction.adjust(running=0, wanted=2)

        def question() -> int:
            with pair[1].enter(0) as gate:
                return gate.adjust(running=0, wanted=1)

        asked = pool.submit(question)
        # One of its two calls has come in; the other still runs.
        wait_until(lambda: extraction.adjust(running=1, wanted=2) and asked.done())

        assert asked.result() == 1


def test_an_extraction_does_not_take_a_slot_from_an_extraction(pair):
    with pair[0].enter(2) as gate, ThreadPoolExecutor(1) as pool:
        gate.adjust(running=0, wanted=2)

        def other() -> int:
            with impatient(pair[1]).enter(2) as waiting:
                return waiting.adjust(running=0, wanted=1)

        asked = pool.submit(other)
        time.sleep(0.25)
        assert gate.adjust(running=0, wanted=2) == 2

        with pytest.raises(EndpointError):
            asked.result()


def test_never_more_calls_run_than_there_are_slots(pair):
    running, most, guard = 0, 0, threading.Lock()

    def work(slots: Slots) -> None:
        nonlocal running, most
        for _ in range(5):
            with slots.enter(1) as gate:
                held = gate.adjust(running=0, wanted=2)
                with guard:
                    running += held
                    most = max(most, running)
                time.sleep(0.002)
                with guard:
                    running -= held

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, pair * 2))

    assert most == 2


@pytest.mark.django_db
def test_a_crashed_process_frees_its_slots(sessions):
    crashed = SharedSlots(LINE, 1, sessions[0])
    gate = crashed.enter(2)
    gate.__enter__().adjust(running=0, wanted=1)

    sessions[0].close()

    with SharedSlots(LINE, 1, sessions[1], longest_wait=PATIENCE).enter(2) as other:
        assert other.adjust(running=0, wanted=1) == 1


@pytest.mark.django_db
def test_endpoints_do_not_share_slots(sessions):
    with SharedSlots(1, 1, sessions[0]).enter(2) as gate:
        gate.adjust(running=0, wanted=1)

        with SharedSlots(2, 1, sessions[1]).enter(2) as other:
            assert other.adjust(running=0, wanted=1) == 1


@pytest.mark.django_db
def test_a_lost_connection_is_made_anew(sessions):
    slots = SharedSlots(LINE, 1, sessions[0])
    with slots.enter(2) as gate:
        gate.adjust(running=0, wanted=1)
        connection = sessions[0]._connection
        assert connection is not None
        connection.close()

    with slots.enter(2) as gate:
        assert gate.adjust(running=0, wanted=1) == 1


@pytest.mark.django_db
def test_locks_are_not_in_the_transaction_of_the_asker(sessions):
    with SharedSlots(LINE, 1, sessions[0]).enter(2) as gate:
        gate.adjust(running=0, wanted=1)

        state = sessions[0]._connected().info.transaction_status
        assert state == psycopg.pq.TransactionStatus.IDLE
        assert sessions[0]._connected() is not connections["default"].connection


@pytest.mark.django_db
def test_a_free_slot_costs_two_statements(sessions, monkeypatch):
    slots = SharedSlots(LINE, 4, sessions[0])
    with slots.enter(2) as gate:
        gate.adjust(running=0, wanted=1)

    made: list[str] = []
    real = LockSession._rows

    def rows(session: LockSession, query: LiteralString, values: Any) -> list[tuple[Any, ...]]:
        made.append(query)
        return real(session, query, values)

    monkeypatch.setattr(LockSession, "_rows", rows)
    with slots.enter(2) as gate:
        gate.adjust(running=0, wanted=4)

    assert made == [TAKE_SLOTS, FREE_SLOTS]


@pytest.mark.django_db
def test_the_installations_slots_share_one_connection_a_process():
    first, second = shared_slots(1, 2), shared_slots(2, 4)

    assert first.session is second.session
    first.session.close()


@pytest.mark.django_db
def test_the_connection_is_of_the_applications_own_account():
    with _connect() as connection:
        [(user,)] = connection.execute("select current_user").fetchall()

    assert user == connections["default"].settings_dict["USER"]
