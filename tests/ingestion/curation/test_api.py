from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation.entities import entity_edit
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.curation.papers import Desk
from workspaces.models import User

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ORRAN = "acme inc", "acme ltd", "orran"


def send(desk: Desk, user: User, path: str, body: Any = None, **more: Any) -> Any:
    method = getattr(client(user), more.pop("method", "post"))
    where = address(desk.workspace, path)
    return method(where, body or {}, format="json", headers=more.pop("headers", None) or {})


def merge(desk: Desk, user: User, preview: str = "", **more: Any) -> Any:
    body = {"kept": str(desk.id(LTD)), "others": [str(desk.id(INC))], **more.pop("body", {})}
    return send(desk, user, f"entities/merge/{preview}", body, **more)


def look(desk: Desk, path: str) -> Any:
    return client(desk.cast.bob).get(address(desk.workspace, path))


# --- merging, splitting, moving, telling apart ----------------------------------------------------
def test_entities_are_merged_as_the_preview_said(desk: Desk):
    preview = merge(desk, desk.cast.alice, "?preview=1").json()
    response = merge(desk, desk.cast.alice, body={"reason": "One firm."})

    event = response.json()
    assert response.status_code == 200
    assert preview["sentence"].startswith("2 facts and 2 mentions move;")
    assert event["effect"] | {"sentence": ""} == preview | {"sentence": ""}
    assert (event["sentence"], event["reason"], event["via"]) == (
        "Alice merged 'Acme Inc' into 'Acme Ltd'.",
        "One firm.",
        "api",
    )
    assert event["entity"] == str(desk.id(LTD))
    assert response["ETag"] == f'"{event["sequence"]}"'
    assert INC not in desk.names()


def test_what_was_merged_is_told_apart_again_by_undoing(desk: Desk):
    event = merge(desk, desk.cast.alice).json()

    response = send(desk, desk.cast.alice, f"history/{event['id']}/undo/", {"reason": "Two firms."})

    undone = response.json()
    assert response.status_code == 200
    assert undone["sentence"] == "Alice undid: Alice merged 'Acme Inc' into 'Acme Ltd'."
    assert INC in desk.names()
    again = send(desk, desk.cast.alice, f"history/{event['id']}/undo/")
    assert_problem(again, 409, "already_undone")


def test_a_document_may_mean_something_else(desk: Desk):
    body = {"documents": [str(desk.document("b").pk)], "name": "Acme of Orran", "type": "firm"}
    path = f"entities/{desk.id(LTD)}/split/"

    preview = send(desk, desk.cast.alice, f"{path}?preview=1", body).json()
    assert "acme of orran" not in desk.names()
    event = send(desk, desk.cast.alice, path, body).json()

    assert preview["mentions"] == event["effect"]["mentions"] == 1
    made = desk.entity("acme of orran")
    assert (event["entity"], made.name, made.type) == (str(made.pk), "Acme of Orran", "firm")


def test_mentions_are_moved(desk: Desk):
    body = {"aliases": ["Acme Ltd"], "target": str(desk.id(INC))}
    refused = send(desk, desk.cast.alice, f"entities/{desk.id(LTD)}/move/", body)
    assert_problem(refused, 400, "everything_selected")

    body = {"documents": [str(desk.document("d").pk)], "target": str(desk.id(INC))}
    event = send(desk, desk.cast.alice, f"entities/{desk.id(LTD)}/move/", body).json()

    assert event["sentence"] == "Alice moved 1 mention from 'Acme Ltd' to 'Acme Inc'."
    assert desk.mentions()[INC] == 3


def test_entities_are_told_apart(desk: Desk):
    body = {"entities": [str(desk.id(LTD)), str(desk.id(INC))]}

    event = send(desk, desk.cast.alice, "entities/different/", body).json()

    assert event["kind"] == "not_the_same"


