from __future__ import annotations

import uuid

import pytest

from kb_project.ports import build_ports
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

NAMES = {"Ada Lind": "person", "Bram Oost": "person"}


@pytest.fixture
def cast(fake_embedder) -> rows.Cast:
    cast = rows.make_cast()
    text = "Ada Lind lit the lamp.\n\nBram Oost lit the lamp."
    embedder = build_ports().embedder
    rows.make_document(cast.workspace, "Log", text, names=NAMES, embedder=embedder, tags=["tide"])
    return cast


def test_nobody_learns_filters_without_signing_in(cast):
    assert_problem(client().get(address(cast.workspace, "scope/")), 401, "not_authenticated")


def test_a_stranger_finds_nothing(cast):
    assert_nothing_there(client(cast.charlie).get(address(cast.workspace, "scope/")))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_learn_what_there_is_to_choose(cast, who):
    body = client(getattr(cast, who)).get(address(cast.workspace, "scope/")).json()

    assert body["tags"] == [{"id": None, "value": "tide", "documents": 1}]
    assert body["media_types"] == [{"id": None, "value": "text/plain", "documents": 1}]
    assert (body["collections"], body["dated_from"]) == ([], None)


# --- names in a search ----------------------------------------------------------------------------
def search(cast: rows.Cast, **scope: list[str]):
    body = {"q": "Who lit the lamp?", "mode": "lexical", "scope": scope}
    return client(cast.bob).post(address(cast.workspace, "search/"), body, format="json")


def test_a_name_is_left_out(cast):
    bram = rows.make_entity(cast.workspace, "Bram Oost")

    body = search(cast, exclude=[str(bram.pk)]).json()

    assert [hit["text"] for hit in body["hits"]] == ["Ada Lind lit the lamp."]


def test_filters_of_names_stand_in_an_address_too(cast):
    bram = rows.make_entity(cast.workspace, "Bram Oost")

    body = (
        client(cast.bob)
        .get(
            address(cast.workspace, "search/"),
            {"q": "Who lit the lamp?", "mode": "lexical", "include": str(bram.pk)},
        )
        .json()
    )

    assert body["hits"][0]["text"] == "Bram Oost lit the lamp."


@pytest.mark.parametrize("name", ["include", "exclude"])
def test_names_of_another_workspace_are_unknown(cast, name):
    elsewhere = rows.make_entity(rows.make_workspace("Elsewhere"), "Ada Lind")

    for pk in (elsewhere.pk, uuid.uuid4()):
        assert_problem(search(cast, **{name: [str(pk)]}), 400, "unknown_entity")


@pytest.mark.parametrize("path", ["ask/", "questions/"])
def test_a_question_with_an_unknown_name_is_refused_before_anybody_works_on_it(cast, path):
    body = {"question": "Who lit the lamp?", "scope": {"exclude": [str(uuid.uuid4())]}}

    response = client(cast.bob).post(address(cast.workspace, path), body, format="json")

    assert_problem(response, 400, "unknown_entity")
