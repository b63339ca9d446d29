from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Document, Mention
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
from tests.ingestion.curation.conftest import make_graph_cast
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


def make_merged() -> rows.Cast:
    cast = make_graph_cast()
    ada, miss = named(cast, "ada lind"), named(cast, "miss lind")
    assert send(cast.alice, cast, "entities_merge", ada.pk, **{"with": [miss.pk]}).status_code
    return cast


merged = once_a_module(make_merged)


@pytest.fixture
def cast(merged: Once[rows.Cast], media: Path) -> rows.Cast:
    """Miss Lind is merged into Ada Lind, who is thus called by two names."""
    return merged.for_a_test(media)


def document(cast: rows.Cast, name: str) -> Document:
    with access.in_workspace(cast.workspace.pk):
        return Document.objects.in_workspace(cast.workspace).get(name=f"{name}.txt")


def mentions(cast: rows.Cast) -> list[Mention]:
    with access.in_workspace(cast.workspace.pk):
        found = Mention.objects.in_workspace(cast.workspace)
        return list(found.filter(entity=named(cast, "ada lind")).order_by("pk"))


def preview(cast: rows.Cast, **form) -> tuple[str, str]:
    """What the form says it would do, and the word its button then carries."""
    ada = named(cast, "ada lind")
    response = send(cast.alice, cast, "entity_split", ada.pk, **form)
    assert response.status_code == 200
    found = re.search(r'name="do"\s+value="([^"]+)"', response.content.decode())
    return words(response), found.group(1) if found else ""


def test_mentions_are_listed_by_name_document_and_line(cast):
    page = shown(cast.alice, cast, "entity_split", named(cast, "ada lind").pk)

    assert "Ada Lind 3×" in page
    assert "Miss Lind 2×" in page
    assert "census" in page
    assert "All 2 of this passage" in page
    assert "A preview of this split appears here" in page


def test_a_name_is_split_off_after_a_preview(cast):
    ada = named(cast, "ada lind")
    form = {"alias": "Miss Lind", "name": "Greta Lind", "type": "person"}

    said, word = preview(cast, **form)
    page = followed(
        cast.alice, cast, "entity_split", ada.pk, do=word, seen=seen(cast, ada.pk), **form
    )

    assert "2 mentions move" in said
    assert "Split 'Greta Lind' off from 'Ada Lind'." in page
    assert named(cast, "ada lind").mention_count == 3
    undone = followed(cast.alice, cast, "event_undo", last_event(cast).pk)
    assert "Undid: Alice split 'Greta Lind' off from 'Ada Lind'." in undone
    assert named(cast, "ada lind").mention_count == 5


def test_a_document_and_single_mentions_are_chosen(cast):
    by_document, _ = preview(cast, document=document(cast, "log").pk, name="X")
    by_mention, _ = preview(cast, mention=[row.pk for row in mentions(cast)[:2]], name="X")
    by_passage, _ = preview(cast, chunk=mentions(cast)[0].chunk_id, name="X")

    assert "1 mention" in by_document
    assert "2 mentions" in by_mention
    assert "Split off" in by_passage


def test_mentions_move_to_an_entity_that_is_searched_for(cast):
    ada, olaf = named(cast, "ada lind"), named(cast, "olaf brekke")
    form = {"alias": "Miss Lind", "into": "other"}
    found, _ = preview(cast, q="olaf", search="1", **form)
    assert "Olaf Brekke 1 mention" in found
    assert "Choose the entity the mentions go to." in preview(cast, **form)[0]

    said, word = preview(cast, target=olaf.pk, **form)
    page = followed(cast.alice, cast, "entity_split", ada.pk, do=word, target=olaf.pk, **form)

    assert "2 mentions move" in said
    assert "Moved 2 mentions from 'Ada Lind' to 'Olaf Brekke'." in page
    assert named(cast, "olaf brekke").mention_count == 3


def test_a_selection_that_changed_since_its_preview_is_previewed_again(cast):
    _, word = preview(cast, alias="Miss Lind", name="X")

    said, _ = preview(cast, alias="Ada Lind", name="X", do=word)

    assert "The selection changed since it was previewed." in said
    assert "3 mentions move" in said


# --- what may not be ------------------------------------------------------------------------------
def test_nothing_and_everything_are_no_split(cast):
    nothing, no_word = preview(cast, name="X")
    everything, _ = preview(cast, alias=["Miss Lind", "Ada Lind"], name="X")

    assert "No mention of 'Ada Lind' is selected." in nothing
    assert no_word == ""
    assert "Every mention of 'Ada Lind' is selected." in everything


def test_a_name_that_is_taken_or_too_long_comes_back_with_the_selection(cast):
    ada = named(cast, "ada lind")
    _, word = preview(cast, alias="Miss Lind", name="X")

    for name, status in (("Olaf Brekke", 409), ("x" * 10_000, 400), ("", 400)):
        response = send(
            cast.alice, cast, "entity_split", ada.pk, do=word, alias="Miss Lind", name=name
        )
        assert response.status_code == status
        assert re.search(r'value="Miss Lind"\s+checked', response.content.decode())


def test_who_comes_second_is_told(cast):
    ada = named(cast, "ada lind")
    before = seen(cast, ada.pk)
    _, word = preview(cast, alias="Miss Lind", name="X")
    send(cast.alice, cast, "entity_edit", ada.pk, name="Ada Lindh")

    late = send(
        cast.alice, cast, "entity_split", ada.pk, do=word, alias="Miss Lind", name="X", seen=before
    )

    assert late.status_code == 412
    assert "Alice renamed 'Ada Lind' to 'Ada Lindh'." in words(late)


def test_ids_that_are_none_or_foreign_are_not_found(cast):
    ada = named(cast, "ada lind")
    send_wrong: list[dict[str, Any]] = [
        {"document": "x"},
        {"target": uuid4(), "into": "other", "alias": "Miss Lind"},
    ]

    for wrong in send_wrong:
        assert send(cast.alice, cast, "entity_split", ada.pk, **wrong).status_code == 404
    assert "no longer exist" in preview(cast, mention=uuid4(), name="X")[0]


def test_a_reader_may_not_and_a_stranger_finds_nothing(cast):
    ada = named(cast, "ada lind")
    page = address("entity_split", cast, ada.pk)

    assert client_of(cast.bob).get(page).status_code == 403
    assert client_of(cast.charlie).get(page).status_code == 404
    assert "Split" in page_of(cast.alice, "entity_split", cast, ada.pk)
