from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import About, ChatRequest, Role
from kb_project.prompt import Prompt
from retrieval.answering.citations.citing import sentences_in
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.writing import NO_ANSWER, Refusal, stream
from tests.retrieval.answering.scripted import Told

REQUEST: ChatRequest[Any] = ChatRequest(
    Role.ANSWER, Prompt("answer", "1", "s", "u"), About("answer")
)


def through(*pieces):
    refusal = Refusal()
    shown = "".join(refusal.feed(piece) for piece in pieces) + refusal.close()
    return shown, refusal.is_heard


def said(text, **changes):
    numbering = Numbering([], given=frozenset({"T1"}), **changes)
    told = Told()
    sieve, is_refused = stream(FakeChat(lambda _: text), REQUEST, numbering, told)
    assert told.text == sieve.text
    return sieve, is_refused


@pytest.mark.parametrize(
    ("text", "shown", "is_heard"),
    [
        ("NO_ANSWER", "", True),
        ("  NO_ANSWER. Sorry.", "", True),
        ("It burns oil.", "It burns oil.", False),
        ("NO_ANS", "NO_ANS", False),
        ("It burns oil. NO_ANSWER", "It burns oil. ", True),
    ],
)
def test_the_word_for_no_answer_is_taken_out(text, shown, is_heard):
    assert through(text) == (shown, is_heard)
    assert through(*text) == (shown, is_heard)


@given(
    parts=st.lists(st.sampled_from(["NO_", "ANSWER", NO_ANSWER, "N", "a", " ", "."]), max_size=9)
)
def test_it_does_not_matter_how_the_text_is_cut(parts):
    text = "".join(parts)

    shown, is_heard = through(*parts)

    assert (shown, is_heard) == through(text) == through(*text)
    assert NO_ANSWER not in shown or is_heard


def test_a_text_without_a_word_is_no_answer():
    assert said("[T9] ...")[1]
    assert said("NO_ANSWER")[1]
    assert not said("It burns oil.")[1]


def test_general_knowledge_is_marked_where_it_is_allowed():
    allowed, _ = said("Oil burns. [G] So it is.", allows_general=True)
    refused, _ = said("Oil burns. [G] So it is.")

    assert [one.numbers for one in sentences_in(allowed.text, allowed.placed)] == [(0,), ()]
    assert refused.text == "Oil burns. So it is."
    assert refused.counts.foreign == 1


def test_a_list_keeps_its_lines():
    sieve, _ = said("Keepers:\n\n- Ada Lind\n- Bo Strand.\n\nThat is all.", allows_general=True)

    assert [one.text for one in sentences_in(sieve.text, sieve.placed)] == [
        "Keepers:",
        "\n\n- Ada Lind",
        "\n- Bo Strand.",
        "\n\nThat is all.",
    ]
