from __future__ import annotations

import threading

import pytest

from kb_project.errors import BudgetError, EndpointError, RefusedError, ReplyError
from kb_project.llm.fake import FakeProvider, MemoryCallStore
from kb_project.llm.ports import ChatReply, Role, StoredReply, Turn
from kb_project.llm.provider import RawReply
from tests.kb_project.llm.asking import DOCUMENT, Names, chat_with, request
from tests.patience import PATIENCE


class Purse(MemoryCallStore):
    """Opens calls while the open ones cost no more than there is; each costs nothing in the end."""

    def __init__(self, most_open: int, total: int = 1_000) -> None:
        super().__init__()
        self.most_open = most_open
        self.total = total
        self.largest_batch = 0

    def open_calls(self, calls):
        if len(self.opened) - len(self.settled) + len(calls) > self.most_open:
            raise BudgetError("Too much at once.")
        if len(self.opened) + len(calls) > self.total:
            raise BudgetError("All is spent.")
        self.largest_batch = max(self.largest_batch, len(calls))
        return super().open_calls(calls)


def test_a_reply_has_a_value_and_is_kept_with_its_tokens():
    store = MemoryCallStore()
    provider = FakeProvider(lambda _: RawReply('{"names": ["Ada"]}', "stop", 12, 4, 5))

    reply = chat_with(provider, store=store).ask(request())

    assert reply.value == Names(names=["Ada"])
    assert (reply.prompt_tokens, reply.completion_tokens, reply.is_cached) == (12, 5, False)
    [(call_id, record)] = store.opened.items()
    assert (record.stage, record.document_id, record.model) == ("extract", DOCUMENT, "model-a")
    assert store.settled[call_id].cached_tokens == 4
    assert list(store.replies) == [record.key]


def test_the_same_call_is_not_made_twice():
    store = MemoryCallStore()
    chat = chat_with(store=store)
    first = chat.ask(request())

    second = chat.ask(request())

    assert second.is_cached
    assert second.value == first.value
    assert (len(store.opened), len(store.cached)) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        request("Another text."),
        request(version="2"),
        request(schema=None),
        request(turns=(Turn("assistant", "{}"),)),
        request(max_output=77),
        request("A lone \ud800 surrogate"),
    ],
)
def test_whatever_shapes_a_reply_is_part_of_its_key(other):
    chat = chat_with()

    assert chat.key_of(other) != chat.key_of(request())


def test_another_model_or_endpoint_has_other_keys():
    keys = {
        chat_with().key_of(request()),
        chat_with(models={Role.EXTRACT: "model-b"}).key_of(request()),
        chat_with(context_window=100).key_of(request()),
    }

    assert len(keys) == 3


def test_whom_a_call_is_for_is_no_part_of_its_key():
    chat = chat_with()

    assert chat.key_of(request(role=Role.ANSWER, max_output=9)) == chat.key_of(
        request(role=Role.JUDGE, max_output=9)
    )


def test_identical_requests_of_one_run_are_asked_once():
    store = MemoryCallStore()
    chat = chat_with(store=store)

    results = dict(chat.ask_many([request("a"), request("b"), request("a"), request("a")]))

    assert sorted(results) == [0, 1, 2, 3]
    assert [results[place].is_cached for place in range(4)] == [False, False, True, True]
    assert len(store.opened) == 2
    assert len(store.cached) == 2


def test_calls_run_side_by_side_up_to_the_limit():
    running, most, guard, full = 0, 0, threading.Lock(), threading.Barrier(4, timeout=PATIENCE)

    def answer(call):
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        full.wait()
        with guard:
            running -= 1
        return '{"names": []}'

    results = list(chat_with(answer=answer).ask_many([request(str(i)) for i in range(16)]))

    assert len(results) == 16
    assert most == 4


def test_each_reply_is_kept_before_it_is_given_out():
    store = MemoryCallStore()

    for given, _ in enumerate(chat_with(store=store).ask_many([request(str(i)) for i in range(9)])):
        assert len(store.replies) > given


def test_whoever_stops_listening_keeps_what_was_paid_for():
    store = MemoryCallStore()
    results = chat_with(store=store).ask_many([request(str(i)) for i in range(50)])

    next(results)
    results.close()

    assert 1 <= len(store.replies) < 50
    assert set(store.settled) == set(store.opened)


def test_one_bad_answer_does_not_touch_the_others():
    def answer(call):
        return "nonsense" if "bad" in call.text else '{"names": []}'

    chat = chat_with(answer=answer)
    results = dict(chat.ask_many([request("a"), request("bad"), request("c")]))

    assert isinstance(results[1], ReplyError)
    assert results[1].code == "reply_invalid"
    assert isinstance(results[0], ChatReply)
    assert isinstance(results[2], ChatReply)


