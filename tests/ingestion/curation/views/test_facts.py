from __future__ import annotations

from uuid import uuid4

import pytest

from tests.ingestion.curated import (
    followed,
    last_event,
    link,
    named,
    seen,
    send,
    shown,
    words,
)
from tests.ingestion.pages import address, client_of

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


def test_a_fact_is_added_in_either_direction(cast):
    skarrow, olaf = named(cast, "skarrow"), named(cast, "olaf brekke")
    found = send(cast.alice, cast, "relationship_create", skarrow.pk, q="olaf", search="1")
    assert "Olaf Brekke" in words(found)

    page = followed(
        cast.alice,
        cast,
        "relationship_create",
        skarrow.pk,
        target=olaf.pk,
        direction="in",
        description="Olaf sailed to Skarrow.",
        keywords="sailing, visit",
    )

    assert "Linked 'Olaf Brekke' to 'Skarrow'." in page
    assert "Olaf sailed to Skarrow." in page
    assert link(cast, "olaf brekke", "skarrow").keywords == ["sailing", "visit"]
    followed(cast.alice, cast, "event_undo", last_event(cast).pk)
    assert "Olaf sailed" not in shown(cast.bob, cast, "entity_detail", skarrow.pk)


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({"description": "x"}, 400, "No other entity is selected."),
        ({"target": "self", "description": "x"}, 400, "An entity cannot be linked to itself."),
        ({"target": "skarrow", "description": " "}, 400, "The description is empty."),
        (
            {"target": "skarrow", "description": "x"},
            409,
            "There is already a fact that links 'Ada Lind'",
        ),
    ],
)
def test_a_fact_that_cannot_be_comes_back(cast, form, status, sentence):
    ada = named(cast, "ada lind")
    ids = {"self": ada.pk, "skarrow": named(cast, "skarrow").pk}
    sent = form | ({"target": ids[form["target"]]} if "target" in form else {})

    response = send(cast.alice, cast, "relationship_create", ada.pk, **sent)

    assert response.status_code == status
    assert sentence in words(response)


def test_a_fact_is_worded_and_deleted_after_telling_what_goes(cast):
    fact = link(cast, "ada lind", "olaf brekke")

    edited = followed(
        cast.alice,
        cast,
        "relationship_edit",
        fact.pk,
        description="They met once.",
        keywords="",
        seen=seen(cast, fact.pk),
    )
    before = shown(cast.alice, cast, "relationship_delete", fact.pk)
    deleted = followed(cast.alice, cast, "relationship_delete", fact.pk)

    assert "Edited the fact that links 'Ada Lind' to 'Olaf Brekke'." in edited
    assert "They met once." in edited
    assert "1 fact is hidden" in before
    assert "Deleted the fact that links 'Ada Lind' to 'Olaf Brekke'." in deleted


def test_saving_what_is_there_closes_the_form(cast):
    fact = link(cast, "ada lind", "olaf brekke")
    form = {"description": "They met.", "keywords": "a"}
    send(cast.alice, cast, "relationship_edit", fact.pk, **form)

    assert send(cast.alice, cast, "relationship_edit", fact.pk, **form).status_code == 302


def test_who_comes_second_keeps_the_words(cast):
    fact = link(cast, "ada lind", "olaf brekke")
    before = seen(cast, fact.pk)
    send(cast.alice, cast, "relationship_edit", fact.pk, description="First.", seen=before)

    late = send(cast.alice, cast, "relationship_edit", fact.pk, description="Second.", seen=before)

    assert late.status_code == 412
    assert "Second." in late.content.decode()
    assert "Alice edited the fact" in words(late)


def test_a_reader_may_not_and_a_stranger_finds_nothing(cast):
    ada, fact = named(cast, "ada lind"), link(cast, "ada lind", "olaf brekke")

    for page, one in (
        ("relationship_create", ada.pk),
        ("relationship_edit", fact.pk),
        ("relationship_delete", fact.pk),
    ):
        assert send(cast.bob, cast, page, one).status_code == 403
        assert send(cast.charlie, cast, page, one).status_code == 404
        assert client_of(cast.alice).get(address(page, cast, uuid4())).status_code == 404
