from __future__ import annotations

from dataclasses import replace

import pytest

from kb_project.errors import ConflictError, InputError
from kb_project.llm.ports import Role
from retrieval.answering import context_only
from retrieval.answering.context_only import CONTEXT, PROMPT
from retrieval.answering.drafts import Asking, Earlier
from tests.retrieval.answering.scripted import answer_prompt, asked, make_cast, model
from workspaces.ports import ports_for

pytestmark = pytest.mark.django_db
QUESTION = "Who keeps the Skarrow light?"


@pytest.fixture
def cast(fake_embedder):
    return make_cast()


def given(cast, only, *, chat=None, question=QUESTION, mode="lexical", earlier=()):
    ports = replace(ports_for(cast.workspace.pk), chat=chat)
    asking = Asking(cast.workspace, None, question, mode, earlier=earlier, ports=ports)
    return context_only.context_only(asking, only)


def test_the_messages_are_those_that_an_answer_would_send(cast, monkeypatch):
    chat = model(monkeypatch, "Ada Lind keeps the light [1].")
    asked(cast)
    sent = answer_prompt(chat)
    chat.requests.clear()

    found = given(cast, PROMPT, chat=chat)

    system, user = found["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == sent
    assert found["text"] in sent
    assert chat.requests == []


def test_the_context_has_labels_and_sources_without_a_model(cast):
    found = given(cast, CONTEXT)

    first, *_ = found["items"]
    passages = {one["number"]: one for one in found["passages"]}
    assert (first["section"], first["label"], first["sources"]) == ("passages", "1", [1])
    assert "Ada Lind keeps the Skarrow light." in first["text"]
    assert first["text"] in found["text"]
    assert passages[1]["text"] in first["text"]
    assert found["messages"] == []
    assert found["plan"]["mode"] == "lexical"


def test_a_record_names_the_passages_behind_it(cast):
    found = given(cast, CONTEXT, mode="entities")

    records = [one for one in found["items"] if one["section"] == "records"]
    numbers = {one["number"] for one in found["passages"]}
    assert [one["label"][0] for one in records] == ["E"]
    assert "Ada Lind" in records[0]["text"]
    assert records[0]["sources"]
    assert numbers.issuperset(records[0]["sources"])


def test_the_conversation_is_read_as_for_an_answer(cast, monkeypatch):
    chat = model(monkeypatch, "unused")

    found = given(
        cast,
        PROMPT,
        chat=chat,
        question="Who is she?",
        earlier=(Earlier(QUESTION, "Ada Lind keeps it."),),
    )

    assert Role.ANSWER not in {one.role for one in chat.requests}
    assert "Answered: Ada Lind keeps it." in found["messages"][1]["content"]


def test_nothing_found_is_an_empty_context_and_no_message(cast, monkeypatch):
    found = given(cast, PROMPT, chat=model(monkeypatch, "unused"), question="zyxwv qponm?")

    assert (found["text"], found["items"], found["messages"]) == ("", [], [])


def test_without_a_model_there_is_no_prompt(cast):
    with pytest.raises(ConflictError, match="no language model"):
        given(cast, PROMPT)


def test_a_greeting_has_no_context(cast):
    with pytest.raises(InputError, match="greeting"):
        given(cast, CONTEXT, question="Hello!")
