from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from ingestion.curation import effects, previewing
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.relationships import relationship_create, relationship_delete
from ingestion.curation.splitting import Selection, mentions_move
from ingestion.curation.undoing import event_undo
from ingestion.documents.lifecycle import (
    documents_delete,
    documents_disable,
    documents_enable,
    documents_restore,
    documents_trash,
)
from ingestion.documents.metadata import document_edit
from ingestion.history import queries as history_queries
from ingestion.models import EventKind, HistoryEvent
from kb_project.errors import ConflictError, NotFoundError
from tests import rows
from tests.ingestion.curation.papers import Desk, merged, split
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def undone(desk: Desk, event: HistoryEvent) -> HistoryEvent:
    return event_undo(change=desk.change(desk.cast.bob), event=event)


def refusal(desk: Desk, event: HistoryEvent) -> ConflictError:
    before = desk.state()
    with pytest.raises(ConflictError) as refused:
        undone(desk, event)
    assert desk.state() == before
    return refused.value


CHANGES = {
    "create": lambda desk: entity_create(
        change=desk.change(), name="The Trust", type="organization", description="A fund."
    ),
    "rename": lambda desk: entity_edit(
        change=desk.change(), entity=desk.id(LTD), name="Acme Group"
    ),
    "alias": lambda desk: entity_edit(
        change=desk.change(), entity=desk.id(LTD), add_aliases=["ACM"]
    ),
    "words": lambda desk: entity_edit(
        change=desk.change(), entity=desk.id(LTD), type="firm", description="A firm.",
        is_protected=True, is_confirmed=True,
    ),
    "delete": lambda desk: entity_delete(change=desk.change(), entity=desk.id(LTD)),
    "merge": lambda desk: merged(desk, LTD, INC),
    "split": lambda desk: split(desk, LTD, "b", "Acme of Orran"),
    "move": lambda desk: mentions_move(
        change=desk.change(), entity=desk.id(LTD), target=desk.id(INC),
        selection=Selection(documents=(desk.document("b").pk,)),
    ),
    "differ": lambda desk: entities_differ(
        change=desk.change(), entities=[desk.id(LTD), desk.id(INC)]
    ),
    "link": lambda desk: relationship_create(
        change=desk.change(), source=desk.id(ADA), target=desk.id(ORRAN), description="Lives there."
    ),
    "unlink": lambda desk: relationship_delete(
        change=desk.change(), relationship=desk.link(LTD, ADA)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_taken_back_and_done_again(desk: Desk, what: str):
    before = desk.state()
    event = CHANGES[what](desk)
    after = desk.state()

    undoing = undone(desk, event)
    assert desk.state() == before
    again = undone(desk, undoing)
    assert desk.state() == after
    undone(desk, again)

    assert desk.state() == before
    assert (undoing.kind, undoing.undoes_id, undoing.user) == (
        EventKind.UNDO,
        event.pk,
        desk.cast.bob,
    )
    assert what == "differ" or after != before


@pytest.mark.parametrize("what", CHANGES)
def test_the_preview_of_an_undoing_says_just_what_then_happens(desk: Desk, what: str):
    event = CHANGES[what](desk)
    before = desk.state()

    preview = previewing.preview(event_undo, workspace=desk.workspace, event=event)

    assert desk.state() == before
    assert undone(desk, event).details["counts"] == preview.figures


def test_all_changes_are_taken_back_in_reverse(desk: Desk):
    before = desk.state()
    done = [CHANGES[what](desk) for what in ("words", "link", "split", "differ", "merge", "create")]

    for event in reversed(done):
        undone(desk, event)

    assert desk.state() == before


def test_nothing_is_taken_back_twice(desk: Desk):
    event = merged(desk, LTD, INC)
    undone(desk, event)

    assert refusal(desk, event).code == "already_undone"


def test_what_was_done_later_to_the_same_entity_is_taken_back_first(desk: Desk):
    first = merged(desk, LTD, INC)
    later = entities_merge(
        change=desk.change(desk.cast.bob), kept=desk.id(ORRAN), others=[desk.id(LTD)]
    )

    error = refusal(desk, first)

    assert error.code == "undo_blocked"
    assert error.happened.startswith("'Acme Ltd' was merged again into 'Orran' by Bob on ")
    assert error.next_step == "Undo that first."
    assert error.fields == {"event": str(later.pk)}
    undone(desk, later)
    undone(desk, first)
    assert INC in desk.names()


def test_what_was_done_to_others_is_not_in_the_way(desk: Desk):
    first = merged(desk, LTD, INC)
    merged(desk, ORRAN, MERCURY)

    undone(desk, first)

    assert desk.names() == [INC, LTD, ADA, ORRAN]


def test_wordings_are_taken_back_in_any_order(desk: Desk):
    first = entity_edit(change=desk.change(), entity=desk.id(LTD), description="One.")
    second = entity_edit(change=desk.change(), entity=desk.id(LTD), description="Two.")

    undone(desk, first)
    assert desk.entity(LTD).description == "Two."
    undone(desk, second)

    assert desk.entity(LTD).written_by == "extractive"


def test_an_undo_under_a_later_change_says_that_nothing_visible_changes(desk: Desk):
    first = entity_edit(change=desk.change(), entity=desk.id(LTD), name="One")
    second = entity_edit(change=desk.change(), entity=desk.id(LTD), name="Two")

    preview = previewing.preview(event_undo, workspace=desk.workspace, event=first)
    of_first = undone(desk, first)
    assert desk.entity(LTD).name == "Two"
    of_second = undone(desk, second)
    assert desk.entity(LTD).name == "Acme Ltd"

    assert preview.sentence == ""
    [why] = preview.notes
    assert why.startswith(
        "A later change is in force; nothing visible changes: 'One' was edited by Alice on "
    )
    assert (of_first.details["before"], of_first.details["after"]) == ({"name": "Two"},) * 2
    assert of_first.details["notes"] == [why]
    assert of_second.details["before"] == {"name": "Two"}
    assert of_second.details["after"] == {"name": "Acme Ltd"}


def test_an_undo_of_an_undo_under_a_later_change_says_so_too(desk: Desk):
    first = entity_edit(change=desk.change(), entity=desk.id(LTD), type="firm")
    of_first = undone(desk, first)
    entity_edit(change=desk.change(), entity=desk.id(LTD), type="company")

    again = undone(desk, of_first)

    assert desk.entity(LTD).type == "company"
    assert again.details["before"] == again.details["after"] == {"type": "company"}
    [why] = again.details["notes"]
    assert why.startswith(
        "A later change is in force; nothing visible changes: 'Acme Ltd' was edited by Alice on "
    )


def test_a_wording_in_between_outlives_what_was_before_it(desk: Desk):
    first = merged(desk, LTD, INC)
    entity_edit(change=desk.change(), entity=desk.id(LTD), description="A firm.")

    undone(desk, first)

    assert desk.entity(LTD).description == "A firm."


@pytest.mark.parametrize("made_by", ["split", "create"])
def test_whatever_was_done_to_what_was_made_comes_first(desk: Desk, made_by: str):
    event = CHANGES[made_by](desk)
    [made] = event.details["created"]
    with access.in_workspace(desk.workspace.pk):
        rows_of = {str(one.pk): one for one in type(desk.entity(LTD)).objects.all()}
    edit = entity_edit(change=desk.change(), entity=rows_of[made], description="New.")

    error = refusal(desk, event)

    assert (error.code, error.fields) == ("undo_blocked", {"event": str(edit.pk)})
    assert "was edited by Alice" in error.happened


def test_a_batch_is_taken_back_as_a_whole(desk: Desk):
    before = desk.state()
    batch = uuid4()
    first = entities_merge(
        change=desk.change(batch=batch), kept=desk.id(LTD), others=[desk.id(INC)]
    )
    entities_merge(change=desk.change(batch=batch), kept=desk.id(LTD), others=[desk.id(ORRAN)])

    undoing = undone(desk, first)

    assert desk.state() == before
    assert undoing.details["undid"].endswith("and 1 more")
    assert [event.undone_at is None for event in desk.events()] == [False, False, True]


def test_what_is_elsewhere_is_not_found(desk: Desk):
    with pytest.raises(NotFoundError):
        event_undo(change=desk.change(), event=uuid4())


def test_views_say_what_was_done_and_whether_it_can_be_taken_back(desk: Desk):
    first = merged(desk, LTD, INC)
    later = merged(desk, ORRAN, LTD)
    undone(desk, later)

    with access.in_workspace(desk.workspace.pk):
        rows_ = history_queries.events(workspace=desk.workspace)
        views = history_queries.event_views(workspace=desk.workspace, rows=list(rows_)[:3])

    assert [view.sentence for view in views] == [
        "Bob undid: Alice merged 'Acme Ltd' into 'Orran'.",
        "Alice merged 'Acme Ltd' into 'Orran'.",
        "Alice merged 'Acme Inc' into 'Acme Ltd'.",
    ]
    assert [(view.can_undo, view.is_undone) for view in views] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert views[2].event.pk == first.pk


def test_documents_come_back_and_go_again_as_the_preview_says(desk: Desk):
    before = desk.state()
    event = documents_trash(
        change=desk.change(), documents=[desk.document("b"), desk.document("d")]
    )

    preview = previewing.preview(event_undo, workspace=desk.workspace, event=event)
    undoing = undone(desk, event)

    assert desk.state() == before
    assert preview.sentence == (
        "2 passages can be searched again; 3 facts and 5 mentions come back."
    )
    assert undoing.details["counts"] == preview.figures
    assert undoing.details["undid"] == "Alice moved 'b.txt' and 'd.txt' to the trash"


@pytest.mark.parametrize("before", [[], [documents_disable], [documents_trash]])
def test_what_documents_went_through_is_taken_back_and_done_again(
    desk: Desk, before: list[Callable[..., HistoryEvent]]
):
    documents = [desk.document("b")]
    for one in before:
        one(change=desk.change(), documents=documents)
    moves = {
        documents_disable: documents_enable,
        documents_trash: documents_restore,
    }
    move = moves[before[0]] if before else documents_disable
    first = desk.state()
    event = move(change=desk.change(), documents=documents)
    after = desk.state()
    assert after != first

    undoing = undone(desk, event)
    assert desk.state() == first
    again = undone(desk, undoing)
    assert desk.state() == after
    undone(desk, again)

    assert desk.state() == first


def test_neither_an_edit_of_a_document_nor_its_undo_has_reports_rewritten(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        rows.make_report(desk.workspace, "Firms", [desk.entity(LTD)], [])
    event = document_edit(change=desk.change(), document=desk.document("b"), tags=["firm"])

    assert effects.of_event(event).sentence == ""
    assert effects.of_event(undone(desk, event)).sentence == ""


def test_an_addition_is_taken_back_and_made_again(desk: Desk):
    before = desk.state()
    with access.in_workspace(desk.workspace.pk):
        added = HistoryEvent.objects.in_workspace(desk.workspace).get(
            kind=EventKind.DOCUMENT_ADDED, subjects__subject_id=desk.document("b").pk
        )

    undone(desk, undone(desk, added))

    assert desk.state() == before


def test_an_undo_is_not_undone_before_what_a_document_went_through_since(desk: Desk):
    documents = [desk.document("b")]
    undoing = undone(desk, documents_disable(change=desk.change(), documents=documents))
    trashed = documents_trash(change=desk.change(), documents=documents)

    assert refusal(desk, undoing).fields == {"event": str(trashed.pk)}


def test_what_was_done_for_good_is_not_taken_back(desk: Desk):
    going = [desk.document("a")]
    documents_trash(change=desk.change(), documents=going)
    event = documents_delete(change=desk.change(), documents=going)

    assert refusal(desk, event).code == "not_undoable"


def test_what_came_before_a_deletion_for_good_has_no_way_back(desk: Desk):
    going = [desk.document("a"), desk.document("b")]
    trashed = documents_trash(change=desk.change(), documents=going)
    documents_delete(change=desk.change(), documents=going[:1])
    assert refusal(desk, trashed).next_step == "Restore the others from the trash."
    documents_restore(change=desk.change(), documents=going[1:])

    error = refusal(desk, trashed)
    with access.in_workspace(desk.workspace.pk):
        [view] = history_queries.event_views(workspace=desk.workspace, rows=[trashed])

    assert (error.code, error.next_step) == ("undo_blocked", "")
    assert error.happened.startswith("'a.txt' was deleted for good by Alice on ")
    assert view.blocked_by is not None
    assert view.blocked_by.is_for_good


def test_a_document_is_not_taken_back_before_what_it_went_through(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        added = HistoryEvent.objects.in_workspace(desk.workspace).get(
            kind=EventKind.DOCUMENT_ADDED, subjects__subject_id=desk.document("a").pk
        )
    trashed = documents_trash(change=desk.change(), documents=[desk.document("a")])

    error = refusal(desk, added)

    assert (error.code, error.fields) == ("undo_blocked", {"event": str(trashed.pk)})
    assert error.happened.startswith("'a.txt' was moved to the trash by Alice on ")