# --- making, wording, deleting --------------------------------------------------------------------
def test_an_entity_is_made_worded_and_deleted(desk: Desk):
    body = {"name": "The Trust", "type": "Organization", "aliases": ["Lightkeepers' Trust"]}
    created = send(desk, desk.cast.alice, "entities/", body)
    made = created.json()["entity"]
    path = f"entities/{made}/"

    seen = look(desk, path)
    assert (created.status_code, seen.json()["name"], seen.json()["is_made"]) == (
        201,
        "The Trust",
        True,
    )
    assert seen["ETag"] == created["ETag"]
    edited = send(
        desk, desk.cast.alice, path, {"description": "Keeps lights."}, method="patch",
        headers={"If-Match": seen["ETag"]},
    )  # fmt: skip
    assert edited.json()["after"] == {"description": "Keeps lights."}
    deleted = send(
        desk, desk.cast.alice, path, method="delete", headers={"If-Match": edited["ETag"]}
    )
    assert deleted.json()["kind"] == "entity_deleted"
    assert look(desk, path).status_code == 404


def test_a_link_is_made_worded_and_deleted(desk: Desk):
    body = {
        "source": str(desk.id("ada lind")), "target": str(desk.id(ORRAN)),
        "description": "Lives there.", "keywords": ["home"],
    }  # fmt: skip
    created = send(desk, desk.cast.alice, "relationships/", body)
    path = f"relationships/{created.json()['relationship']}/"

    seen = look(desk, path).json()
    assert (created.status_code, seen["description"], seen["keywords"], seen["is_made"]) == (
        201,
        "Lives there.",
        ["home"],
        True,
    )
    assert_problem(send(desk, desk.cast.alice, "relationships/", body), 409, "relationship_exists")
    tag = look(desk, path)["ETag"]
    send(desk, desk.cast.alice, path, {"description": "Lived there."}, method="patch")
    stale = send(desk, desk.cast.alice, path, method="delete", headers={"If-Match": tag})
    assert_problem(stale, 412, "changed_meanwhile")
    event = send(desk, desk.cast.alice, path, method="delete").json()
    assert event["sentence"] == "Alice deleted the fact that links 'Ada Lind' to 'Orran'."
    assert look(desk, path).status_code == 404


def test_a_link_shows_the_sentences_it_rests_on(desk: Desk):
    link = desk.link(LTD, "ada lind")

    seen = look(desk, f"relationships/{link.pk}/").json()

    assert seen["source"]["name"] == "Acme Ltd"
    assert len(seen["sources"]) == 1
    listed = look(desk, f"relationships/{link.pk}/evidence/").json()
    assert (listed["total"], listed["results"]) == (1, seen["sources"])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("…", "no_letters"),
        ("x" * 10_000, "too_long"),
        ("Ac\u0007me", "unseen_characters"),
        ("Ac\u202eme", "unseen_characters"),
    ],
)
def test_a_name_that_cannot_be_is_refused(desk: Desk, name: str, code: str):
    path = f"entities/{desk.id(LTD)}/"

    assert_problem(send(desk, desk.cast.alice, path, {"name": name}, method="patch"), 400, code)
    body = {"name": name, "type": "firm"}
    assert_problem(send(desk, desk.cast.alice, "entities/", body), 400, code)
    assert desk.entity(LTD).name == "Acme Ltd"


def test_a_name_that_is_taken_offers_to_merge(desk: Desk):
    path = f"entities/{desk.id(LTD)}/"

    refused = send(desk, desk.cast.alice, path, {"name": "Orran"}, method="patch")

    body = assert_problem(refused, 409, "name_taken")
    assert body["fields"]["entity"] == {
        "id": str(desk.id(ORRAN)),
        "name": "Orran",
        "type": "place",
    }
    assert "Merge the two" in body["next_step"]


