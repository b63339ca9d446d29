"""Whose fault it is when an answer does not come. More about exchanges in ``test_chat``."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from kb_project.errors import EndpointError, RefusedError, ReplyError
from kb_project.llm.call import window_that_cut
from kb_project.llm.capabilities import Feature
from kb_project.llm.fake import FakeProvider, MemoryCallStore
from kb_project.llm.ports import ChatReply, Role
from kb_project.llm.provider import RawCall, RawReply, UnsupportedError
from tests.kb_project.llm.asking import chat_on, chat_with, request
from tests.patience import NEVER, PATIENCE
from tests.provider import Provider, Seen

ANSWER = '{"names": ["Ada"]}'


def too_slow() -> EndpointError:
    return EndpointError("Too slow.", code="endpoint_timeout")


def only_small(call: RawCall) -> str:
    """A model that never comes to an end with one passage."""
    if "bad" in call.text:
        raise too_slow()
    return "Yes."


def test_a_passage_that_alone_makes_the_endpoint_time_out_is_its_own_fault():
    store = MemoryCallStore()

    with pytest.raises(ReplyError) as raised:
        chat_with(answer=only_small, store=store).ask(request("bad"))

    assert raised.value.code == "reply_timeout"
    [outcome] = store.settled.values()
    assert (outcome.reply, outcome.code) == (None, "reply_timeout")


def test_a_passage_that_timed_out_is_asked_about_once_more_after_the_next_answer():
    tries: Counter[str] = Counter()

    def answer(call: RawCall) -> str:
        tries[call.request.prompt.user] += 1
        if "slow" in call.text and tries["good"] == 0:
            raise too_slow()
        return "Yes." if call.request.schema is None else ANSWER

    calls = [request("slow"), request("good")]
    results = dict(chat_with(answer=answer, concurrency=1).ask_many(calls))

    assert {place: type(one) for place, one in results.items()} == {0: ChatReply, 1: ChatReply}


def test_every_resume_gets_past_such_a_passage():
    calls = [request("bad"), request("good", schema=None), request("bad too")]

    for _ in range(3):
        results = dict(chat_with(answer=only_small, concurrency=1).ask_many(calls))
        assert {place: type(one) for place, one in results.items()} == {
            0: ReplyError,
            1: ChatReply,
            2: ReplyError,
        }


def test_an_outage_that_ends_with_the_last_attempt_is_nobodys_fault():
    tries: Iterator[bool] = iter([False] * 4 + [True] * 9)

    def answer(_: RawCall) -> str:
        if next(tries):
            return ANSWER
        raise EndpointError("Away.", code="endpoint_down")

    assert isinstance(chat_with(answer=answer).ask(request()), ChatReply)


@pytest.mark.parametrize(
    ("knocked", "expected"),
    [
        (too_slow, EndpointError),
        (lambda: RefusedError("The key is withdrawn."), RefusedError),
        (lambda: ReplyError("No."), ReplyError),
    ],
)
def test_what_the_endpoint_says_to_a_tiny_call_decides(
    knocked: Callable[[], Exception], expected: type[Exception]
):
    def answer(call: RawCall) -> str:
        raise knocked() if call.request.prompt.name == "knock" else too_slow()

    with pytest.raises(expected):
        chat_with(answer=answer).ask(request())


def test_an_outage_that_begins_while_others_are_answered_is_not_the_passages_fault():
    answered = threading.Event()

    def answer(call: RawCall) -> str:
        if "good" in call.text and not answered.is_set():
            return ANSWER
        # The server dies once the first call was answered.
        answered.wait(PATIENCE)
        raise EndpointError("Away.", code="endpoint_down")

    calls = [request("good"), request("one"), request("two")]
    results = chat_with(answer=answer).ask_many(calls)
    assert next(results)[0] == 0
    answered.set()
    with pytest.raises(EndpointError):
        list(results)


def test_a_form_that_the_model_missed_is_dropped_for_that_call_only():
    def answer(call: RawCall) -> str:
        if "hard" in call.text and call.support.schema:
            raise UnsupportedError(Feature.SCHEMA, is_lasting=False)
        return ANSWER

    provider = FakeProvider(answer)
    chat = chat_with(provider)
    assert isinstance(chat.ask(request("hard")), ChatReply)
    assert isinstance(chat.ask(request("easy")), ChatReply)

    assert [call.support.schema for call in provider.calls] == [True, False, True]


def test_a_busy_endpoint_is_not_knocked_at():
    def answer(_: RawCall) -> str:
        raise EndpointError("Busy.", code="endpoint_busy")

    provider = FakeProvider(answer)
    with pytest.raises(EndpointError):
        chat_with(provider).ask(request())

    assert "knock" not in {call.request.prompt.name for call in provider.calls}


def test_over_the_line_a_passage_that_hangs_does_not_hold_up_the_work():
    def answer(seen: Seen) -> str:
        if "bad" in seen.text:
            server.closing.wait(NEVER)
        return ANSWER

    with Provider() as server:
        server.script.on("", answer)

        results = dict(chat_on(server, timeout=1.0).ask_many([request("bad")]))

    assert isinstance(results[0], ReplyError)
    assert results[0].code == "reply_timeout"


def test_a_model_that_only_thinks_has_not_answered():
    with pytest.raises(ReplyError) as raised:
        chat_with(answer="<think>Where to begin?").ask(request(schema=None))

    assert raised.value.code == "reply_empty"


@pytest.mark.parametrize("role", [Role.SITUATE, Role.SUMMARISE])
@pytest.mark.parametrize("said", ["I'm sorry, but I can't assist with that.", "抱歉，我无法提供。"])
def test_a_refusal_in_words_is_not_kept_as_a_context_or_a_summary(role: Role, said: str):
    store = MemoryCallStore()

    with pytest.raises(ReplyError) as raised:
        chat_with(answer=said, store=store).ask(request(schema=None, role=role))

    assert raised.value.code == "reply_refused"
    assert not store.replies


def test_an_answer_cut_off_without_a_word_is_asked_for_again_and_never_kept():
    store = MemoryCallStore()
    said = iter([ANSWER[:-4], ANSWER])
    provider = FakeProvider(lambda _: next(said))
    assert chat_with(provider, store=store).ask(request()).text == ANSWER

    with pytest.raises(ReplyError) as raised:
        chat_with(answer=ANSWER[:-4], store=store).ask(request("other"))

    assert raised.value.code == "reply_truncated"
    assert [kept.text for kept in store.replies.values()] == [ANSWER]


def test_a_count_that_happens_to_be_a_windows_is_no_cut_prompt():
    asked = chat_with()._prepared(request("The keeper of the light wrote it all down. " * 230))
    chinese = chat_with()._prepared(request("守灯人每天晚上都点亮那盏灯。" * 240))

    assert window_that_cut(asked, RawReply("", prompt_tokens=2_048)) == 0
    assert window_that_cut(chinese, RawReply("", prompt_tokens=2_047)) == 0
    assert window_that_cut(asked, RawReply("", prompt_tokens=1_024)) == 1_024
    assert window_that_cut(chinese, RawReply("")) == 0
