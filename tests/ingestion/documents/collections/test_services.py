from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from ingestion.curation.undoing import event_undo
from ingestion.documents import lifecycle, metadata, queries as document_queries
from ingestion.documents.collections import queries, services
from ingestion.documents.collections.services import MoveOutcome
from ingestion.history import queries as history, recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Collection, Document, HistoryEvent
from kb_project.errors import ConflictError, InputError, NotFoundError, PreconditionError
from retrieval.search import scope
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def change(cast: rows.Cast, **more: object) -> ChangeContext:
    return ChangeContext(cast.workspace, cast.alice, **more)  # type: ignore[arg-type]  # as ChangeContext says


def make(cast: rows.Cast, name: str = "Logs") -> Collection:
    return services.collection_create(change=change(cast), name=name)


def document(cast: rows.Cast, title: str = "Log", to: Collection | None = None) -> Document:
    return rows.make_document(cast.workspace, title, f"{title}: oil.", collection=to)


def move(cast: rows.Cast, to: Collection | None, *documents: Document) -> services.Moves:
    ids = [one.pk for one in documents]
    return services.documents_move(change=change(cast), document_ids=ids, to=to)


def where(cast: rows.Cast, one: Document) -> str | None:
    with access.in_workspace(cast.workspace.pk):
        found = document_queries.document_get(workspace=cast.workspace, document_id=one.pk)
        return found.collection.name if found.collection else None


def sentences(cast: rows.Cast, subject: Document | Collection) -> list[str]:
    with access.in_workspace(cast.workspace.pk):
        found = history.events(workspace=cast.workspace, subject_id=subject.pk)
        views = history.event_views(workspace=cast.workspace, rows=list(found))
        return [view.sentence for view in views]


def undo(cast: rows.Cast, event: HistoryEvent | None) -> None:
    assert event is not None
    with access.in_workspace(cast.workspace.pk):
        event_undo(change=change(cast), event=event)


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["Logs", "logs", "  LOGS ", "lo\0gs"])
def test_a_name_is_taken_whatever_its_case(cast: rows.Cast, name: str):
    make(cast)

    with pytest.raises(ConflictError, match="already a collection called 'Logs'") as refused:
        make(cast, name)

    assert refused.value.code == "collection_taken"


def test_the_database_refuses_two_names_that_differ_in_case_alone(cast: rows.Cast):
    make(cast)

    with pytest.raises(IntegrityError), transaction.atomic():
        rows.make_collection(cast.workspace, "LOGS")


@pytest.mark.parametrize("name", ["", "  ", "\0", "x" * 121])
def test_a_name_has_1_to_120_characters(cast: rows.Cast, name: str):
    with pytest.raises(InputError, match="1 to 120 characters"):
        make(cast, name)


def test_another_workspace_may_have_the_same_name(cast: rows.Cast):
    make(cast)

    assert make(rows.make_cast("Elsewhere"), "Logs").name == "Logs"


def test_a_collection_is_found_whatever_the_case_of_its_name(cast: rows.Cast):
    logs = make(cast)
    document(cast, to=logs)

    with access.in_workspace(cast.workspace.pk):
        listed = document_queries.documents(workspace=cast.workspace, collection="LOGS")
        assert listed.count() == 1
        assert scope.collection_named(workspace=cast.workspace, name="logs") == logs


def test_a_form_that_names_it_in_another_case_makes_no_second_one(cast: rows.Cast):
    make(cast)
    one = document(cast)

    metadata.document_edit(change=change(cast), document=one, collection="logs")

    assert where(cast, one) == "Logs"


# --- renaming and deleting ------------------------------------------------------------------------
def test_a_new_name_is_kept_and_told(cast: rows.Cast):
    logs = make(cast)

    services.collection_rename(change=change(cast), collection=logs, name="Old logs")

    assert sentences(cast, logs) == [
        "Alice renamed the collection 'Logs' to 'Old logs'.",
        "Alice created the collection 'Logs'.",
    ]


def test_a_name_may_change_its_case_and_nothing_else(cast: rows.Cast):
    logs = make(cast)

    services.collection_rename(change=change(cast), collection=logs, name="LOGS")

    with pytest.raises(ConflictError, match="already has this name"):
        services.collection_rename(change=change(cast), collection=logs, name="LOGS")


def test_who_saw_an_earlier_state_renames_and_deletes_nothing(cast: rows.Cast):
    logs = make(cast)
    with access.in_workspace(cast.workspace.pk):
        seen = recording.revisions(cast.workspace, [logs.pk])
    move(cast, logs, document(cast))
    late = change(cast, expected=seen)

    with pytest.raises(PreconditionError):
        services.collection_rename(change=late, collection=logs, name="Charts")
    with pytest.raises(PreconditionError):
        services.collection_delete(change=late, collection=logs)


def test_deleting_a_collection_keeps_its_documents_trashed_ones_too(cast: rows.Cast):
    logs = make(cast)
    kept, thrown = document(cast, "Kept", logs), document(cast, "Thrown", logs)
    lifecycle.documents_trash(change=change(cast), documents=[thrown])

    services.collection_delete(change=change(cast), collection=logs)

    assert [where(cast, one) for one in (kept, thrown)] == [None, None]
    assert sentences(cast, kept)[0] == "Alice deleted the collection 'Logs'."


