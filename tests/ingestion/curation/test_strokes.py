"""What was done at one stroke, and changes on the graph while documents come and go."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation import previewing
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_differ
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.undoing import event_undo
from ingestion.documents import lifecycle
from ingestion.history import queries as history_queries
from ingestion.models import HistoryEvent
from kb_project.errors import ConflictError
from tests.ingestion.curation.papers import Desk, merged
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def undone(desk: Desk, event: HistoryEvent) -> HistoryEvent:
    return event_undo(change=desk.change(), event=event)


def live(desk: Desk, action: str, *names: str) -> HistoryEvent:
    service: Any = getattr(lifecycle, f"documents_{action}")
    event: HistoryEvent = service(
        change=desk.change(), documents=[desk.document(name) for name in names]
    )
    return event


# --- at one stroke --------------------------------------------------------------------------------
def test_whichever_of_a_batch_is_taken_back_all_of_it_is(desk: Desk):
    before = desk.state()

    for place in (0, 1, 2):
        batch = uuid4()
        done = [
            merged(desk, LTD, INC, batch=batch),
            merged(desk, ORRAN, MERCURY, batch=batch),
            merged(desk, ORRAN, LTD, batch=batch),
        ]
        undone(desk, done[place])

        assert desk.state() == before


def test_a_batch_is_done_again_as_a_whole(desk: Desk):
    batch = uuid4()
    first = merged(desk, LTD, INC, batch=batch)
    merged(desk, ORRAN, LTD, batch=batch)
    after = desk.state()

    undoing = undone(desk, first)
    undone(desk, undoing)

    assert desk.state() == after
    assert [one.undone_at is None for one in desk.events()] == [True, True, False, True]


def test_the_undoing_of_a_batch_is_foreseen_as_a_whole(desk: Desk):
    batch = uuid4()
    merged(desk, LTD, INC, batch=batch)
    last = merged(desk, LTD, ORRAN, batch=batch)

    preview = previewing.preview(event_undo, workspace=desk.workspace, event=last)

    assert preview.mentions == 4
    assert undone(desk, last).details["counts"] == preview.figures


def test_what_came_after_one_of_a_batch_stands_in_the_way_of_all(desk: Desk):
    batch = uuid4()
    first = merged(desk, LTD, INC, batch=batch)
    second = merged(desk, ORRAN, MERCURY, batch=batch)
    later = merged(desk, ADA, ORRAN)
    before = desk.state()

    for event in (first, second):
        with pytest.raises(ConflictError) as refused:
            undone(desk, event)
        assert refused.value.fields == {"event": str(later.pk)}

    assert desk.state() == before


def test_of_a_batch_what_blocks_one_is_not_its_neighbour(desk: Desk):
    batch = uuid4()
    done = [merged(desk, LTD, INC, batch=batch), merged(desk, ORRAN, LTD, batch=batch)]

    with access.in_workspace(desk.workspace.pk):
        views = history_queries.event_views(workspace=desk.workspace, rows=done)

    assert [view.can_undo for view in views] == [True, True]


def test_two_batches_are_two(desk: Desk):
    first = merged(desk, LTD, INC, batch=uuid4())
    merged(desk, ORRAN, MERCURY, batch=uuid4())

    undone(desk, first)

    assert desk.names() == [INC, LTD, ADA, ORRAN]


# --- while documents come and go ------------------------------------------------------------------
def test_a_merge_holds_for_documents_that_come_back(desk: Desk):
    merged(desk, LTD, INC)
    after = desk.state()
    live(desk, "trash", "a", "c")
    assert desk.mentions()[LTD] == 2

    live(desk, "restore", "a", "c")

    assert desk.state() == after


def test_a_merge_made_while_a_document_was_away_holds_when_it_comes_back(desk: Desk):
    live(desk, "disable", "a")
    event = merged(desk, LTD, INC)
    live(desk, "enable", "a")

    assert INC not in desk.names()
    assert desk.mentions()[LTD] == 5
    undone(desk, event)
    assert desk.mentions()[INC] == 2


def test_a_merge_taken_back_while_a_document_was_away_is_not_obeyed_by_it(desk: Desk):
    before = desk.state()
    event = merged(desk, LTD, INC)
    live(desk, "trash", "a")
    undone(desk, event)

    live(desk, "restore", "a")

    assert desk.state() == before


def test_a_merge_of_what_no_document_names_any_more_is_taken_back(desk: Desk):
    before = desk.state()
    event = merged(desk, LTD, INC)
    live(desk, "trash", "a", "b", "c", "d")
    assert LTD not in desk.names()

    undone(desk, event)

    assert not {LTD, INC} & set(desk.names())
    live(desk, "restore", "a", "b", "c", "d")
    assert desk.state() == before


def test_a_split_by_document_is_there_again_with_its_document(desk: Desk):
    chosen = Selection(documents=(desk.document("b").pk,))
    event = entity_split(
        change=desk.change(), entity=desk.id(LTD), selection=chosen, name="Acme of Orran"
    )
    after = desk.state()
    live(desk, "trash", "b")
    assert "acme of orran" not in desk.names()

    live(desk, "restore", "b")

    assert desk.state() == after
    undone(desk, event)
    assert desk.mentions()[LTD] == 3


def test_what_was_deleted_stays_away_when_documents_come_back(desk: Desk):
    live(desk, "disable", "d", "e")
    live(desk, "enable", "d")
    event = entity_delete(change=desk.change(), entity=desk.id(MERCURY))

    live(desk, "enable", "e")

    assert MERCURY not in desk.names()
    undone(desk, event)
    assert desk.mentions()[MERCURY] == 2


def test_what_was_told_apart_is_so_for_documents_that_come_back(desk: Desk):
    live(desk, "trash", "c")
    entities_differ(change=desk.change(), entities=[desk.id(LTD), desk.id(INC)])

    live(desk, "restore", "c")

    assert {LTD, INC} <= set(desk.names())
    assert f"{LTD} > {INC}" in desk.links()


def test_what_was_made_outlives_documents_and_what_was_only_worded_goes_with_them(desk: Desk):
    made = entity_create(
        change=desk.change(), name="The Trust", type="organization", description="A fund."
    )
    entity_edit(change=desk.change(), entity=desk.id(ORRAN), is_protected=True, description="Home.")
    live(desk, "delete", "b", "e")

    assert str(made.details["entity"]) in {str(one[0]) for one in desk.state()[0]}
    assert ORRAN not in desk.names()


def test_documents_and_changes_are_taken_back_in_any_order_that_does_not_touch(desk: Desk):
    before = desk.state()
    trashed = live(desk, "trash", "e")
    merge = merged(desk, LTD, INC)
    disabled = live(desk, "disable", "d")

    for event in (trashed, disabled, merge):
        undone(desk, event)

    assert desk.state() == before
