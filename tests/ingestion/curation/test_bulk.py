from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation import bulk
from ingestion.curation.effects import of_event
from ingestion.curation.previewing import preview
from ingestion.curation.undoing import event_undo
from ingestion.history.recording import ChangeContext
from ingestion.models import Document
from kb_project.errors import ConflictError, InputError, NotFoundError
from tests import rows
from tests.ingestion.curated import (
    followed,
    last_event,
    named,
    seen,
    send,
    shown,
    words,
)
from tests.ingestion.curation.ruled import names
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
ALL = {"Ada Lind", "Miss Lind", "Olaf Brekke", "Skarrow"}


def ids(cast: rows.Cast, *keys: str) -> list[Any]:
    return [named(cast, key).pk for key in keys]


def change(cast: rows.Cast) -> ChangeContext:
    return ChangeContext(cast.workspace, cast.alice)


def test_types_change_together_and_one_undo_reverts_them(cast):
    chosen = ids(cast, "ada lind", "olaf brekke", "skarrow")

    events = bulk.entities_retype(change=change(cast), entities=chosen, type="Place")

    # Skarrow was a place already.
    assert len(events) == 2
    assert named(cast, "ada lind").type == named(cast, "olaf brekke").type == "place"
    event_undo(change=change(cast), event=events[1])
    assert named(cast, "ada lind").type == named(cast, "olaf brekke").type == "person"


def test_before_an_undo_it_is_said_that_several_changes_are_undone_together(cast):
    chosen = ids(cast, "ada lind", "olaf brekke")
    event, _ = bulk.entities_retype(change=change(cast), entities=chosen, type="Place")

    before = preview(event_undo, workspace=cast.workspace, event=event)
    undone = event_undo(change=change(cast), event=event)

    assert before.notes == ("This undoes all 2 changes that were made together.",)
    assert of_event(undone).notes == before.notes
    again = preview(event_undo, workspace=cast.workspace, event=undone)
    assert again.notes == before.notes


def test_an_undo_of_several_names_a_later_change_that_stays(cast):
    chosen = ids(cast, "ada lind", "olaf brekke")
    events = bulk.entities_retype(change=change(cast), entities=chosen, type="Place")
    bulk.entities_retype(change=change(cast), entities=chosen[1:], type="Event")

    before = preview(event_undo, workspace=cast.workspace, event=events[0])
    undone = event_undo(change=change(cast), event=events[0])

    assert before.notes[1].startswith("1 of them changes nothing visible. A later change is in")
    assert "Olaf Brekke" in before.notes[1]
    assert (undone.details["before"], undone.details["after"]) == (
        {"type": "place"},
        {"type": "person"},
    )
    assert named(cast, "olaf brekke").type == "event"


def test_entities_are_confirmed_together_and_one_undo_reverts_it(cast):
    events = bulk.entities_confirm(change=change(cast), entities=ids(cast, "ada lind", "skarrow"))

    assert named(cast, "skarrow").is_confirmed
    event_undo(change=change(cast), event=events[0])
    assert not named(cast, "ada lind").is_confirmed
    assert not named(cast, "skarrow").is_confirmed


def test_entities_are_deleted_together_and_one_undo_brings_them_back(cast):
    events = bulk.entities_delete(change=change(cast), entities=ids(cast, "ada lind", "skarrow"))

    assert names(cast.workspace) == ALL - {"Ada Lind", "Skarrow"}
    event_undo(change=change(cast), event=events[0])
    assert names(cast.workspace) == ALL


def test_nothing_is_done_if_one_of_them_is_gone(cast):
    bulk.entities_delete(change=change(cast), entities=ids(cast, "skarrow")[:1])
    gone = uuid4()

    with pytest.raises(NotFoundError):
        bulk.entities_confirm(change=change(cast), entities=[*ids(cast, "ada lind"), gone])
    assert not named(cast, "ada lind").is_confirmed


