from __future__ import annotations

import json
from uuid import uuid4

import pytest

from kb_project.errors import ConflictError, InputError, NotFoundError
from retrieval.conversations import asking
from retrieval.evaluation import evidence, queries, sets
from retrieval.evaluation.sets import Written
from retrieval.models import EvaluationRun, QuestionSet, RunProgress, SetQuestion
from tests import rows
from tests.retrieval.evaluation import cast
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(fake_embedder):
    return cast.make_read_workspace()


@pytest.fixture
def made(people) -> QuestionSet:
    return cast.make_set(people.workspace)


def questions(workspace, question_set) -> list[SetQuestion]:
    with access.in_workspace(workspace.pk):
        return list(queries.questions_of(workspace=workspace, question_set=question_set))


def texts(workspace, question_set) -> list[str]:
    return [row.text for row in questions(workspace, question_set)]


def test_a_set_has_a_name_of_its_own(people):
    made = sets.set_create(workspace=people.workspace, user=people.alice, name="  Basics ")

    assert (made.name, made.added_by) == ("Basics", people.alice)
    with pytest.raises(ConflictError, match="already"):
        sets.set_create(workspace=people.workspace, user=people.alice, name="Basics")
    other = rows.make_workspace("Elsewhere")
    sets.set_create(workspace=other, user=None, name="Basics")


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "\x00"])
def test_a_name_nobody_can_read_is_refused(people, name):
    with pytest.raises(InputError, match="needs a name"):
        sets.set_create(workspace=people.workspace, user=None, name=name)


def test_a_set_is_renamed_unless_the_name_is_taken(people, made):
    other = sets.set_create(workspace=people.workspace, user=None, name="Other")

    sets.set_rename(workspace=people.workspace, question_set=made, name="Hard ones")

    assert made.name == "Hard ones"
    with pytest.raises(ConflictError):
        sets.set_rename(workspace=people.workspace, question_set=other, name="Hard ones")


def test_a_set_goes_with_its_questions(people, made):
    sets.set_delete(workspace=people.workspace, question_set=made)

    with access.in_workspace(people.workspace.pk):
        assert not QuestionSet.objects.in_workspace(people.workspace).exists()
        assert not SetQuestion.objects.in_workspace(people.workspace).exists()


def test_a_set_stays_while_a_run_over_it_is_under_way(people, made):
    with access.in_workspace(people.workspace.pk):
        EvaluationRun.objects.create(
            workspace=people.workspace, question_set=made, state=RunProgress.RUNNING
        )

    with pytest.raises(ConflictError, match="in progress"):
        sets.set_delete(workspace=people.workspace, question_set=made)


def test_a_file_is_imported_behind_what_is_there_and_known_questions_are_left_out(people, made):
    content = "\n".join(
        json.dumps({"question": text, "evidence": ["Oil"]})
        for text in ("What burns?", "WHO keeps the  Skarrow light?", "What burns?")
    )

    added = sets.set_import(workspace=people.workspace, question_set=made, content=content.encode())

    assert added == 1
    assert texts(people.workspace, made)[-1] == "What burns?"
    assert questions(people.workspace, made)[-1].origin == "file"
    ordinals = [row.ordinal for row in questions(people.workspace, made)]
    assert ordinals == [1, 2, 3, 4]


def test_a_file_with_one_bad_line_adds_nothing(people, made):
    before = texts(people.workspace, made)

    with pytest.raises(InputError, match="Line 2"):
        sets.set_import(
            workspace=people.workspace,
            question_set=made,
            content=b'{"question": "A?", "evidence": ["Oil"]}\n{',
        )

    assert texts(people.workspace, made) == before


def test_what_is_exported_can_be_imported_elsewhere(people, made):
    exported = sets.set_export(workspace=people.workspace, question_set=made)

    other = cast.make_read_workspace("Elsewhere").workspace
    copy = sets.set_create(workspace=other, user=None, name="Copy")
    sets.set_import(workspace=other, question_set=copy, content=exported.encode())

    assert texts(other, copy) == texts(people.workspace, made)
    assert sets.set_export(workspace=other, question_set=copy) == exported


def test_only_accepted_questions_are_exported(people, made):
    sets.questions_propose(
        workspace=people.workspace, question_set=made, found=[Written("Made up?", ())]
    )

    assert "Made up?" not in sets.set_export(workspace=people.workspace, question_set=made)


def test_a_question_is_added_by_hand_with_evidence_as_people_write_it(people, made):
    question = cast.add(people.workspace, made, "What burns in the lamp?", "Oil | 0", "Whale oil.")

    assert question.state == SetQuestion.State.ACCEPTED
    assert (question.origin, question.answer) == ("person", "Whale oil.")
    assert question.evidence[0]["chunk"] == 0


def test_a_question_is_not_added_twice(people, made):
    with pytest.raises(ConflictError, match="already"):
        cast.add(people.workspace, made, "Who keeps the Skarrow light?", ["Keepers"])


