from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def send(
    cast: rows.Cast, verb: str, path: str, body: Any = None, *, by: User | None = None, **more: Any
) -> Any:
    call = getattr(client(by or cast.alice), verb)
    return call(address(cast.workspace, path), body, format="json", **more)


def make(cast: rows.Cast, name: str = "Logs") -> Any:
    response = send(cast, "post", "collections/", {"name": name})
    assert response.status_code == 201, response.json()
    return response.json()


def document(cast: rows.Cast, title: str = "Log") -> Document:
    return rows.make_document(cast.workspace, title, f"{title}: oil.")


def at(collection: Any, more: str = "") -> str:
    return f"collections/{collection['id']}/{more}"


def test_a_collection_is_created_renamed_listed_and_deleted(cast: rows.Cast):
    made = make(cast)
    assert made == {"id": made["id"], "name": "Logs", "documents": 0}

    renamed = send(cast, "patch", at(made), {"name": "Old logs"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "Old logs")
    make(cast, "charts")
    listed = send(cast, "get", "collections/").json()
    assert (listed["total"], [one["name"] for one in listed["results"]]) == (
        2,
        ["charts", "Old logs"],
    )

    assert send(cast, "delete", at(made)).status_code == 204
    assert_problem(send(cast, "get", at(made)), 404, "not_found")


def test_documents_are_added_and_removed_each_with_its_outcome(cast: rows.Cast):
    made, one, other, missing = make(cast), document(cast), document(cast, "Other"), uuid4()

    moved = send(cast, "patch", at(made, "documents/"), {"add": [str(one.pk), str(missing)]})
    assert moved.status_code == 200
    assert moved.json()["added"] == [
        {"document": str(one.pk), "outcome": "moved"},
        {"document": str(missing), "outcome": "missing"},
    ]
    inside = send(cast, "get", at(made, "documents/")).json()
    assert [row["title"] for row in inside["results"]] == ["Log"]
    assert send(cast, "get", at(made)).json()["documents"] == 1

    both = {"remove": [str(one.pk)], "add": [str(other.pk)]}
    changed = send(cast, "patch", at(made, "documents/"), both).json()
    assert len(changed["events"]) == 2
    inside = send(cast, "get", at(made, "documents/")).json()
    assert [row["title"] for row in inside["results"]] == ["Other"]


def test_an_undo_over_the_api_reverts_a_move(cast: rows.Cast):
    made, one = make(cast), document(cast)
    moved = send(cast, "patch", at(made, "documents/"), {"add": [str(one.pk)]}).json()

    undone = send(cast, "post", f"history/{moved['events'][0]}/undo/")

    assert undone.status_code == 200
    assert send(cast, "get", at(made)).json()["documents"] == 0


def test_a_change_without_a_document_is_refused(cast: rows.Cast):
    refused = send(cast, "patch", at(make(cast), "documents/"), {})

    assert_problem(refused, 400, "invalid_input")


def test_a_taken_name_is_refused(cast: rows.Cast):
    make(cast)

    assert_problem(send(cast, "post", "collections/", {"name": "LOGS"}), 409, "collection_taken")


@pytest.mark.parametrize(("verb", "body"), [("patch", {"name": "Boats"}), ("delete", {})])
def test_a_tag_that_is_out_of_date_changes_nothing(
    cast: rows.Cast, verb: str, body: dict[str, str]
):
    made = make(cast)
    seen = send(cast, "get", at(made))["ETag"]
    send(cast, "patch", at(made), {"name": "Charts"})

    late = send(cast, verb, at(made), body, headers={"If-Match": seen})

    assert_problem(late, 412, "changed_meanwhile")
    assert send(cast, "get", at(made)).json()["name"] == "Charts"


def test_the_current_tag_is_accepted(cast: rows.Cast):
    made = make(cast)
    seen = send(cast, "get", at(made))["ETag"]

    renamed = send(cast, "patch", at(made), {"name": "Charts"}, headers={"If-Match": seen})

    assert renamed.status_code == 200
    assert renamed["ETag"] != seen


def test_a_repeated_request_creates_one_collection(cast: rows.Cast):
    key: dict[str, Any] = {"headers": {"Idempotency-Key": "once"}}

    first, second = (send(cast, "post", "collections/", {"name": "Logs"}, **key) for _ in range(2))

    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert send(cast, "get", "collections/").json()["total"] == 1


def test_a_reader_looks_and_changes_nothing(cast: rows.Cast):
    made = make(cast)

    assert send(cast, "get", at(made), by=cast.bob).status_code == 200
    refused = send(cast, "patch", at(made), {"name": "Charts"}, by=cast.bob)
    assert_problem(refused, 403, "forbidden")


def test_an_outsider_finds_nothing(cast: rows.Cast):
    made = make(cast)

    for path in ("collections/", at(made), at(made, "documents/")):
        assert_nothing_there(send(cast, "get", path, by=cast.charlie))


def test_a_document_of_another_workspace_is_missing(cast: rows.Cast):
    foreign = document(rows.make_cast("Elsewhere"))

    moved = send(cast, "patch", at(make(cast), "documents/"), {"add": [str(foreign.pk)]})

    assert moved.json()["added"] == [{"document": str(foreign.pk), "outcome": "missing"}]
