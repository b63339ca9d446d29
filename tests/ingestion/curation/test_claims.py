from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation.claims import claim_delete, claim_edit
from ingestion.curation.entities import entity_edit
from ingestion.curation.undoing import event_undo
from ingestion.history.recording import ChangeContext
from ingestion.models import Claim, HistoryEvent
from ingestion.pipeline.propagate import propagate
from kb_project.errors import ConflictError, InputError, NotFoundError
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.curated import followed, last_event, named, shown
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
KEEPS, ISLAND = "She keeps the light.", "It is an island."


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    cast = rows.make_cast()
    names = [("Ada Lind", "person"), ("Skarrow", "place")]
    claims = [(0, 1, KEEPS), (1, None, ISLAND)]
    run(paper(cast.workspace, "log", Said(names, claims=claims)))
    return cast


def claim(cast: rows.Cast, text: str) -> Claim:
    with access.in_workspace(cast.workspace.pk):
        return Claim.objects.in_workspace(cast.workspace).get(description=text)


def texts(cast: rows.Cast) -> set[str]:
    with access.in_workspace(cast.workspace.pk):
        found = Claim.objects.in_workspace(cast.workspace)
        return set(found.values_list("description", flat=True))


def read_again(cast: rows.Cast) -> None:
    with access.in_workspace(cast.workspace.pk):
        propagate(cast.workspace.pk, {"ada lind", "skarrow"})


def change(cast: rows.Cast) -> ChangeContext:
    return ChangeContext(cast.workspace, cast.alice)


def edit(cast: rows.Cast, text: str, **wanted: Any) -> HistoryEvent:
    return claim_edit(change=change(cast), claim=claim(cast, text).pk, **wanted)


def test_claims_have_the_same_ids_whenever_their_passage_is_read(cast):
    before = claim(cast, KEEPS).pk

    read_again(cast)

    assert claim(cast, KEEPS).pk == before


def test_an_edited_claim_stays_so_when_its_document_is_read_again(cast):
    event = edit(cast, KEEPS, description="She kept it.", status="false", period_end="1980-05")

    read_again(cast)

    row = claim(cast, "She kept it.")
    assert (row.status, row.period_start, row.period_end) == ("false", "1974", "1980-05")
    assert row.proposed == {"description": KEEPS, "status": "true", "period_end": ""}
    assert event.details["after"]["status"] == "false"
    # No words of a document stay in the history.
    assert event.details["before"]["description"] == ""


def test_an_edit_is_undone_and_redone(cast):
    event = edit(cast, KEEPS, description="She kept it.")

    undo = event_undo(change=change(cast), event=event)
    assert texts(cast) == {KEEPS, ISLAND}
    assert claim(cast, KEEPS).proposed == {}
    event_undo(change=change(cast), event=undo)
    assert texts(cast) == {"She kept it.", ISLAND}


def test_a_claim_is_edited_twice_and_only_the_last_edit_undone(cast):
    edit(cast, KEEPS, description="She kept it.")
    second = edit(cast, "She kept it.", description="She left.")

    event_undo(change=change(cast), event=second)

    assert texts(cast) == {"She kept it.", ISLAND}


def test_a_deleted_claim_stays_away_until_that_is_undone(cast):
    event = claim_delete(change=change(cast), claim=claim(cast, KEEPS).pk)

    read_again(cast)
    assert texts(cast) == {ISLAND}
    event_undo(change=change(cast), event=event)
    assert texts(cast) == {KEEPS, ISLAND}


def test_a_correction_follows_an_entity_that_is_renamed(cast):
    edit(cast, KEEPS, description="She kept it.")

    entity_edit(change=change(cast), entity=named(cast, "ada lind").pk, name="Ada Berg")

    assert texts(cast) == {"She kept it.", ISLAND}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({}, "nothing_to_change"),
        ({"description": KEEPS}, "nothing_to_change"),
        ({"description": "  "}, "empty"),
        ({"status": "maybe"}, "unknown_status"),
        ({"period_start": "1974-02-30"}, "no_date"),
        ({"period_start": "last year"}, "no_date"),
        ({"period_end": "1973-12-31"}, "ends_before_start"),
        ({"type": "x" * 81}, "too_long"),
    ],
)
def test_what_a_claim_cannot_say_is_refused(cast, wanted, code):
    with pytest.raises(InputError) as caught:
        edit(cast, KEEPS, **wanted)

    assert caught.value.code == code
    assert texts(cast) == {KEEPS, ISLAND}


