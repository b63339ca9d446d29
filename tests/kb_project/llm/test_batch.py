from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from kb_project.errors import BudgetError, EndpointError, ReplyError
from kb_project.llm.batch import Batch, Threads
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.ports import ChatReply
from kb_project.llm.slots import no_slot
from tests.kb_project.llm.asking import chat_with, request
from tests.patience import PATIENCE

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


# --- what calls have in common --------------------------------------------------------------------
def sharing(document: str, number: int, *ends: int) -> Any:
    asked = request(f"{document}\n\nPassage {number}.")
    return replace(asked, shared=ends or (len(document),))


class Watched:
    """Answers, and notes which texts were answered when a call came in, and how many were asked.

    So many calls after the first are answered once all of them have come in.
    """

    def __init__(self, *, together: int) -> None:
        self.answered: list[str] = []
        self.before: dict[str, list[str]] = {}
        self.most = 0
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._together = together
        self._meet = threading.Barrier(together, timeout=PATIENCE)

    def __call__(self, call: Any) -> str:
        text = call.messages[1].text
        with self._lock:
            self._asked.add(text)
            self.before[text] = list(self.answered)
            self.most = max(self.most, len(self._asked) - len(self.answered))
            is_one_of_them = 1 < len(self._asked) <= self._together + 1
        if is_one_of_them:
            self._meet.wait()
        with self._lock:
            self.answered.append(text)
        return ANSWER


def test_the_first_call_about_a_document_ends_before_the_others_begin():
    watched = Watched(together=2)
    asked = [sharing("A long document.", number) for number in range(6)]

    list(chat_with(answer=watched, concurrency=4).ask_many(asked))

    first, *others = [one.prompt.user for one in asked]
    assert watched.before[first] == []
    assert all(first in watched.before[other] for other in others)
    assert watched.most > 1


def test_other_documents_do_not_wait_for_the_first_call_about_one():
    documents = ["One.", "Two.", "Three.", "Four."]
    is_together = threading.Barrier(len(documents), timeout=PATIENCE)

    def answer(call: Any) -> str:
        if call.messages[1].text.endswith("Passage 0."):
            is_together.wait()  # breaks unless all first calls are under way at once
        return ANSWER

    asked = [sharing(document, number) for document in documents for number in range(3)]

    results = dict(chat_with(answer=answer, concurrency=4).ask_many(asked))

    assert all(isinstance(result, ChatReply) for result in results.values())
    assert len(results) == 12


def test_each_of_several_beginnings_has_its_own_first_call():
    watched = Watched(together=3)
    outline, parts = "Outline.", ["Outline. Here.", "Outline. There."]
    asked = [
        sharing(part, number, len(outline), len(part)) for part in parts for number in range(3)
    ]

    list(chat_with(answer=watched, concurrency=4).ask_many(asked))

    texts = [one.prompt.user for one in asked]
    assert all(texts[0] in watched.before[text] for text in texts[1:])
    assert all(texts[3] in watched.before[text] for text in texts[4:])
    assert texts[3] not in watched.before[texts[1]]


def test_a_first_call_that_fails_holds_no_one_back():
    def answer(call: Any) -> Any:
        if call.messages[1].text.endswith("Passage 0."):
            raise ReplyError("It said nothing.")
        return ANSWER

    results = dict(
        chat_with(answer=answer, concurrency=4).ask_many(
            [sharing("A document.", number) for number in range(4)]
        )
    )

    assert [isinstance(results[number], ChatReply) for number in range(4)] == [False, *[True] * 3]


def test_calls_that_the_budget_puts_off_are_all_made_in_the_end():
    class Tight(MemoryCallStore):
        """Takes one call at a time."""

        def open_calls(self, calls: Any) -> Any:
            if len(calls) > 1 or len(self.opened) > len(self.settled):
                raise BudgetError("Too much at once.")
            return super().open_calls(calls)

    asked = [sharing(document, n) for document in ("One.", "Two.") for n in range(3)]

    results = list(chat_with(answer=ANSWER, store=Tight(), concurrency=4).ask_many(asked))

    assert len(results) == 6
