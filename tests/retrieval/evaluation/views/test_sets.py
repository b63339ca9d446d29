from __future__ import annotations

import io
import json
from uuid import uuid4

import pytest

from retrieval.conversations import asking
from retrieval.evaluation import queries, runs, sets
from retrieval.evaluation.sets import Written
from retrieval.models import EvaluationRun, Question, QuestionSet, SetQuestion
from workspaces import access
from workspaces.models import AuditEvent

pytestmark = pytest.mark.django_db


def url(people, path=""):
    return f"/w/{people.workspace.slug}/evaluation/{path}"


def of_set(people, made, path=""):
    return url(people, f"sets/{made.pk}/{path}")


def sets_in(people) -> list[str]:
    with access.in_workspace(people.workspace.pk):
        return [row.name for row in queries.sets(workspace=people.workspace)]


def test_the_way_to_evaluation_is_in_the_navigation(people, alice):
    page = alice.get(f"/w/{people.workspace.slug}/").content.decode()

    assert url(people) in page


def test_an_owner_makes_a_set(people, alice):
    response = alice.post(url(people), {"name": "Basics"})

    with access.in_workspace(people.workspace.pk):
        made = QuestionSet.objects.in_workspace(people.workspace).get()
    assert response.url == of_set(people, made)
    assert made.added_by == people.alice
    page = alice.get(response.url).content.decode()
    assert "None is accepted yet" in page
    assert "By hand" in page


def test_a_taken_name_is_told_on_the_page(people, alice, made):
    page = alice.post(url(people), {"name": "Basics"}).content.decode()

    assert "already exists" in page
    assert sets_in(people) == ["Basics"]


def test_the_list_says_what_each_set_came_to(people, alice, bob, run_it):
    run_it()

    for client in (alice, bob):
        page = client.get(url(people)).content.decode()
        assert "3 questions" in page
        assert "1 run" in page
        assert "Perfect@5 1.000 by" in page


def test_a_reader_sees_sets_and_cannot_change_them(people, bob, made):
    page = bob.get(of_set(people, made)).content.decode()

    assert "Who keeps the Skarrow light?" in page
    assert "Start a run" not in page
    assert "Rename" not in page
    assert "Editors create sets" in bob.get(url(people)).content.decode()


WRITING = (
    "rename/", "delete/", "import/", "make/", "decide/", "questions/", "runs/",
)  # fmt: skip


@pytest.mark.parametrize("path", WRITING)
def test_a_reader_may_not_write(people, bob, made, path):
    assert bob.post(of_set(people, made, path), {"name": "Mine"}).status_code == 403
    assert sets_in(people) == ["Basics"]


def test_a_reader_may_not_make_a_set_nor_ask_what_a_run_costs(people, bob, made):
    assert bob.post(url(people), {"name": "Mine"}).status_code == 403
    assert bob.get(of_set(people, made, "estimate/")).status_code == 403


@pytest.mark.parametrize("path", WRITING)
def test_a_stranger_finds_nothing_to_write_to(people, charlie, made, path):
    assert charlie.post(of_set(people, made, path)).status_code == 404


@pytest.mark.parametrize("path", ["", "questions.jsonl", "estimate/"])
def test_a_stranger_finds_nothing_to_read(people, charlie, made, path):
    assert charlie.get(url(people)).status_code == 404
    assert charlie.get(of_set(people, made, path)).status_code == 404


def test_a_set_of_another_workspace_is_not_there(people, alice):
    assert alice.get(url(people, f"sets/{uuid4()}/")).status_code == 404


def test_a_set_is_renamed_and_deleted(people, alice, made):
    alice.post(of_set(people, made, "rename/"), {"name": "Hard ones"})
    assert sets_in(people) == ["Hard ones"]

    response = alice.post(of_set(people, made, "delete/"), follow=True)

    assert "is deleted" in response.content.decode()
    assert sets_in(people) == []


def test_a_file_is_imported_or_its_bad_lines_are_named(people, alice, made):
    good = json.dumps({"question": "What burns?", "evidence": ["Oil"]})

    def send(text):
        file = io.BytesIO(text.encode())
        file.name = "questions.jsonl"
        response = alice.post(of_set(people, made, "import/"), {"file": file}, follow=True)
        return response.content.decode()

    assert "1 question added." in send(good)
    assert "Line 2: it is not JSON" in send(f"{good}\n{{")
    assert "contains no questions" in send("")


