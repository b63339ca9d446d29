from __future__ import annotations

from uuid import uuid4

import pytest

from tests.ingestion.curated import (
    followed,
    last_event,
    named,
    seen,
    send,
    shown,
    words,
)
from tests.ingestion.pages import address, client_of, page_of

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


# --- the page -------------------------------------------------------------------------------------
def test_a_field_is_opened_in_its_place(cast):
    ada = named(cast, "ada lind")

    page = page_of(cast.alice, "entity_detail", cast, ada.pk, edit="name")

    assert '<input class="form-control inline-edit__title"' in page
    assert f'value="{ada.pk}:0"' in page
    assert 'value="Ada Lind"' in page


def test_a_reader_sees_the_buttons_disabled_and_whom_to_ask(cast):
    ada = named(cast, "ada lind")

    page = page_of(cast.bob, "entity_detail", cast, ada.pk, edit="name")

    assert "Only curators of Harbour can change, merge or split entities. Ask Alice." in " ".join(
        page.split()
    )
    assert "disabled" in page
    assert "inline-edit__title" not in page
    assert "Add a fact" not in page


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "Ada Lindqvist"}, "Renamed 'Ada Lind' to 'Ada Lindqvist'."),
        ({"type": "keeper"}, "Changed the type of 'Ada Lind'"),
        ({"description": "She kept the light."}, "Edited the description of 'Ada Lind'."),
        ({"add_aliases": "The keeper"}, "Added the alias 'The keeper' to 'Ada Lind'."),
        ({"is_protected": "yes"}, "Protected 'Ada Lind'."),
        ({"is_confirmed": "yes"}, "Confirmed 'Ada Lind'."),
    ],
)
def test_a_curator_changes_one_thing_and_can_undo_it(cast, form, said):
    ada = named(cast, "ada lind")

    after = followed(cast.alice, cast, "entity_edit", ada.pk, seen=seen(cast, ada.pk), **form)

    assert said in after
    assert "Undo" in after
    back = address("entity_detail", cast, ada.pk)
    undone = followed(cast.alice, cast, "event_undo", last_event(cast).pk, next=back)
    assert "Undid: Alice" in undone
    assert shown(cast.alice, cast, "entity_detail", ada.pk).startswith("Ada Lind ·")


def test_who_confirmed_it_is_told(cast):
    ada = named(cast, "ada lind")

    page = followed(cast.alice, cast, "entity_edit", ada.pk, is_confirmed="yes")

    assert "Reviewed and confirmed by Alice on" in page


def test_an_alias_is_added_and_removed(cast):
    ada = named(cast, "ada lind")
    assert "The keeper" in followed(
        cast.alice, cast, "entity_edit", ada.pk, add_aliases="The keeper"
    )

    removed = followed(cast.alice, cast, "entity_edit", ada.pk, remove_aliases="The keeper")

    assert "Removed the alias 'The keeper' from 'Ada Lind'." in removed
    assert "The keeper" not in shown(cast.bob, cast, "entity_detail", ada.pk)


def test_what_documents_would_say_is_shown_beside_a_persons_words(cast):
    ada = named(cast, "ada lind")
    send(cast.alice, cast, "entity_edit", ada.pk, name="The keeper of Skarrow")

    page = shown(cast.bob, cast, "entity_detail", ada.pk)

    assert "The documents alone give: Name Ada Lind" in page


def test_saving_what_is_there_already_just_closes_the_field(cast):
    ada = named(cast, "ada lind")

    response = send(cast.alice, cast, "entity_edit", ada.pk, name="Ada Lind")

    assert response.status_code == 302
    assert "data-toast-undo" not in page_of(cast.alice, "entity_detail", cast, ada.pk)


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({"name": "  "}, 400, "The name is empty."),
        ({"name": "x" * 10_000}, 400, "The name has 10,000 characters."),
        ({"name": "Olaf Brekke"}, 409, "An entity named 'Olaf Brekke' already exists."),
        ({"name": "a\u202eb"}, 400, "The name contains invisible characters."),
        ({"type": ""}, 400, "The type is empty."),
        ({"description": "x" * 10_001}, 400, "The description has 10,001 characters."),
        ({"add_aliases": "..."}, 400, "has neither a letter nor a digit."),
    ],
)
def test_what_may_not_be_comes_back_with_what_was_typed(cast, form, status, sentence):
    ada = named(cast, "ada lind")

    response = send(cast.alice, cast, "entity_edit", ada.pk, **form)

    assert response.status_code == status
    assert response["X-Form-Again"] == "yes"
    assert sentence in words(response)
    assert next(iter(form.values())).strip() in response.content.decode()


