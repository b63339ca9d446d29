from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import Settings

from kb_project.errors import NotFoundError
from retrieval.answering import suggestions
from retrieval.conversations import asking, queries
from retrieval.models import Answer, Question
from tests import rows
from workspaces import access
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

KEEPERS = "Ada Lind keeps the Skarrow light.\n\nThe lamp burns oil."


@pytest.fixture
def cast():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Keepers", KEEPERS)
    return cast


def asked_before(cast, user, *texts):
    """Questions of a person, the first of them asked longest ago."""
    now = timezone.now()
    with access.in_workspace(cast.workspace.pk):
        for age, text in enumerate(reversed(texts)):
            question = Question.objects.create(
                workspace=cast.workspace, text=text, mode="walk", asked_by=user
            )
            Question.objects.in_workspace(cast.workspace).filter(pk=question.pk).update(
                created_at=now - timedelta(hours=age)
            )


def listed(cast, user, most=10):
    with access.in_workspace(cast.workspace.pk):
        found = queries.asked_by(workspace=cast.workspace, user=user, most=most)
    return [question.text for question in found]


def reading(cast, question_id):
    with access.in_workspace(cast.workspace.pk):
        return queries.asked(workspace=cast.workspace, question_id=question_id)


def test_the_newest_question_is_listed_first(cast):
    asked_before(cast, cast.alice, "First?", "Second?", "Third?")

    assert listed(cast, cast.alice) == ["Third?", "Second?", "First?"]


def test_a_question_asked_again_is_listed_once_where_it_was_asked_last(cast):
    asked_before(cast, cast.alice, "Again?", "Other?", "Again?")

    assert listed(cast, cast.alice) == ["Again?", "Other?"]


def test_no_more_questions_are_listed_than_wanted(cast):
    asked_before(cast, cast.alice, *(f"Number {number}?" for number in range(6)))

    assert listed(cast, cast.alice, most=2) == ["Number 5?", "Number 4?"]


def test_the_questions_of_others_are_not_listed(cast):
    asked_before(cast, cast.alice, "Mine?")

    assert listed(cast, cast.bob) == []


def test_an_answer_is_read_with_its_citations_in_their_order(cast):
    answer = asking.ask(
        workspace=cast.workspace,
        user=cast.alice,
        question="Who keeps the Skarrow light, and what does the lamp burn?",
        mode="lexical",
    )

    found = reading(cast, answer.question_id)

    assert found.answer == answer
    assert [row.number for row in found.citations] == [1, 2]
    assert {row.quote for row in found.citations} == set(KEEPERS.split("\n\n"))


def test_of_several_answers_the_newest_is_read(cast):
    first = asking.ask(
        workspace=cast.workspace, user=None, question="Who keeps the light?", mode="lexical"
    )
    with access.in_workspace(cast.workspace.pk):
        second = Answer.objects.create(
            workspace=cast.workspace, question=first.question, is_supported=False
        )

    assert reading(cast, first.question_id).answer == second


def test_a_question_that_was_never_answered_is_not_found(cast):
    asked_before(cast, cast.alice, "Unanswered?")
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.in_workspace(cast.workspace).get()

    for question_id in (question.pk, uuid4()):
        with pytest.raises(NotFoundError, match="no such question"):
            reading(cast, question_id)


def test_collections_are_listed_by_name_and_only_those_of_the_workspace(cast):
    for name in ("Plans", "Logs"):
        rows.make_collection(cast.workspace, name)
    rows.make_collection(rows.make_workspace("Elsewhere"), "Secrets")

    with access.in_workspace(cast.workspace.pk):
        found = queries.collections_of(workspace=cast.workspace)

    assert [row.name for row in found] == ["Logs", "Plans"]


def starters_of(workspace):
    with access.in_workspace(workspace.pk):
        return suggestions.starters(workspace=workspace)


def test_starters_are_still_to_be_found_out_for_a_workspace_nobody_looked_at(cast):
    assert starters_of(cast.workspace) is None


def test_the_demo_offers_questions_written_for_it():
    demo = people_services.workspace_create(name="Demo", owner=None, is_demo=True)

    found = starters_of(demo)

    assert len(found) == suggestions.MOST_STARTERS
    assert all(text.endswith("?") for text in found)


def test_a_demo_without_its_list_offers_no_starters(settings: Settings, tmp_path):
    settings.BASE_DIR = tmp_path
    suggestions.demo_starters.cache_clear()

    assert suggestions.demo_starters() == []
    suggestions.demo_starters.cache_clear()