def test_a_collection_that_is_gone_cannot_be_changed(cast: rows.Cast):
    logs = make(cast)
    services.collection_delete(change=change(cast), collection=logs)

    with pytest.raises(NotFoundError):
        services.collection_rename(change=change(cast), collection=logs, name="Charts")
    with pytest.raises(NotFoundError):
        move(cast, logs, document(cast))


def test_what_was_done_to_a_collection_itself_is_not_undone(cast: rows.Cast):
    logs = make(cast)
    event = services.collection_delete(change=change(cast), collection=logs)

    with pytest.raises(ConflictError) as refused:
        undo(cast, event)

    assert refused.value.code == "not_undoable"
    assert refused.value.next_step == "Create the collection again."


# --- moving ---------------------------------------------------------------------------------------
def test_each_document_has_its_outcome(cast: rows.Cast):
    logs, missing = make(cast), uuid4()
    new, there, thrown = document(cast, "New"), document(cast, "There", logs), document(cast, "X")
    lifecycle.documents_trash(change=change(cast), documents=[thrown])

    moves = services.documents_move(
        change=change(cast), document_ids=[new.pk, there.pk, thrown.pk, missing], to=logs
    )

    assert list(moves.outcomes.values()) == [
        MoveOutcome.MOVED,
        MoveOutcome.UNCHANGED,
        MoveOutcome.IN_TRASH,
        MoveOutcome.MISSING,
    ]
    assert (where(cast, new), where(cast, thrown)) == ("Logs", None)
    assert moves.left_out == (
        "Not moved: 1 document already there, 1 document in the trash, 1 document no longer there."
    )


def test_nothing_is_recorded_where_nothing_moves(cast: rows.Cast):
    logs = make(cast)
    one = document(cast, to=logs)

    assert move(cast, logs, one).event is None
    assert sentences(cast, one) == []


def test_a_documents_history_says_where_it_went(cast: rows.Cast):
    logs, charts, one = make(cast), make(cast, "Charts"), document(cast)

    move(cast, logs, one)
    move(cast, charts, one)
    move(cast, None, one)

    assert sentences(cast, one) == [
        "Alice took 'Log' out of the collection 'Charts'.",
        "Alice moved 'Log' to the collection 'Charts'.",
        "Alice moved 'Log' to the collection 'Logs'.",
    ]


def test_undoing_a_move_puts_each_document_back_where_it_was(cast: rows.Cast):
    logs, charts = make(cast), make(cast, "Charts")
    one, other = document(cast, "One", charts), document(cast, "Other")
    moves = move(cast, logs, one, other)

    undo(cast, moves.event)

    assert (where(cast, one), where(cast, other)) == ("Charts", None)


def test_undoing_an_earlier_move_leaves_the_later_one(cast: rows.Cast):
    logs, charts, one = make(cast), make(cast, "Charts"), document(cast)
    first, second = move(cast, logs, one), move(cast, charts, one)

    undo(cast, first.event)
    assert where(cast, one) == "Charts"

    undo(cast, second.event)
    assert where(cast, one) is None


def test_a_move_and_an_edit_are_undone_in_any_order(cast: rows.Cast):
    logs, one = make(cast), document(cast)
    moved = move(cast, logs, one)
    edited = metadata.document_edit(change=change(cast), document=one, collection="Charts")

    undo(cast, edited)
    assert where(cast, one) == "Logs"

    undo(cast, moved.event)
    assert where(cast, one) is None


def test_adding_and_removing_at_once_is_undone_at_once(cast: rows.Cast):
    logs = make(cast)
    new, old, elsewhere = document(cast, "New"), document(cast, "Old", logs), document(cast, "Else")

    added, removed = services.documents_change(
        change=change(cast), collection=logs, add=[new.pk], remove=[old.pk, elsewhere.pk]
    )
    assert (where(cast, new), where(cast, old)) == ("Logs", None)
    assert removed.outcomes[elsewhere.pk] == MoveOutcome.UNCHANGED

    undo(cast, added.event)
    assert (where(cast, new), where(cast, old)) == (None, "Logs")


def test_a_document_is_not_both_added_and_removed(cast: rows.Cast):
    logs, one = make(cast), document(cast)

    with pytest.raises(InputError, match="both added and removed"):
        services.documents_change(
            change=change(cast), collection=logs, add=[one.pk], remove=[one.pk]
        )


# --- counts ---------------------------------------------------------------------------------------
def test_collections_come_by_name_with_the_number_of_their_documents(cast: rows.Cast):
    charts, logs = make(cast, "charts"), make(cast, "Boats")
    document(cast, "One", logs)
    thrown = document(cast, "Two", logs)
    lifecycle.documents_trash(change=change(cast), documents=[thrown])

    with access.in_workspace(cast.workspace.pk):
        found = list(queries.collections(workspace=cast.workspace))
        listed = queries.collection_rows(workspace=cast.workspace, collections=found)

    assert [(row.collection, row.documents) for row in listed] == [(logs, 1), (charts, 0)]
