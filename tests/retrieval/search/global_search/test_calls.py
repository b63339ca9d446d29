from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from kb_project.errors import BudgetError, ReplyError
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Role
from retrieval.search.global_search import batches, calls
from retrieval.search.global_search.replies import MapReply
from retrieval.search.query import Query, QuestionVector
from retrieval.search.reporting import StoppedError
from tests.retrieval.search.global_search.model import scripted

QUERY = Query(
    UUID(int=1), "Why?", 5, QuestionVector(FakeEmbedder(), "Why?"), question_id=UUID(int=7)
)


def requests(count):
    return [
        batches.request(
            QUERY, Role.ANSWER, batches.filled("global_map", "Why?", f"T1 {number}"), MapReply
        )
        for number in range(count)
    ]


def test_values_come_in_the_order_of_the_requests_and_none_for_what_got_no_answer():
    chat = scripted(
        global_map=lambda request: (
            ReplyError("No.", code="reply_invalid")
            if "T1 1" in request.prompt.user
            else {"points": []}
        )
    )

    values = calls.values(QUERY, chat, requests(3))

    assert [value is None for value in values] == [False, True, False]


def test_calls_are_counted_for_the_question_they_are_made_for():
    chat = scripted(global_map=lambda _: {"points": []})

    calls.values(QUERY, chat, requests(1))

    about = chat.requests[0].about
    assert (about.stage, about.question_id) == ("search", UUID(int=7))


def test_a_pause_is_no_empty_answer():
    chat = scripted(global_map=lambda _: BudgetError("Spent."))

    with pytest.raises(BudgetError):
        calls.values(QUERY, chat, requests(2))


def test_after_a_stop_no_further_call_is_made():
    class Impatient:
        def emit(self, kind, payload):
            """Not asked for."""

        def check(self):
            raise StoppedError("Stopped.")

    chat = scripted(global_map=lambda _: {"points": []})

    with pytest.raises(StoppedError):
        calls.values(replace(QUERY, reporter=Impatient()), chat, requests(9))

    assert len(chat.requests) < 9