# --- what was seen before -------------------------------------------------------------------------
def test_who_is_late_is_told_what_changed(desk: Desk):
    path = f"entities/{desk.id(LTD)}/"
    tag = look(desk, path)["ETag"]
    event = entity_edit(change=desk.change(), entity=desk.id(LTD), type="firm")

    late = send(
        desk, desk.cast.alice, path, {"name": "Acme Group"}, method="patch",
        headers={"If-Match": tag},
    )  # fmt: skip

    told = assert_problem(late, 412, "changed_meanwhile")["fields"]["events"]
    assert told == [
        {
            "id": str(event.pk),
            "sentence": "Alice changed the type of 'Acme Ltd' from organization to firm.",
        }
    ]
    late_too = merge(desk, desk.cast.alice, body={"expected": {str(desk.id(LTD)): 0}})
    assert_problem(late_too, 412, "changed_meanwhile")
    assert INC in desk.names()


@pytest.mark.parametrize("tag", ['"x"', "12", '"1", "2"', ""])
def test_a_tag_is_a_revision(desk: Desk, tag: str):
    path = f"entities/{desk.id(LTD)}/"

    refused = send(desk, desk.cast.alice, path, method="delete", headers={"If-Match": tag})

    assert_problem(refused, 400, "if_match_invalid")


def test_a_request_sent_again_is_carried_out_once(desk: Desk):
    headers = {"Idempotency-Key": "merge-1"}

    first, again = [merge(desk, desk.cast.alice, headers=headers) for _ in range(2)]
    other = merge(desk, desk.cast.alice, headers=headers, body={"others": [str(desk.id(ORRAN))]})

    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert len(desk.events()) == 1
    assert_problem(other, 409, "idempotency_key_reused")


# --- who may --------------------------------------------------------------------------------------
def paths(desk: Desk) -> list[tuple[str, str, dict[str, Any]]]:
    one = desk.id(LTD)
    link = desk.link(LTD, "ada lind").pk
    return [
        ("post", "entities/", {"name": "A", "type": "b"}),
        ("patch", f"entities/{one}/", {"name": "A"}),
        ("delete", f"entities/{one}/", {}),
        ("post", "entities/merge/", {"kept": str(one), "others": [str(desk.id(INC))]}),
        ("post", "entities/different/", {"entities": [str(one), str(desk.id(INC))]}),
        ("post", f"entities/{one}/split/", {"aliases": ["x"], "name": "A"}),
        ("post", f"entities/{one}/move/", {"aliases": ["x"], "target": str(desk.id(INC))}),
        ("post", "relationships/", {"source": str(one), "target": str(one), "description": "x"}),
        ("patch", f"relationships/{link}/", {"description": "x"}),
        ("delete", f"relationships/{link}/", {}),
    ]


def test_readers_change_nothing_and_strangers_find_nothing(desk: Desk):
    before = desk.state()

    for method, path, body in paths(desk):
        refused = send(desk, desk.cast.bob, path, body, method=method)
        assert_problem(refused, 403, "forbidden")
        assert_problem(
            send(desk, desk.cast.bob, f"{path}?preview=1", body, method=method), 403, "forbidden"
        )
        assert_nothing_there(send(desk, desk.cast.charlie, path, body, method=method))

    assert desk.state() == before
    assert desk.events() == []


def test_what_is_elsewhere_is_not_found(desk: Desk):
    foreign = rows.make_entity(rows.make_workspace("Elsewhere", owner=desk.cast.alice), "Acme Inc")

    for other in (foreign.pk, uuid4()):
        refused = merge(desk, desk.cast.alice, body={"others": [str(other)]})
        assert_problem(refused, 404, "not_found")
        assert_problem(
            send(desk, desk.cast.alice, f"entities/{other}/", {"name": "A"}, method="patch"),
            404,
            "not_found",
        )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("entities/merge/", {}),
        ("entities/merge/", {"kept": "x", "others": []}),
        ("entities/merge/", {"kept": str(uuid4()), "others": ["x"]}),
        ("entities/merge/", {"kept": str(uuid4()), "others": [], "expected": {"x": 1}}),
        ("entities/different/", {"entities": "x"}),
        ("relationships/", {"source": str(uuid4())}),
    ],
)
def test_what_cannot_be_read_is_refused(desk: Desk, path: str, body: Any):
    assert_problem(send(desk, desk.cast.alice, path, body), 400, "invalid_input")
