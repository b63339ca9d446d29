from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from ingestion.curation import previewing
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.undoing import event_undo
from ingestion.models import Alias, HistoryEvent
from kb_project.errors import ConflictError, InputError, NotFoundError
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def create(desk: Desk, name: str = "The Trust", **more: Any) -> HistoryEvent:
    return entity_create(change=desk.change(), name=name, type="organization", **more)


def edit(desk: Desk, key: str, **said: Any) -> HistoryEvent:
    return entity_edit(change=desk.change(), entity=desk.id(key), **said)


def refused(desk: Desk, code: str, key: str = LTD, **said: Any) -> Any:
    before = desk.state()
    with pytest.raises((InputError, ConflictError)) as error:
        edit(desk, key, **said)
    assert error.value.code == code
    assert desk.state() == before
    return error.value


def aliases(desk: Desk, key: str) -> set[str]:
    found = all_of(desk.workspace, Alias, "entity_id", "name")
    return {name for one, name in found if one == desk.id(key)}


# --- made -----------------------------------------------------------------------------------------
def test_what_is_made_stands_without_a_document(desk: Desk):
    event = create(desk, description="A fund.", aliases=["Lightkeepers"])

    made = desk.entity("trust")
    assert (made.name, made.type, made.description) == ("The Trust", "organization", "A fund.")
    assert (made.is_made, made.mention_count) == (True, 0)
    assert event.details["entity"] == str(made.pk)
    assert aliases(desk, "trust") >= {"The Trust", "Lightkeepers"}


def test_documents_that_name_it_later_speak_of_it(desk: Desk):
    create(desk, aliases=["Lightkeepers"])

    run(paper(desk.workspace, "z", Said([("Trust", "group"), ("Lightkeepers", "group")])))

    assert desk.mentions()["trust"] == 2
    assert desk.entity("trust").type == "organization"


@pytest.mark.parametrize("name", ["Acme Ltd", "acme  LTD", "The Acme Ltd"])
def test_what_is_there_is_not_made_again(desk: Desk, name: str):
    with pytest.raises(ConflictError) as error:
        create(desk, name)

    assert error.value.code == "name_taken"
    assert error.value.fields["entity"]["id"] == str(desk.id(LTD))


