from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Document, Entity, Mention
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    cast = rows.make_cast()
    run(
        paper(cast.workspace, "a", Said([("Jacob Marley", "person")])),
        paper(cast.workspace, "b", Said([("Jacob Marlez", "person")])),
    )
    return cast


def send(cast: rows.Cast, user: Any, path: str = "", **body: Any) -> Any:
    return client(user).post(address(cast.workspace, f"decisions/{path}"), body, format="json")


def look(cast: rows.Cast, user: Any, path: str = "decisions/") -> Any:
    return client(user).get(address(cast.workspace, path))


def entity(cast: rows.Cast, key: str) -> Entity:
    with access.in_workspace(cast.workspace.pk):
        return Entity.objects.in_workspace(cast.workspace).get(key=key, sense=0)


def named(cast: rows.Cast) -> set[tuple[str, int]]:
    return set(all_of(cast.workspace, Mention, "entity__key", "entity__sense"))


def joined(cast: rows.Cast) -> Any:
    left, right = entity(cast, "jacob marley"), entity(cast, "jacob marlez")
    return send(
        cast, cast.alice, left=right.pk, right=left.pk, verdict="same", reason="A slip of the pen."
    )


def test_a_curator_says_that_two_are_one(cast: rows.Cast):
    response = joined(cast)

    made = response.json()
    assert response.status_code == 201
    assert (made["left"], made["right"], made["verdict"]) == (
        "jacob marley",
        "jacob marlez",
        "same",
    )
    assert (made["by"], made["decider"], made["reason"]) == (
        "person",
        "Alice",
        "A slip of the pen.",
    )
    assert named(cast) == {("jacob marley", 0)}


def test_and_takes_it_back(cast: rows.Cast):
    made = joined(cast).json()

    response = send(cast, cast.alice, f"{made['id']}/undo/")

    assert response.status_code == 200
    assert response.json()["undone_at"]
    assert named(cast) == {("jacob marley", 0), ("jacob marlez", 0)}
    again = send(cast, cast.alice, f"{made['id']}/undo/")
    assert_problem(again, 409, "already_undone")


def test_a_curator_says_that_a_document_means_something_else(cast: rows.Cast):
    run(paper(cast.workspace, "c", Said([("Jacob Marley", "person")])))
    with access.in_workspace(cast.workspace.pk):
        document = Document.objects.in_workspace(cast.workspace).get(name="c.txt")

    response = send(cast, cast.alice, left=entity(cast, "jacob marley").pk, document=document.pk)

    assert (response.status_code, response.json()["sense"]) == (201, 1)
    assert ("jacob marley", 1) in named(cast)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_read_decisions_with_their_reasons(cast: rows.Cast, who: str):
    joined(cast)

    body = look(cast, getattr(cast, who)).json()

    [row] = body["results"]
    assert (row["reason"], row["undone_at"], row["is_conflicting"]) == (
        "A slip of the pen.",
        None,
        False,
    )
    assert body["total"] == 1


def test_an_entity_shows_what_was_decided_about_it_and_what_may_be_it(cast: rows.Cast):
    path = f"entities/{entity(cast, 'jacob marley').pk}/"
    [alike] = look(cast, cast.bob, path).json()["look_alikes"]
    joined(cast)

    seen = look(cast, cast.bob, path).json()

    assert alike["other"]["name"] == "Jacob Marlez"
    assert [one["verdict"] for one in seen["decisions"]] == ["same"]
    assert seen["look_alikes"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid"),
        ({"right": None, "document": None}, "invalid"),
        ({"right": "other", "document": "any"}, "invalid"),
        ({"document": "any", "verdict": "same"}, "invalid"),
        ({"right": "other", "verdict": "perhaps"}, "invalid"),
    ],
)
def test_what_says_nothing_clear_is_refused(cast: rows.Cast, body: dict[str, Any], code: str):
    names = {"other": entity(cast, "jacob marlez").pk, "any": uuid4()}
    sent = {key: names.get(value, value) for key, value in body.items()}

    response = send(cast, cast.alice, left=entity(cast, "jacob marley").pk, **sent)

    assert response.status_code == 400, response.json()
    assert named(cast) == {("jacob marley", 0), ("jacob marlez", 0)}


def test_an_entity_is_not_compared_with_itself(cast: rows.Cast):
    one = entity(cast, "jacob marley").pk

    assert_problem(send(cast, cast.alice, left=one, right=one), 400, "same_name")


def test_a_reader_decides_nothing(cast: rows.Cast):
    made = joined(cast).json()
    left, right = uuid4(), uuid4()

    assert_problem(send(cast, cast.bob, left=left, right=right), 403, "forbidden")
    assert_problem(send(cast, cast.bob, f"{made['id']}/undo/"), 403, "forbidden")


def test_strangers_see_and_decide_nothing(cast: rows.Cast):
    made = joined(cast).json()

    assert_nothing_there(look(cast, cast.charlie))
    assert_nothing_there(send(cast, cast.charlie, left=uuid4(), right=uuid4()))
    assert_nothing_there(send(cast, cast.charlie, f"{made['id']}/undo/"))


def test_what_is_elsewhere_is_not_found(cast: rows.Cast):
    elsewhere = rows.make_workspace("Elsewhere", owner=cast.charlie)
    foreign = rows.make_entity(elsewhere, "Jacob Marley")
    mine = entity(cast, "jacob marley").pk

    assert_problem(send(cast, cast.alice, left=mine, right=foreign.pk), 404, "not_found")
    assert_problem(send(cast, cast.alice, f"{uuid4()}/undo/"), 404, "not_found")
