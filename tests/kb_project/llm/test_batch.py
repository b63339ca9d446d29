from __future__ import annotations

import threading
from typing import Any

import pytest

from kb_project.errors import EndpointError
from kb_project.llm.batch import Batch, Threads
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.slots import no_slot
from tests.kb_project.llm.asking import chat_with, request

ANSWER = '{"names": ["Ada"]}'


class FailingGate:
    """Gives its slots a few times and then says that there is none."""

    def __init__(self, times: int, error: BaseException) -> None:
        self.times = times
        self.error = error

    def adjust(self, *, running: int, wanted: int) -> int:
        self.times -= 1
        if self.times < 0:
            raise self.error
        return min(wanted, 2)


def batch_of(store: MemoryCallStore, count: int, *, answer: Any = ANSWER) -> Batch:
    chat = chat_with(answer=answer, store=store)
    calls = [chat._prepared(request(f"Passage {number}.")) for number in range(count)]
    return Batch(store, chat._exchange, calls, Threads(2))


@pytest.mark.parametrize("times", range(5))
@pytest.mark.parametrize("error", [no_slot(), KeyboardInterrupt(), SystemExit(1)])
def test_whatever_breaks_off_a_run_every_call_that_was_opened_is_settled(
    times: int, error: BaseException
):
    store = MemoryCallStore()
    made = threading.Semaphore(0)

    def answer(_: Any) -> str:
        made.release()
        return ANSWER

    with pytest.raises(type(error)):
        list(batch_of(store, 9, answer=answer).results(FailingGate(times, error)))

    assert set(store.settled) == set(store.opened)
    answered = sum(made.acquire(blocking=False) for _ in range(20))
    assert len(store.replies) == answered


def test_a_store_that_fails_once_is_given_everything_in_the_end():
    class AwayOnce(MemoryCallStore):
        failures = 1

        def settle(self, ids: Any, outcomes: Any) -> None:
            if self.failures:
                self.failures -= 1
                raise OSError("away")
            super().settle(ids, outcomes)

    store = AwayOnce()

    with pytest.raises(OSError, match="away"):
        list(batch_of(store, 5).results(FailingGate(99, EndpointError("unused"))))

    assert set(store.settled) == set(store.opened)


def test_a_reader_who_leaves_early_loses_no_reply():
    store = MemoryCallStore()
    results = chat_with(answer=ANSWER, store=store).ask_many(
        [request(f"Passage {number}.") for number in range(9)]
    )

    next(results)
    results.close()

    assert set(store.settled) == set(store.opened)
    assert len(store.replies) == sum(one.reply is not None for one in store.settled.values())
