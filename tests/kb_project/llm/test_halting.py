"""A call that is halted ends at once, and its server sees that the client has gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from kb_project.errors import EndpointError, ReplyError
from kb_project.llm import halting
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.halting import Halt, halted_by
from kb_project.llm.policy import Retry, RetryPolicy
from tests.kb_project.llm.asking import chat_on, request
from tests.patience import NEVER, PATIENCE, wait_until
from tests.provider import Provider

ANSWER = "Marley was dead to begin with. There is no doubt whatever about that."


@pytest.fixture
def server():
    with Provider() as running:
        running.script.on("Ada", ANSWER)
        yield running


@contextmanager
def halted_when(is_time: Callable[[], object]):
    """Work that is halted from another thread; yields a function: seconds since it was halted."""
    halt, halted_at = Halt(), []

    def watch() -> None:
        while not is_time():
            time.sleep(0.01)
        time.sleep(0.1)  # it waits by now, wherever it does
        halted_at.append(time.monotonic())
        halt.set()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    with halted_by(halt):
        yield lambda: time.monotonic() - halted_at[0]
    thread.join()


def wait_until_deserted(server: Provider) -> None:
    wait_until(lambda: server.deserted)
    assert len(server.deserted) == 1


def test_a_stream_that_says_nothing_at_all_is_hung_up_on(server):
    server.script.next("hang")

    with halted_when(server.count) as late, pytest.raises(ReplyError) as raised:
        list(chat_on(server).stream(request(schema=None)))

    assert raised.value.code == "stopped"
    assert late() < PATIENCE
    wait_until_deserted(server)
    assert server.count() == 1


def test_a_stream_that_stalls_in_the_middle_is_hung_up_on_and_paid_for(server):
    server.script.next("stall")
    store = MemoryCallStore()
    pieces: list[str] = []

    with halted_when(lambda: pieces) as late, pytest.raises(ReplyError):
        pieces.extend(chat_on(server, store=store).stream(request(schema=None)))

    assert late() < PATIENCE
    wait_until_deserted(server)
    [outcome] = store.settled.values()
    assert outcome.reply is None
    assert outcome.completion_tokens > 0


def test_a_whole_answer_that_does_not_come_is_hung_up_on(server):
    server.script.next("hang")

    with halted_when(server.count) as late, pytest.raises(ReplyError) as raised:
        chat_on(server).ask(request(schema=None))

    assert raised.value.code == "stopped"
    assert late() < PATIENCE
    wait_until_deserted(server)


def test_calls_side_by_side_all_end(server):
    server.script.next("hang", times=3)

    with halted_when(lambda: server.count() == 3) as late:
        asked = [request(f"Ada, part {number}", schema=None) for number in range(3)]
        results = dict(chat_on(server).ask_many(asked))

    assert late() < PATIENCE
    assert {getattr(one, "code", "") for one in results.values()} == {"stopped"}


def test_nothing_is_sent_any_more_once_it_is_halted(server):
    halt = Halt()
    halt.set()

    with halted_by(halt), pytest.raises(ReplyError) as raised:
        chat_on(server).ask(request(schema=None))

    assert raised.value.code == "stopped"
    assert server.count() == 0


def test_a_wait_before_another_attempt_ends_too():
    tries: list[int] = []

    def away():
        tries.append(1)
        raise EndpointError("It is away.")

    with halted_when(lambda: tries) as late, pytest.raises(EndpointError):
        Retry(RetryPolicy(first=2 * NEVER, longest=2 * NEVER)).run(away, patience=9 * NEVER)

    assert late() < PATIENCE


def test_work_without_a_halt_is_not_touched_by_one(server):
    halt = Halt()
    halt.set()

    assert "".join(chat_on(server).stream(request(schema=None))) == ANSWER
    assert not halting.is_halted()


def test_a_connection_serves_the_next_call_after_a_halt_elsewhere(server):
    server.script.next("hang")
    with halted_when(server.count), pytest.raises(ReplyError):
        chat_on(server).ask(request(schema=None))

    assert chat_on(server).ask(request(schema=None)).text == ANSWER


def test_what_waits_when_it_is_set_is_cut_once_and_what_waits_later_at_once():
    halt, cuts = Halt(), []

    with halt.cutting(lambda: cuts.append("before")):
        halt.set()
    with halt.cutting(lambda: cuts.append("after")):
        pass

    assert cuts == ["before", "after"]


def test_what_has_stopped_waiting_is_not_cut():
    halt, cuts = Halt(), []

    with halt.cutting(lambda: cuts.append("gone")):
        pass
    halt.set()

    assert cuts == []