def test_a_name_that_is_taken_offers_a_merge(cast):
    ada, olaf = named(cast, "ada lind"), named(cast, "olaf brekke")

    response = send(cast.alice, cast, "entity_edit", ada.pk, name="Olaf Brekke")

    page = response.content.decode()
    assert f"{address('entities_merge', cast, ada.pk)}?with={olaf.pk}" in page


def test_who_comes_second_is_told_what_changed_and_keeps_the_words(cast):
    ada = named(cast, "ada lind")
    before = seen(cast, ada.pk)
    send(cast.alice, cast, "entity_edit", ada.pk, name="Ada Lindqvist", seen=before)

    late = send(cast.alice, cast, "entity_edit", ada.pk, name="Ada Lindh", seen=before)

    assert late.status_code == 412
    assert "Alice renamed 'Ada Lind' to 'Ada Lindqvist'." in words(late)
    assert 'value="Ada Lindh"' in late.content.decode()
    assert seen(cast, ada.pk)[0] in late.content.decode()


@pytest.mark.parametrize("page", ["entity_edit", "entity_delete"])
def test_a_reader_may_not_and_a_stranger_finds_nothing(cast, page):
    ada = named(cast, "ada lind")

    refused = send(cast.bob, cast, page, ada.pk, name="X")

    assert refused.status_code == 403
    assert "Ask Alice." in words(refused)
    assert send(cast.charlie, cast, page, ada.pk, name="X").status_code == 404
    assert send(cast.alice, cast, page, uuid4(), name="X").status_code in {404, 410}


def test_what_a_form_saw_must_be_numbers(cast):
    ada = named(cast, "ada lind")

    assert send(cast.alice, cast, "entity_edit", ada.pk, name="X", seen="x:1").status_code == 404
    wrong = send(cast.alice, cast, "entity_edit", ada.pk, name="X", seen=f"{ada.pk}:x")
    assert wrong.status_code == 400


# --- create and delete ----------------------------------------------------------------------------
def test_an_entity_is_created_with_its_other_names(cast):
    page = followed(
        cast.alice,
        cast,
        "entity_create",
        name="Greta Moe",
        type="person",
        description="A baker.",
        aliases="Miss Moe\n\nThe baker",
    )

    assert "Created 'Greta Moe'." in page
    assert "Made by a person" in page
    assert "Miss Moe" in page
    assert "no document mentions it yet" in page


def test_a_creation_that_is_refused_keeps_what_was_typed(cast):
    response = send(
        cast.alice, cast, "entity_create", name="Ada Lind", type="person", description="Hers."
    )

    assert response.status_code == 409
    assert "Hers." in response.content.decode()
    assert "Look at Ada Lind" in words(response)
    assert send(cast.bob, cast, "entity_create").status_code == 403
    assert send(cast.charlie, cast, "entity_create").status_code == 404


def test_deleting_tells_first_what_follows(cast):
    ada = named(cast, "ada lind")

    before = shown(cast.alice, cast, "entity_delete", ada.pk)

    assert "3 facts and 3 mentions are hidden" in before
    after = followed(cast.alice, cast, "entity_delete", ada.pk, seen=seen(cast, ada.pk))
    assert "Deleted 'Ada Lind'." in after
    gone = client_of(cast.bob).get(address("entity_detail", cast, ada.pk))
    assert gone.status_code == 410
    assert "This entity no longer exists." in words(gone)
    assert "Alice deleted Ada Lind ." in words(gone)


def test_what_was_never_there_is_not_found(cast):
    response = client_of(cast.alice).get(address("entity_detail", cast, uuid4()))

    assert response.status_code == 404