def test_a_name_that_was_merged_away_is_taken_by_what_it_is_read_as(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    with pytest.raises(ConflictError) as error:
        create(desk, "Acme Inc")

    assert error.value.fields["entity"]["id"] == str(desk.id(LTD))
    assert error.value.happened == ("An entity named 'Acme Inc' as 'Acme Ltd' already exists.")


def test_making_what_was_deleted_brings_it_back(desk: Desk):
    entity_delete(change=desk.change(), entity=desk.id(LTD))

    create(desk, "Acme Ltd")

    assert desk.mentions()[LTD] == 3


# --- worded ---------------------------------------------------------------------------------------
def test_a_renamed_entity_is_known_by_both_names(desk: Desk):
    event = edit(desk, LTD, name="Acme Group")

    assert desk.entity(LTD).name == "Acme Group"
    assert event.details["before"] == {"name": "Acme Ltd"}
    run(paper(desk.workspace, "z", Said([("Acme Group", "x"), ("Acme Ltd", "x")])))
    assert desk.mentions()[LTD] == 5


def test_another_spelling_is_a_rename_too(desk: Desk):
    edit(desk, LTD, name="ACME Ltd.")

    assert desk.entity(LTD).name == "ACME Ltd."


def test_what_documents_say_is_shown_beside_what_people_say(desk: Desk):
    edit(desk, LTD, type="firm", description="A firm.", is_protected=True)

    entity = desk.entity(LTD)
    assert (entity.type, entity.description, entity.written_by) == ("firm", "A firm.", "person")
    assert entity.proposed["type"] == "organization"
    assert entity.is_protected
    edit(desk, LTD, is_protected=False)
    assert not desk.entity(LTD).is_protected


def test_an_entity_is_confirmed_and_that_is_undone_in_the_history(desk: Desk):
    event = edit(desk, LTD, is_confirmed=True)
    assert desk.entity(LTD).is_confirmed

    refused(desk, "undo_instead", is_confirmed=False)
    event_undo(change=desk.change(), event=event)

    assert not desk.entity(LTD).is_confirmed


def test_names_are_added_and_taken_away(desk: Desk):
    edit(desk, LTD, add_aliases=["ACM", "Acme"])
    run(paper(desk.workspace, "z", Said([("ACM", "x")])))
    assert aliases(desk, LTD) == {"Acme Ltd", "ACM", "Acme"}
    assert desk.mentions()[LTD] == 4

    taken = {"remove_aliases": ["ACM"]}
    preview = previewing.preview(
        entity_edit, workspace=desk.workspace, entity=desk.id(LTD), **taken
    )
    event = edit(desk, LTD, **taken)

    assert preview.figures == event.details["counts"]
    assert preview.mentions == 1
    assert aliases(desk, LTD) == {"Acme Ltd", "Acme"}
    assert (desk.mentions()[LTD], desk.mentions()["acm"]) == (3, 1)


def test_a_name_that_another_has_offers_a_merge(desk: Desk):
    for said in ({"name": "Orran"}, {"add_aliases": ["Orran"]}):
        error = refused(desk, "name_taken", **said)
        assert error.fields["entity"]["name"] == "Orran"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"name": ""}, "empty"),
        ({"name": "x" * 10_000}, "too_long"),
        ({"name": "\x00"}, "unseen_characters"),
        ({"name": "--"}, "no_letters"),
        ({"type": " "}, "empty"),
        ({"type": "x" * 41}, "too_long"),
        ({"description": "x" * 10_001}, "too_long"),
        ({"description": "a\x00b"}, "unseen_characters"),
        ({"add_aliases": [""]}, "empty"),
        ({"add_aliases": [f"Name {n}" for n in range(51)]}, "too_many"),
        ({}, "nothing_to_change"),
        ({"name": "Acme Ltd", "type": "organization"}, "nothing_to_change"),
        ({"remove_aliases": ["Nobody"]}, "nothing_to_change"),
    ],
)
def test_what_cannot_be_said_changes_nothing(desk: Desk, said: dict[str, Any], code: str):
    refused(desk, code, **said)


def test_an_edit_is_previewed(desk: Desk):
    before = desk.state()

    preview = previewing.preview(
        entity_edit, workspace=desk.workspace, entity=desk.id(LTD), name="Acme Group"
    )

    assert desk.state() == before
    assert preview.figures == edit(desk, LTD, name="Acme Group").details["counts"]


# --- deleted --------------------------------------------------------------------------------------
def test_what_is_deleted_stays_away(desk: Desk):
    preview = previewing.preview(entity_delete, workspace=desk.workspace, entity=desk.id(LTD))

    event = entity_delete(change=desk.change(), entity=desk.id(LTD))

    assert event.details["counts"] == preview.figures
    assert preview.sentence == "4 facts and 3 mentions are hidden."
    run(paper(desk.workspace, "z", Said([("Acme Ltd", "x"), ("Orran", "place")])))
    assert LTD not in desk.names()
    event_undo(change=desk.change(), event=event)
    assert desk.mentions()[LTD] == 4


def test_what_is_deleted_says_by_whom(desk: Desk):
    event = entity_delete(change=desk.change(), entity=desk.id(LTD))

    with pytest.raises(ConflictError) as error:
        edit(desk, LTD, name="Acme Group")

    assert error.value.code == "deleted_before"
    assert error.value.happened.startswith("'Acme Ltd' was deleted by Alice on ")
    assert error.value.fields["event"] == str(event.pk)


def test_what_never_was_is_not_found(desk: Desk):
    with pytest.raises(NotFoundError):
        entity_edit(change=desk.change(), entity=UUID(int=1), name="A")
