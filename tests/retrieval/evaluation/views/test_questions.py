from __future__ import annotations

import pytest

from retrieval.conversations import asking
from retrieval.evaluation import queries
from retrieval.models import SetQuestion
from tests.retrieval.evaluation.views.test_sets import of_set, url
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def first(people, made) -> SetQuestion:
    with access.in_workspace(people.workspace.pk):
        found = queries.questions_of(workspace=people.workspace, question_set=made).first()
    assert found is not None
    return found


def texts(people, made) -> list[str]:
    with access.in_workspace(people.workspace.pk):
        rows = queries.questions_of(workspace=people.workspace, question_set=made)
        return [row.text for row in rows]


def test_a_question_is_added_by_hand(people, alice, made):
    given = {"text": "What burns?", "answer": "Oil.", "evidence": "Oil | 0\nKeepers"}

    page = alice.post(of_set(people, made, "questions/"), given, follow=True).content.decode()

    assert "1 question added." in page
    assert texts(people, made)[-1] == "What burns?"


def test_what_was_written_stays_when_it_is_refused(people, alice, made):
    given = {"text": "What burns?", "answer": "Oil.", "evidence": "Nowhere"}

    response = alice.post(of_set(people, made, "questions/"), given)

    page = response.content.decode()
    assert response.status_code == 422
    assert "Its evidence names no document in this workspace." in page
    assert "What burns?" in page
    assert "Nowhere" in page


def test_a_question_is_changed_as_it_is_shown(people, alice, made, first):
    path = of_set(people, made, f"questions/{first.pk}/")
    page = alice.get(path).content.decode()
    assert "Ada Lind keeps the Skarrow light." in page
    assert "Keepers" in page

    alice.post(path, {"text": "Who lit it?", "answer": "Ada.", "evidence": "Keepers"})

    assert texts(people, made)[0] == "Who lit it?"
    refused = alice.post(path, {"text": "?", "evidence": "Keepers"})
    assert refused.status_code == 422
    assert "no word" in refused.content.decode()


def test_a_question_is_deleted(people, alice, made, first):
    alice.post(of_set(people, made, f"questions/{first.pk}/delete/"))

    assert first.text not in texts(people, made)


def test_only_who_may_write_reaches_the_forms(people, bob, charlie, made, first):
    path = of_set(people, made, f"questions/{first.pk}/")

    assert bob.get(path).status_code == bob.post(f"{path}delete/").status_code == 403
    assert charlie.get(path).status_code == charlie.post(f"{path}delete/").status_code == 404


def ask(people, question: str):
    answer = asking.ask(
        workspace=people.workspace, user=people.alice, question=question, mode="lexical"
    )
    return url(people, f"keep/{answer.question_id}/")


def test_an_answered_question_is_added_to_a_set_or_to_a_new_one(people, alice, made):
    path = ask(people, "Who keeps the Skarrow light in Orran?")
    assert "Ada Lind" in alice.get(path).content.decode()

    page = alice.post(path, {"set": str(made.pk)}, follow=True).content.decode()
    assert "Added to “Basics”" in page
    assert texts(people, made)[-1] == "Who keeps the Skarrow light in Orran?"

    page = alice.post(path, {"name": "Another", "set": str(made.pk)}, follow=True).content.decode()
    assert "Added to “Another”" in page


def test_what_cannot_be_added_is_told(people, alice, made):
    path = ask(people, "Which tungsten isotope decays?")

    assert "cites nothing" in alice.post(path, {"set": str(made.pk)}).content.decode()
    assert "No set is chosen" in alice.post(path, {"set": "no id"}).content.decode()


def test_a_reader_does_not_add_and_a_stranger_finds_nothing(people, bob, charlie):
    path = ask(people, "Who keeps the Skarrow light?")

    assert bob.get(path).status_code == bob.post(path).status_code == 403
    assert charlie.get(path).status_code == charlie.post(path).status_code == 404