@pytest.mark.parametrize(
    ("text", "given", "answer", "fault"),
    [
        ("?", ["Oil"], "", "no word"),
        ("Who?", [], "", "There is no evidence"),
        ("Who?", "Nowhere", "", "Its evidence names no document"),
        ("Who?", 7, "", "There is no evidence"),
        ("Who?", ["Oil"], "x" * (sets.LONGEST_ANSWER + 1), "Its answer has more"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(people, made, text, given, answer, fault):
    with pytest.raises(InputError, match=fault):
        cast.add(people.workspace, made, text, given, answer)


def test_a_set_takes_so_many_questions_and_no_more(people, made, monkeypatch):
    monkeypatch.setattr(sets, "MOST_QUESTIONS", 3)

    with pytest.raises(InputError, match="at most 3"):
        cast.add(people.workspace, made, "One more?", ["Oil"])


def test_a_proposal_that_a_person_changes_is_accepted(people, made):
    [proposed] = sets.questions_propose(
        workspace=people.workspace, question_set=made, found=[Written("Made up?", ())]
    )

    sets.question_change(
        workspace=people.workspace, question=proposed, text="Better?", evidence_given=["Oil"]
    )

    found = questions(people.workspace, made)[-1]
    assert (found.text, found.state) == ("Better?", SetQuestion.State.ACCEPTED)


def test_a_question_is_deleted(people, made):
    first = questions(people.workspace, made)[0]

    sets.question_delete(workspace=people.workspace, question=first)

    assert first.text not in texts(people.workspace, made)


def test_proposals_are_accepted_or_rejected_by_a_person(people, made):
    good, bad, other = sets.questions_propose(
        workspace=people.workspace,
        question_set=made,
        found=[Written(text, ()) for text in ("Good?", "Bad?", "Other?")],
    )

    def decide(ids, *, accept):
        return sets.questions_decide(
            workspace=people.workspace, question_set=made, ids=ids, accept=accept
        )

    assert decide([good.pk, uuid4()], accept=True) == 1
    assert decide([bad.pk], accept=False) == 1
    assert decide([bad.pk], accept=True) == 0
    states = {row.text: row.state for row in questions(people.workspace, made)}
    assert (states["Good?"], states["Bad?"], states["Other?"]) == (
        "accepted",
        "rejected",
        "proposed",
    )
    assert other.origin == "documents"


def test_an_answered_question_is_kept_with_what_it_cites(people, made):
    answer = asking.ask(
        workspace=people.workspace,
        user=people.alice,
        question="Who keeps the Skarrow light in Orran?",
        mode="lexical",
    )

    kept = sets.question_keep(
        workspace=people.workspace, question_set=made, question_id=answer.question_id
    )

    assert kept.text == "Who keeps the Skarrow light in Orran?"
    assert "Ada Lind" in kept.answer
    names = evidence.names_in(people.workspace)
    assert "Keepers" in evidence.lines_of(kept.evidence, names)
    assert kept.evidence[0]["chunk"] == 0


def test_an_unanswered_question_is_not_kept(people, made):
    answer = asking.ask(
        workspace=people.workspace,
        user=people.alice,
        question="Which tungsten isotope decays?",
        mode="lexical",
    )

    with pytest.raises(ConflictError, match="cites nothing"):
        sets.question_keep(
            workspace=people.workspace, question_set=made, question_id=answer.question_id
        )


def test_a_question_that_is_still_being_answered_is_not_kept(people, made):
    answer = asking.question_ask(
        workspace=people.workspace,
        user=people.alice,
        question="Who keeps the Skarrow light?",
        mode="lexical",
    )

    with pytest.raises(ConflictError, match="still being answered"):
        sets.question_keep(
            workspace=people.workspace, question_set=made, question_id=answer.question_id
        )


def test_sets_of_another_workspace_are_not_there(people, made):
    other = rows.make_workspace("Elsewhere")

    with access.in_workspace(other.pk), pytest.raises(NotFoundError):
        queries.set_get(workspace=other, set_id=made.pk)
    with access.in_workspace(other.pk), pytest.raises(NotFoundError, match="no question set"):
        queries.set_named(workspace=other, name="Basics")


def test_a_set_is_found_by_its_name_or_the_names_are_told(people, made):
    with access.in_workspace(people.workspace.pk):
        assert queries.set_named(workspace=people.workspace, name="Basics") == made
        with pytest.raises(NotFoundError) as missing:
            queries.set_named(workspace=people.workspace, name="Nope")

    assert "'Basics'" in missing.value.sentence


def test_a_list_of_sets_says_how_many_questions_each_has(people, made):
    sets.questions_propose(
        workspace=people.workspace, question_set=made, found=[Written("Made up?", ())]
    )

    with access.in_workspace(people.workspace.pk):
        found = queries.sets(workspace=people.workspace)
        [row] = queries.set_rows(workspace=people.workspace, rows=list(found))

    assert (row.accepted, row.proposed, row.runs, row.last) == (3, 1, 0, None)
