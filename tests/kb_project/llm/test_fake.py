from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeChat, FakeEmbedder
from kb_project.llm.ports import About, ChatRequest, Role
from kb_project.prompt import Prompt


class Names(BaseModel):
    names: list[str]


def test_texts_that_share_words_are_alike():
    embedder = FakeEmbedder()
    passages = embedder.embed_passages(["Marley was a partner", "eggs and flour"])

    scores = passages @ embedder.embed_question("whose partner was Marley")

    assert scores[0] > scores[1]


def test_the_same_text_gives_the_same_vector_of_length_one():
    first, second = FakeEmbedder(32), FakeEmbedder(32)

    assert np.array_equal(first.embed_question("a ghost"), second.embed_passages(["a ghost"])[0])
    assert np.isclose(np.linalg.norm(first.embed_question("a ghost")), 1)


def test_a_text_without_words_has_a_vector_too():
    assert np.isclose(np.linalg.norm(FakeEmbedder().embed_question("")), 1)


def test_no_passages_give_no_vectors():
    assert FakeEmbedder().embed_passages([]).shape == (0, 64)


def test_dimensions_are_told_apart_by_the_fingerprint():
    assert FakeEmbedder(32).fingerprint != FakeEmbedder(64).fingerprint


def request(text: str) -> ChatRequest[Names]:
    return ChatRequest(Role.EXTRACT, Prompt("names", "1", "", text), About("extract"), Names)


def test_a_fake_chat_says_what_it_is_told():
    told: dict[str, Any] = {
        "model": Names(names=["Ada"]),
        "dict": {"names": ["Ada"]},
        "text": '{"names": ["Ada"]}',
    }
    chat = FakeChat(lambda asked: told[asked.prompt.user])

    replies = [chat.ask(request(kind)).value for kind in told]

    assert replies == [Names(names=["Ada"])] * 3
    assert [asked.prompt.user for asked in chat.requests] == list(told)


def test_a_fake_chat_raises_what_it_is_told():
    chat = FakeChat(lambda _: ReplyError("No.", code="reply_refused"))

    with pytest.raises(ReplyError) as raised:
        chat.ask(request("x"))

    assert raised.value.code == "reply_refused"


def test_a_fake_chat_asks_in_order_and_once():
    chat = FakeChat(lambda asked: {"names": [asked.prompt.user]})

    results = list(chat.ask_many([request(text) for text in "abcab"]))
    again = list(chat.ask_many([request(text) for text in "abc"]))

    assert sorted(place for place, _ in results) == [0, 1, 2, 3, 4]
    assert [asked.prompt.user for asked in chat.requests] == ["a", "b", "c"]
    assert all(reply.is_cached for _, reply in again)


def test_a_fake_chat_streams():
    chat = FakeChat(lambda _: "Marley was dead.")
    asked: ChatRequest[Names] = replace(request("x"), schema=None)

    assert list(chat.stream(asked)) == ["Marley ", "was ", "dead."]