def test_a_claim_that_was_deleted_meanwhile_says_so(cast):
    one = claim(cast, KEEPS).pk
    claim_delete(change=change(cast), claim=one)

    with pytest.raises(ConflictError) as caught:
        claim_edit(change=change(cast), claim=one, description="New.")
    assert caught.value.code == "deleted_before"
    with pytest.raises(NotFoundError):
        claim_edit(change=change(cast), claim=uuid4(), description="New.")


# --- pages ----------------------------------------------------------------------------------------
def test_a_curator_edits_a_claim_on_its_page_and_undoes_it(cast):
    ada, one = named(cast, "ada lind"), claim(cast, KEEPS)
    assert KEEPS in shown(cast.alice, cast, "claim_edit", one.pk)

    page = followed(
        cast.alice, cast, "claim_edit", one.pk, description="She kept it.", status="suspected"
    )

    assert "Edited a claim about 'Ada Lind'." in page
    assert "She kept it." in page
    followed(cast.alice, cast, "event_undo", last_event(cast).pk)
    assert KEEPS in shown(cast.bob, cast, "entity_detail", ada.pk)


def test_a_curator_deletes_a_claim_after_seeing_what_goes(cast):
    one = claim(cast, KEEPS)
    assert "Delete this claim?" in shown(cast.alice, cast, "claim_delete", one.pk)

    page = followed(cast.alice, cast, "claim_delete", one.pk)

    assert "Deleted a claim about 'Ada Lind'." in page
    assert texts(cast) == {ISLAND}


def test_a_reader_sees_claims_without_a_way_to_edit_them(cast):
    page = shown(cast.bob, cast, "entity_claims", named(cast, "ada lind").pk)

    assert KEEPS in page
    assert "1 claim, by type and time" in page
    assert "Edit" not in page


@pytest.mark.parametrize(
    ("query", "number"),
    [({"q": "keeps"}, 1), ({"q": "x"}, 0), ({"status": "false"}, 0), ({"type": "office"}, 2)],
)
def test_claims_are_filtered(cast, query, number):
    page = shown(cast.bob, cast, "entity_claims", named(cast, "skarrow").pk, **query)

    assert (f"{number} claim" in page) is bool(number)
    assert ("No such claim" in page) is not bool(number)


# --- the API --------------------------------------------------------------------------------------
def test_members_list_claims_and_strangers_find_nothing(cast):
    ada = named(cast, "ada lind")
    path = address(cast.workspace, f"entities/{ada.pk}/claims/")

    for person in (cast.alice, cast.bob):
        body = client(person).get(path, {"dated": "true"}).json()
        assert (body["total"], body["results"][0]["description"]) == (1, KEEPS)
        assert body["results"][0]["other"]["name"] == "Skarrow"
    assert_nothing_there(client(cast.charlie).get(path))


def test_a_claim_is_edited_and_deleted_by_curators_alone(cast):
    path = address(cast.workspace, f"claims/{claim(cast, KEEPS).pk}/")
    view = client(cast.bob).get(path)
    assert view.json()["subject"]["name"] == "Ada Lind"
    assert_problem(client(cast.bob).patch(path, {"description": "No."}), 403, "forbidden")
    assert_nothing_there(client(cast.charlie).delete(path))

    edited = client(cast.alice).patch(
        path, {"description": "She kept it."}, headers={"If-Match": view["ETag"]}
    )

    assert edited.json()["sentence"] == "Alice edited a claim about 'Ada Lind'."
    assert client(cast.alice).get(path).json()["proposed"] == {"description": KEEPS}
    stale = client(cast.alice).delete(path, headers={"If-Match": view["ETag"]})
    assert stale.status_code == 412
    assert client(cast.alice).delete(path).status_code == 200
    assert client(cast.alice).get(path).status_code == 404
