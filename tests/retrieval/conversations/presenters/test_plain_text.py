"""An answer and a conversation as plain text."""

from __future__ import annotations

import pytest

from retrieval.conversations import asking, queries
from retrieval.conversations.presenters.answers import shown_answer
from retrieval.conversations.presenters.plain_text import answer_text, conversation_text
from retrieval.models import Answer, AnswerState, Question
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

ORIGIN = "https://kb.example.org"
TEXT = "Ada Lind keeps the Skarrow light. The light burns oil."


@pytest.fixture
def cast():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Keepers", TEXT)
    return cast


def ask(cast, text, before: Question | None = None) -> Question:
    return asking.ask(
        workspace=cast.workspace,
        user=cast.alice,
        question=text,
        mode="lexical",
        conversation_id=before.conversation_id if before else None,
    ).question


def change(cast, question: Question, **fields) -> None:
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).filter(question=question).update(**fields)


def text_of(cast, question: Question) -> str:
    with access.in_workspace(cast.workspace.pk):
        asked = queries.asked(workspace=cast.workspace, question_id=question.pk)
        shown = shown_answer(workspace=cast.workspace, asked=asked)
        return answer_text(shown, origin=ORIGIN)


def conversation(cast, question: Question) -> str:
    with access.in_workspace(cast.workspace.pk):
        return conversation_text(workspace=cast.workspace, question=question, origin=ORIGIN)


def test_an_answer_stands_above_its_numbered_sources_with_their_addresses(cast):
    said, _, sources = text_of(cast, ask(cast, "Who keeps the Skarrow light?")).partition(
        "\n\nSources\n"
    )

    assert said.startswith("Ada Lind keeps the Skarrow light. [1]")
    title, address = sources.splitlines()[:2]
    assert title == "[1] Keepers: “Ada Lind keeps the Skarrow light.”"
    assert address.strip().startswith(f"{ORIGIN}/w/{cast.workspace.slug}/documents/")


def test_entries_are_a_list_and_doubts_are_said(cast):
    question = ask(cast, "Who keeps the Skarrow light?")
    change(
        cast,
        question,
        written_by="some-model",
        sentences=[
            {"text": "Two people keep it:", "citations": [1]},
            {"text": "\n- Ada Lind", "citations": [1]},
            {"text": "\n- Bo Ek", "citations": [1], "check": {"verdict": "unsupported"}},
            {"text": "\nIt is tall.", "citations": []},
        ],
    )

    said = text_of(cast, question).split("\n\n")

    assert said[:3] == [
        "Two people keep it: [1]",
        "- Ada Lind [1]\n- Bo Ek [1] (not supported by its source)",
        "It is tall. (no source found)",
    ]


def test_what_was_not_answered_says_so(cast):
    nothing = ask(cast, "Zebra quantum?")
    failed = ask(cast, "Who keeps the Skarrow light?")
    change(cast, failed, state=AnswerState.FAILED)

    assert text_of(cast, nothing) == "Your documents say nothing about this."
    assert text_of(cast, failed) == "It could not be answered."


def test_a_conversation_has_all_its_questions_in_order_and_no_others(cast):
    ask(cast, "Is this another conversation?")
    first = ask(cast, "Who keeps the Skarrow light?")
    second = ask(cast, "What does the light burn?", before=first)

    text = conversation(cast, first)

    assert text == conversation(cast, second)
    places = [text.index(one.text) for one in (first, second)]
    assert places == sorted(places)
    assert text.count("Asked on") == 2
    assert "The light burns oil. [1]" in text