def test_the_questions_are_exported_as_they_are_imported(people, alice, bob, made):
    for client in (alice, bob):
        response = client.get(of_set(people, made, "questions.jsonl"))

        assert response["Content-Type"].startswith("application/x-ndjson")
        first = json.loads(response.content.decode().splitlines()[0])
        assert first["question"] == "Who keeps the Skarrow light?"
        assert first["evidence"] == ["Keepers"]
    assert audited(people) == [
        ("questions_exported", "Alice", made.name),
        ("questions_exported", "Bob", made.name),
    ]


def audited(people) -> list[tuple[str, str, str]]:
    with access.in_workspace(people.workspace.pk):
        events = AuditEvent.objects.in_workspace(people.workspace).order_by("created_at")
        found = events.exclude(action="workspace_created")
        return list(found.values_list("action", "actor", "object_name"))


def test_a_deleted_set_is_named_in_the_audit(people, alice, made):
    alice.post(of_set(people, made, "delete/"))

    assert audited(people) == [("set_deleted", "Alice", made.name)]


def test_what_a_run_costs_is_told_before_it_is_started(people, alice, made):
    path = of_set(people, made, "estimate/")

    told = alice.get(path, {"modes": ["lexical", "dense"], "ks": "5"}).content.decode()

    assert "3 questions, 6 results." in " ".join(told.split())
    assert "Costs nothing: no model is called." in told
    assert "No mode is selected" in alice.get(path).content.decode()


def test_questions_are_made_and_accepted_or_rejected(people, alice, bob):
    made = sets.set_create(workspace=people.workspace, user=None, name="Made")
    alice.post(of_set(people, made, "make/"), {"number": "5"})
    with access.in_workspace(people.workspace.pk):
        run = EvaluationRun.objects.in_workspace(people.workspace).get()
    page = alice.get(of_set(people, made)).content.decode()
    assert "Questions are being made" in page
    assert 'hx-trigger="every 2s"' in page

    runs.run_evaluation(people.workspace.pk, run.pk)
    with access.in_workspace(people.workspace.pk):
        question = SetQuestion.objects.in_workspace(people.workspace).get()
    assert "Proposed" in bob.get(of_set(people, made)).content.decode()
    assert "Accept the chosen" not in bob.get(of_set(people, made)).content.decode()
    page = alice.post(
        of_set(people, made, "decide/"),
        {"questions": [str(question.pk), "no id"], "decision": "accept"},
        follow=True,
    ).content.decode()

    assert "1 accepted." in page
    with access.in_workspace(people.workspace.pk):
        question.refresh_from_db()
    assert question.state == "accepted"


def test_a_decision_about_nothing_is_told(people, alice, made):
    sets.questions_propose(
        workspace=people.workspace, question_set=made, found=[Written("Made up?", ())]
    )

    response = alice.post(of_set(people, made, "decide/"), {"decision": "reject"}, follow=True)

    assert "No question was chosen" in response.content.decode()


@pytest.mark.parametrize("number", ["", "0", "-3", "many", "9" * 30])
def test_a_number_that_cannot_be_made_is_told(people, alice, made, number):
    response = alice.post(of_set(people, made, "make/"), {"number": number}, follow=True)

    assert "questions can be generated at once" in response.content.decode()


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


def test_a_follow_up_is_shown_as_it_is_added(people, alice):
    path = ask(people, "Who keeps it?")
    with access.in_workspace(people.workspace.pk):
        Question.objects.in_workspace(people.workspace).update(standalone="Who keeps the light?")

    assert "Who keeps the light?" in alice.get(path).content.decode()


def test_what_cannot_be_added_is_told(people, alice, made):
    path = ask(people, "Which tungsten isotope decays?")

    assert "cites nothing" in alice.post(path, {"set": str(made.pk)}).content.decode()
    assert "No set is chosen" in alice.post(path, {"set": "no id"}).content.decode()


def test_a_reader_does_not_add_and_a_stranger_finds_nothing(people, bob, charlie):
    path = ask(people, "Who keeps the Skarrow light?")

    assert bob.get(path).status_code == bob.post(path).status_code == 403
    assert charlie.get(path).status_code == charlie.post(path).status_code == 404
