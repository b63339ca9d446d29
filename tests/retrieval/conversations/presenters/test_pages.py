"""Conversations as pages show them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from retrieval.conversations import asking, queries
from retrieval.conversations.presenters import pages
from retrieval.conversations.presenters.ask_box import ask_next
from retrieval.conversations.presenters.pages import (
    OPEN_TURNS,
    thread_of,
    tries_of,
)
from retrieval.models import Answer, AnswerState, Question
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Keepers", "Ada Lind keeps the Skarrow light.")
    return cast


def talk(cast, *texts, user=None):
    """The questions, asked one after the other in one conversation, all answered."""
    asked: list[Question] = []
    for age, text in enumerate(texts):
        answer = asking.ask(
            workspace=cast.workspace,
            user=user or cast.alice,
            question=text,
            mode="lexical",
            conversation_id=asked[0].conversation_id if asked else None,
        )
        asked.append(answer.question)
        with access.in_workspace(cast.workspace.pk):
            Question.objects.in_workspace(cast.workspace).filter(pk=answer.question_id).update(
                created_at=timezone.now() - timedelta(hours=len(texts) - age)
            )
    with access.in_workspace(cast.workspace.pk):
        return [Question.objects.in_workspace(cast.workspace).get(pk=one.pk) for one in asked]


def thread(cast, question):
    with access.in_workspace(cast.workspace.pk):
        return thread_of(workspace=cast.workspace, question=question)


def listed(cast, user):
    with access.in_workspace(cast.workspace.pk):
        return list(queries.conversations_of(workspace=cast.workspace, user=user, most=10))


def test_a_first_question_has_nothing_before_it(cast):
    (question,) = talk(cast, "Who keeps the light?")

    found = thread(cast, question)

    assert (found.folded, found.open, found.newest) == ((), (), None)


def test_what_was_asked_before_stands_above_the_newest_open(cast):
    questions = talk(cast, *(f"Who keeps light number {n}?" for n in range(5)))

    found = thread(cast, questions[-1])

    assert [turn.question.text[-2] for turn in found.folded] == ["0", "1"]
    assert [turn.question.text[-2] for turn in found.open] == ["2", "3"]
    assert len(found.open) == OPEN_TURNS


def test_a_turn_shows_its_answer_with_the_numbers_of_its_sources(cast):
    *_, last = talk(cast, "Who keeps the Skarrow light?", "And who else?")

    (turn,) = thread(cast, last).open

    assert turn.sentences[0].text == "Ada Lind keeps the Skarrow light."
    assert turn.sentences[0].numbers == (1,)
    assert turn.state == AnswerState.DONE


def test_an_earlier_question_leads_on_to_the_newest(cast):
    first, _, last = talk(cast, "Who keeps the light?", "And then?", "And now?")

    assert thread(cast, first).newest == last
    assert thread(cast, last).newest is None


def test_of_several_answers_the_conversation_shows_one_that_was_finished(cast):
    first, last = talk(cast, "Who keeps the Skarrow light?", "And now?")
    again = asking.answer_again(workspace=cast.workspace, user=cast.alice, question_id=first.pk)
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).filter(pk=again.pk).update(
            state=AnswerState.FAILED
        )

    (turn,) = thread(cast, last).open

    assert turn.state == AnswerState.DONE
    assert turn.sentences


def test_all_answers_of_a_question_can_be_reached(cast):
    (question,) = talk(cast, "Who keeps the Skarrow light?")
    again = asking.answer_again(
        workspace=cast.workspace, user=cast.alice, question_id=question.pk, mode="hybrid"
    )

    with access.in_workspace(cast.workspace.pk):
        first, second = tries_of(workspace=cast.workspace, question=question, shown=again)

    assert (first.number, first.label, first.is_shown) == (1, "Words", False)
    assert (second.number, second.label, second.is_shown) == (2, "Hybrid", True)


def test_only_a_persons_own_conversations_are_listed_with_their_newest_question(cast):
    *_, last = talk(cast, "Who keeps the light?", "And now?")
    talk(cast, "What burns?", user=cast.bob)

    (conversation,) = listed(cast, cast.alice)

    assert conversation.title == "Who keeps the light?"
    assert (conversation.newest, conversation.asked) == (last.pk, 2)
    assert listed(cast, cast.charlie) == []


def test_a_conversation_of_somebody_else_is_not_continued(cast):
    (question,) = talk(cast, "Who keeps the light?")

    with access.in_workspace(cast.workspace.pk):
        alices = ask_next(workspace=cast.workspace, user=cast.alice, question=question)
        bobs = ask_next(workspace=cast.workspace, user=cast.bob, question=question)

    assert alices.conversation == question.conversation_id
    assert bobs.conversation is None


def test_a_page_never_shows_events_of_a_state_that_it_has_not_read(cast, monkeypatch):
    question = asking.question_ask(
        workspace=cast.workspace, user=cast.alice, question="Who keeps the light?", mode="lexical"
    ).question
    read = pages.progress_of

    def read_while_a_worker_begins(*, workspace, **wanted):
        found = read(workspace=workspace, **wanted)
        Answer.objects.in_workspace(workspace).update(state=AnswerState.RUNNING)
        return found

    monkeypatch.setattr(pages, "progress_of", read_while_a_worker_begins)

    with access.in_workspace(cast.workspace.pk):
        part = pages.answer_part(workspace=cast.workspace, question_id=question.pk, answer_id=None)

    assert (part["answer"].state, part["progress"].sequence) == (AnswerState.RUNNING, 0)