def test_a_bad_answer_is_repaired_once_in_the_same_conversation():
    calls = []

    def answer(call):
        calls.append(call)
        return '{"names": "Ada"}' if len(calls) == 1 else '{"names": ["Ada"]}'

    store = MemoryCallStore()
    chat = chat_with(answer=answer, store=store)

    assert chat.ask(request()).value == Names(names=["Ada"])
    assert [said.speaker for said in calls[1].messages] == ["system", "user", "assistant", "user"]
    assert "names" in calls[1].messages[-1].text
    assert [end.code for end in store.settled.values()] == ["reply_invalid", ""]
    assert chat.ask(request()).is_cached


def test_a_bad_answer_is_not_repaired_twice_and_never_kept():
    store = MemoryCallStore()
    chat = chat_with(answer="nonsense", store=store)

    with pytest.raises(ReplyError):
        chat.ask(request())

    assert len(store.opened) == 2
    assert store.replies == {}


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (RawReply('{"names": []}', "length"), "reply_truncated"),
        (RawReply("", "refused"), "reply_refused"),
        (RawReply("  "), "reply_empty"),
        (RawReply("<think>hm</think>"), "reply_empty"),
    ],
)
def test_a_reply_that_is_not_whole_is_never_kept_and_costs_all_the_same(reply, code):
    store = MemoryCallStore()

    with pytest.raises(ReplyError) as raised:
        chat_with(answer=lambda _: reply, store=store).ask(request())

    [outcome] = store.settled.values()
    assert raised.value.code == outcome.code == code
    assert outcome.prompt_tokens > 0
    assert store.replies == {}


def test_a_text_longer_than_the_window_costs_nothing():
    store = MemoryCallStore()
    chat = chat_with(store=store, context_window=1_000)

    results = dict(chat.ask_many([request("word " * 5_000), request("short")]))

    assert results[0].code == "context_too_long"
    assert isinstance(results[1], ChatReply)
    assert len(store.opened) == 1


def test_a_refused_key_stops_the_run_and_keeps_what_is_there():
    def answer(call):
        if "7" in call.text:
            raise RefusedError("No.", code="key_refused")
        return '{"names": []}'

    store = MemoryCallStore()
    given: list[object] = []
    results = chat_with(answer=answer, store=store).ask_many(
        [request(str(i)) for i in range(100, 200)]
    )
    with pytest.raises(RefusedError):
        given.extend(results)

    assert len(given) == len(store.replies)
    assert set(store.settled) == set(store.opened)
    assert len(store.opened) < 100


def test_a_spent_budget_stops_the_run_after_the_last_call_that_it_allows():
    purse = Purse(most_open=100, total=21)
    given: list[object] = []
    results = chat_with(store=purse).ask_many([request(str(i)) for i in range(50)])

    with pytest.raises(BudgetError):
        given.extend(results)

    assert len(given) == len(purse.replies) == 21


def test_a_tight_budget_makes_calls_one_after_the_other():
    purse = Purse(most_open=1)

    results = list(chat_with(store=purse).ask_many([request(str(i)) for i in range(12)]))

    assert len(results) == 12
    assert purse.largest_batch == 1


def test_a_call_at_fault_alone_does_not_hold_up_the_others():
    answered = threading.Event()

    def answer(call):
        if "bad" in call.text:
            answered.wait(PATIENCE)
            raise EndpointError("Too slow.", code="endpoint_timeout")
        answered.set()
        return '{"names": []}'

    results = dict(chat_with(answer=answer).ask_many([request("bad"), request("b"), request("c")]))

    assert results[0].code == "reply_timeout"
    assert isinstance(results[2], ChatReply)


def test_an_endpoint_that_is_away_pauses_the_work():
    def answer(call):
        raise EndpointError("Away.", code="endpoint_down")

    provider = FakeProvider(answer)
    with pytest.raises(EndpointError):
        chat_with(provider).ask(request())

    # Four attempts, and one call of a few tokens.
    assert len(provider.calls) == 5


def test_a_bug_in_an_adapter_is_not_swallowed_and_loses_nothing():
    def answer(call):
        if "3" in call.text:
            raise ZeroDivisionError
        return '{"names": []}'

    store = MemoryCallStore()
    with pytest.raises(ZeroDivisionError):
        list(chat_with(answer=answer, store=store).ask_many([request(str(i)) for i in range(9)]))

    assert set(store.settled) == set(store.opened)


def test_a_kept_reply_that_fits_its_schema_no_more_is_asked_anew():
    store = MemoryCallStore()
    chat = chat_with(store=store)
    store.replies[chat.key_of(request())] = StoredReply("nonsense", 1, 1)

    assert not chat.ask(request()).is_cached


def test_no_requests_are_no_calls():
    store = MemoryCallStore()

    assert list(chat_with(store=store).ask_many([])) == []
    assert store.opened == {}


def test_limits_leave_room_for_the_answer():
    chat = chat_with(context_window=4_000, models={Role.JUDGE: "model-j"})

    assert chat.input_limit(Role.EXTRACT) == 4_000 - 2_000 - 120
    assert chat.input_limit(Role.SITUATE) == 4_000 - 200 - 120
    assert (chat.model_of(Role.JUDGE), chat.model_of(Role.ANSWER)) == ("model-j", "model-a")
