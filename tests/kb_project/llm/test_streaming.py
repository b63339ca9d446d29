from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import BudgetError, EndpointError, ReplyError
from kb_project.llm.capabilities import Feature
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.structured import streamed_without_thoughts
from tests.kb_project.llm.asking import chat_on, chat_with, request
from tests.provider import Provider

ANSWER = "Marley was dead to begin with."


@pytest.fixture
def server():
    with Provider() as running:
        running.script.on("Ada", ANSWER)
        yield running


def test_an_answer_comes_in_pieces_and_is_kept_whole(server):
    store = MemoryCallStore()
    chat = chat_on(server, store=store)

    pieces = list(chat.stream(request(schema=None)))

    assert len(pieces) == 6
    assert "".join(pieces) == ANSWER
    [outcome] = store.settled.values()
    assert outcome.reply == ANSWER
    assert outcome.completion_tokens == len(ANSWER) // 4


def test_the_same_question_is_answered_from_the_cache(server):
    store = MemoryCallStore()
    chat = chat_on(server, store=store)
    list(chat.stream(request(schema=None)))

    assert "".join(chat.stream(request(schema=None))) == ANSWER
    assert server.count() == 1
    assert len(store.cached) == 1


def test_an_answer_that_breaks_off_is_not_kept(server):
    store = MemoryCallStore()
    server.script.next("cut")
    pieces: list[str] = []

    with pytest.raises(ReplyError) as raised:
        pieces.extend(chat_on(server, store=store).stream(request(schema=None)))

    assert raised.value.code == "reply_truncated"
    assert 0 < len(pieces) < 6
    [outcome] = store.settled.values()
    assert (outcome.reply, outcome.code) == (None, "reply_truncated")
    assert outcome.completion_tokens > 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [("truncated", "reply_truncated"), ("huge", "reply_invalid"), ("empty", "reply_empty")],
)
def test_a_bad_stream_is_not_kept(server, fault, code):
    store = MemoryCallStore()
    server.script.next(fault)

    with pytest.raises(ReplyError) as raised:
        list(chat_on(server, store=store).stream(request(schema=None)))

    assert raised.value.code == code
    assert store.replies == {}


def test_before_the_first_piece_it_is_tried_again(server):
    server.script.next("500", times=2)

    assert "".join(chat_on(server).stream(request(schema=None))) == ANSWER


def test_an_endpoint_that_stays_away_pauses(server):
    store = MemoryCallStore()
    server.script.next("500", times=20)

    with pytest.raises(EndpointError):
        list(chat_on(server, store=store).stream(request(schema=None)))

    assert [outcome.code for outcome in store.settled.values()] == ["endpoint_down"]


def test_whoever_stops_reading_is_counted_for_what_was_said(server):
    store = MemoryCallStore()
    pieces = chat_on(server, store=store).stream(request(schema=None))

    next(pieces)
    pieces.close()

    [outcome] = store.settled.values()
    assert (outcome.code, outcome.reply) == ("stopped", None)
    assert outcome.prompt_tokens > 0


def test_a_spent_budget_is_said_before_anything_is_sent(server):
    class Empty(MemoryCallStore):
        def open_calls(self, calls):
            raise BudgetError("All is spent.")

    with pytest.raises(BudgetError):
        list(chat_on(server, store=Empty()).stream(request(schema=None)))

    assert server.count() == 0


def test_a_server_that_does_not_stream_answers_in_one_piece():
    chat = chat_with(answer=ANSWER)
    chat._exchange.capabilities.step_down(Feature.STREAM)

    assert list(chat.stream(request(schema=None))) == [ANSWER]


def test_a_text_longer_than_the_window_is_refused_before_it_costs():
    chat = chat_with(context_window=500)

    with pytest.raises(ReplyError) as raised:
        list(chat.stream(request("word " * 900, schema=None)))

    assert raised.value.code == "context_too_long"


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        (["<th", "ink>hm", "</thi", "nk>\n", "Yes", "."], "Yes."),
        (["<think>hm</think>Yes", "."], "Yes."),
        (["<b>", "Yes"], "<b>Yes"),
        (["<"], "<"),
        (["<think>", "never ends"], ""),
    ],
)
def test_what_a_model_says_to_itself_is_left_out(pieces, left):
    assert "".join(streamed_without_thoughts(iter(pieces))) == left


@given(st.lists(st.text(alphabet="ab <>", min_size=1)))
def test_other_text_passes_unchanged(pieces):
    assert "".join(streamed_without_thoughts(iter(pieces))) == "".join(pieces)
