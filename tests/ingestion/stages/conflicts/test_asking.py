"""Contradictions that a model is asked for, among short notes from several documents."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingestion.models import Conflict, ConflictSide, IngestionJob, JobKind
from ingestion.stage import NO_PROGRESS
from ingestion.stages import conflicts, describe
from ingestion.stages.conflicts.asking import Conflicts, Note, batches, kept, shared
from kb_project.errors import BudgetError, ReplyError
from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import ModelOptions
from tests import rows
from tests.ingestion.stages.resolve.said import Said, paper, ports, run
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]

BORN = ("Keeper of Skarrow, born in 1970.", "Keeper of Skarrow, born in 1974.")
DIFFER = {"conflicts": [{"reason": "The year of birth.", "statements": [1, 2]}]}


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def told(workspace: Workspace, *notes: str, documents: int = 2) -> None:
    """Documents with these notes on Ada Lind, in turn."""
    of = [[(0, note) for note in notes[place::documents]] for place in range(documents)]
    said = [Said([("Ada Lind", "person")], notes=several) for several in of]
    run(*(paper(workspace, f"p{place}", one) for place, one in enumerate(said)))


def looked(workspace: Workspace, chat: FakeChat, *, is_local: bool = False) -> FakeChat:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    given = replace(ports(chat), options=ModelOptions(local_extraction=is_local))
    describe.run(job, given, NO_PROGRESS)
    conflicts.run(job, given, NO_PROGRESS)
    return chat


def found(workspace: Workspace) -> dict[str, list[str]]:
    """The values of each conflict's sides, by its topic."""
    with access.in_workspace(workspace.pk):
        return {
            one.topic: [
                side.value
                for side in ConflictSide.objects.in_workspace(workspace)
                .filter(conflict=one)
                .order_by("ordinal")
            ]
            for one in Conflict.objects.in_workspace(workspace)
        }


def test_two_short_notes_of_two_documents_are_shown_and_what_differs_is_a_conflict(
    workspace: Workspace,
):
    told(workspace, *BORN)

    chat = looked(workspace, FakeChat(lambda _: DIFFER))

    [request] = chat.requests
    assert "1. Ada Lind: Keeper of Skarrow, born in 1970.\n2. Ada Lind:" in request.prompt.user
    assert found(workspace) == {"The year of birth.": list(BORN)}


def test_one_source_is_never_asked_about(workspace: Workspace):
    told(workspace, *BORN, documents=1)

    assert looked(workspace, FakeChat(lambda _: DIFFER)).requests == []
    assert found(workspace) == {}


def test_the_same_notes_are_asked_about_once(workspace: Workspace):
    told(workspace, *BORN)
    chat = looked(workspace, FakeChat(lambda _: DIFFER))

    looked(workspace, chat)

    assert len(chat.requests) == 1
    assert found(workspace) == {"The year of birth.": list(BORN)}


def test_a_model_that_only_writes_reports_is_not_asked(workspace: Workspace):
    told(workspace, *BORN)

    assert looked(workspace, FakeChat(lambda _: DIFFER), is_local=True).requests == []


def test_without_a_usable_reply_what_was_found_before_stays(workspace: Workspace):
    told(workspace, *BORN)
    looked(workspace, FakeChat(lambda _: DIFFER))

    looked(workspace, FakeChat(lambda _: ReplyError("Nothing usable.")))

    assert found(workspace) == {"The year of birth.": list(BORN)}


def test_no_contradiction_any_more_is_an_answer(workspace: Workspace):
    told(workspace, *BORN)
    looked(workspace, FakeChat(lambda _: DIFFER))

    looked(workspace, FakeChat(lambda _: {"conflicts": []}))

    assert found(workspace) == {}


def test_a_spent_budget_stops_the_work_and_changes_nothing(workspace: Workspace):
    told(workspace, *BORN)
    looked(workspace, FakeChat(lambda _: DIFFER))

    with pytest.raises(BudgetError):
        looked(workspace, FakeChat(lambda _: BudgetError("The budget is spent.")))

    assert found(workspace) == {"The year of birth.": list(BORN)}


# --- what is shown, and what is kept of a reply ---------------------------------------------------
def note(name: str, text: str, **more: Any) -> Note:
    entity = uuid.uuid5(uuid.NAMESPACE_OID, name)
    given: dict[str, Any] = {"chunk_id": uuid.uuid4(), "document_id": uuid.uuid4()}
    given |= {"start": 0, "end": 9} | more
    return Note(entity, name, text, **given)


def lines(notes: list[Note]) -> list[list[str]]:
    return [[one.line for one in batch] for batch in batches(shared(notes), 1_000)]


def test_the_order_of_documents_does_not_change_what_is_shown():
    notes = [note("Ada", "Born in 1970."), note("Bo", "Tall."), note("Ada", "Born in 1974.")]
    notes.append(note("Bo", "Small."))

    assert lines(notes) == lines(notes[::-1])
    assert lines(notes) == [["Ada: Born in 1970.", "Ada: Born in 1974.", "Bo: Small.", "Bo: Tall."]]


def test_a_statement_that_several_documents_make_is_shown_once():
    assert lines([note("Ada", "Born in 1970."), note("Ada", "born in  1970.")]) == []


def test_the_notes_of_one_entity_stay_together():
    notes = [note(name, f"{name} {place}") for name in "abcd" for place in range(3)]

    assert [len(batch) for batch in batches(shared(notes), 70)] == [6, 6]


def test_statements_about_different_things_or_unknown_ones_contradict_nothing():
    batch = [note("Ada", "Born in 1970."), note("Bo", "Born in 1974.")]
    reply = Conflicts.model_validate(
        {"conflicts": [{"reason": "The year.", "statements": [1, 2, 0, 7]}]}
    )

    assert list(kept(reply, batch)) == []


def test_a_contradiction_needs_a_reason_and_two_places():
    place = {"chunk_id": uuid.uuid4(), "document_id": uuid.uuid4()}
    batch = [note("Ada", "Born in 1970.", **place), note("Ada", "Born in 1974.", **place)]
    batch.append(note("Ada", "Born in 1975."))

    def of(reason: str, *statements: int) -> list[Any]:
        given = [{"reason": reason, "statements": statements}]
        return list(kept(Conflicts.model_validate({"conflicts": given}), batch))

    assert of("The year.", 1, 2) == of("", 1, 3) == []
    [(entity, [conflict])] = of("The year.", 1, 3)
    assert entity == batch[0].entity_id
    assert [one["text"] for one in conflict["statements"]] == ["Born in 1970.", "Born in 1975."]