@pytest.mark.parametrize(("number", "code"), [(0, "none_selected"), (201, "too_many")])
def test_too_few_and_too_many_are_refused(cast, number, code):
    with pytest.raises(InputError) as caught:
        bulk.entities_confirm(change=change(cast), entities=[uuid4() for _ in range(number)])
    assert caught.value.code == code


def test_deleting_twice_says_what_happened(cast):
    chosen = ids(cast, "skarrow")
    bulk.entities_delete(change=change(cast), entities=chosen)

    with pytest.raises(ConflictError):
        bulk.entities_delete(change=change(cast), entities=chosen)


# --- the page -------------------------------------------------------------------------------------
def test_a_curator_retypes_entities_from_the_list(cast):
    chosen = ids(cast, "ada lind", "miss lind")

    page = followed(
        cast.alice, cast, "entities_bulk", ids=chosen, action="retype", type="place",
        seen=seen(cast, *chosen),
    )  # fmt: skip

    assert "Changed the type of 2 entities to place." in page
    followed(cast.alice, cast, "event_undo", last_event(cast).pk)
    assert named(cast, "ada lind").type == "person"


def test_a_deletion_is_previewed_then_done(cast):
    chosen = ids(cast, "ada lind", "skarrow")

    asked = send(cast.alice, cast, "entities_bulk", ids=chosen, action="delete")
    assert "Delete 2 entities?" in words(asked)
    assert "facts" in words(asked)
    assert names(cast.workspace) == ALL

    page = followed(cast.alice, cast, "entities_bulk", ids=chosen, action="delete", sure="yes")
    assert "Deleted 2 entities." in page


def test_one_entity_is_renamed_and_several_are_not(cast):
    [ada, skarrow] = ids(cast, "ada lind", "skarrow")

    opened = send(cast.alice, cast, "entities_bulk", ids=[ada], action="rename")
    refused = send(cast.alice, cast, "entities_bulk", ids=[ada, skarrow], action="rename")

    assert opened["Location"].endswith(f"{ada}/?edit=name")
    assert refused.status_code == 400
    assert "Only one entity can be renamed at a time." in words(refused)


def test_what_changed_since_the_list_was_opened_is_not_overwritten(cast):
    chosen = ids(cast, "ada lind")
    before = seen(cast, *chosen)
    bulk.entities_confirm(change=change(cast), entities=chosen)

    late = send(
        cast.alice, cast, "entities_bulk", ids=chosen, action="retype", type="place", seen=before
    )

    assert late.status_code == 412
    assert named(cast, "ada lind").type == "person"


def test_readers_and_strangers_change_nothing(cast):
    chosen = ids(cast, "ada lind")

    for person, status in ((cast.bob, 403), (cast.charlie, 404)):
        response = send(person, cast, "entities_bulk", ids=chosen, action="confirm")
        assert response.status_code == status
    assert "Change type" not in shown(cast.bob, cast, "entity_list")
    assert not named(cast, "ada lind").is_confirmed


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ALL),
        ({"type": "place"}, {"Skarrow"}),
        ({"certainty": "confirmed"}, {"Olaf Brekke"}),
        ({"certainty": "several"}, {"Ada Lind", "Miss Lind", "Skarrow"}),
        ({"certainty": "once"}, set()),
        ({"certainty": "nonsense", "topic": "nonsense"}, ALL),
        ({"document": "visit"}, {"Ada Lind", "Olaf Brekke"}),
    ],
)
def test_the_list_is_filtered(cast, query, expected):
    bulk.entities_confirm(change=change(cast), entities=ids(cast, "olaf brekke"))
    if "document" in query:
        with access.in_workspace(cast.workspace.pk):
            visit = Document.objects.in_workspace(cast.workspace).get(name="visit.txt")
        query = {"document": visit.pk}

    page = shown(cast.bob, cast, "entity_list", **query)

    assert {name for name in ALL if f"{name} " in page.partition("Show")[2]} == expected


def test_the_list_is_ordered(cast):
    page = shown(cast.bob, cast, "entity_list", order="name")

    places = [page.index(f" {name} ", page.index("4 entities")) for name in sorted(ALL)]
    assert places == sorted(places)
