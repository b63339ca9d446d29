from __future__ import annotations

import uuid

import pytest
from hypothesis import given, strategies as st

from ingestion.models import Document
from kb_project.ports import build_ports
from retrieval.answering import greeting
from retrieval.answering.drafts import Asking
from retrieval.answering.greeting import Holding, is_greeting, reply, without_greeting
from tests import rows
from tests.retrieval.answering.asked import make_asked_cast
from workspaces import access
from workspaces.models import Workspace


@pytest.mark.parametrize(
    "said",
    [
        "hello",
        "Hi there!",
        "Good morning, everyone",
        "hey, what can you do?",
        "What can I ask you?",
        "help",
        "Thanks!",
        "ok, thank you very much.",
        "Hi, how are you?",
        "你好",
        "您好！",
        "你能做什么？",
        "谢谢",
    ],
)
def test_a_greeting_asks_nothing_of_the_documents(said):
    assert is_greeting(said)


@pytest.mark.parametrize(
    "said",
    [
        "What does Hello World print?",
        "Hi! Who keeps the light?",
        "hello world",
        "Help desk hours",
        "What can you do about rust?",
        "Thanks to whom was the lens saved?",
        "帮助文件在哪里？",
        "",
    ],
)
def test_a_question_is_no_greeting(said):
    assert not is_greeting(said)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Hi! Who keeps the light?", "Who keeps the light?"),
        ("Hello there, who keeps the light?", "who keeps the light?"),
        ("Thanks! And why?", "And why?"),
        ("你好，谁看守灯塔？", "谁看守灯塔？"),
        ("Hello World prints what?", "Hello World prints what?"),
        ("hello", "hello"),
    ],
)
def test_what_follows_a_greeting_is_the_question(said, asked):
    assert without_greeting(said) == asked


def test_the_reply_says_what_there_is_and_what_can_be_asked():
    holding = Holding(12, ["Handbook", "Log"], ["Boats", "Pay"], ["Who keeps the light?"])

    said = " ".join(reply("hello", holding))

    assert "12 documents, including “Handbook” and “Log”" in said
    assert "Boats and Pay" in said
    assert said.endswith("For example: Who keeps the light?")


def test_the_reply_is_chinese_where_the_greeting_is():
    said = "".join(reply("你好", Holding(2, ["灯塔日志", "手册"], ["船只"], ["谁看守灯塔？"])))

    assert said.startswith("你好。这里有2份文件：《灯塔日志》《手册》。")
    assert said.endswith("例如：谁看守灯塔？")


def test_an_empty_workspace_says_so():
    assert "no searchable documents" in " ".join(reply("hello", Holding(0)))
    assert "还没有" in "".join(reply("你好", Holding(0)))


@given(st.text(max_size=100))
def test_no_text_breaks_it(said):
    assert is_greeting(said) in (True, False)
    assert reply(said, Holding(0))


# --- of a workspace -------------------------------------------------------------------------------
def greeted(workspace: Workspace, question: str = "Hello!"):
    return greeting.draft(Asking(workspace, uuid.uuid4(), question, "auto"))


@pytest.mark.django_db
def test_a_greeting_is_answered_without_a_search(fake_embedder):
    cast = make_asked_cast()

    draft = greeted(cast.workspace)

    assert draft is not None
    assert draft.is_supported
    assert draft.citations == ()
    said = " ".join(one.text for one in draft.sentences)
    assert "1 document: “Keepers”" in said
    assert draft.trace["hits"] == 0


@pytest.mark.django_db
def test_a_greeting_leads_to_questions_that_can_be_asked(fake_embedder):
    workspace = rows.make_workspace()
    rows.make_document(
        workspace,
        "Keepers",
        "Ada Lind kept Skarrow Light.",
        names={"Ada Lind": "person", "Skarrow Light": "place"},
        embedder=build_ports().embedder,
    )

    draft = greeted(workspace, "What can you do?")

    assert draft is not None
    assert draft.suggest().questions == ("Who kept Skarrow Light?",)
    assert "Who kept Skarrow Light?" in draft.sentences[-1].text


@pytest.mark.django_db
def test_documents_that_are_not_searched_are_not_told_of(fake_embedder):
    cast = make_asked_cast()
    with access.in_workspace(cast.workspace.pk):
        Document.objects.in_workspace(cast.workspace).update(disabled_at="2026-01-01T00:00Z")

    draft = greeted(cast.workspace)

    assert draft is not None
    assert not any("Keepers" in one.text for one in draft.sentences)


@pytest.mark.django_db
def test_a_question_is_left_to_the_search(fake_embedder):
    assert greeted(make_asked_cast().workspace, "Who keeps the Skarrow light?") is None
