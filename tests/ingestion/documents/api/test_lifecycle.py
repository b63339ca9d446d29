from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion import jobs
from workspaces import access
from workspaces.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

MOVES = ["disable", "enable", "trash", "restore"]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def log(cast: rows.Cast) -> Document:
    return jobs.document_of(jobs.add(cast.workspace))


def send(
    cast: rows.Cast, user: User, verb: str, path: str, body: Any = None, **headers: str
) -> Any:
    call = getattr(client(user), verb)
    return call(address(cast.workspace, path), body, format="json", headers=headers or None)


def post(cast: rows.Cast, path: str, body: Any = None, **headers: str) -> Any:
    return send(cast, cast.alice, "post", path, body, **headers)


def one(cast: rows.Cast, log: Document) -> Any:
    return client(cast.alice).get(address(cast.workspace, f"documents/{log.pk}/"))


def listed(cast: rows.Cast, path: str = "documents/") -> list[str]:
    found = client(cast.alice).get(address(cast.workspace, path)).json()["results"]
    return [row["title"] for row in found]


def test_a_document_says_whether_it_is_disabled_or_in_the_trash(cast: rows.Cast, log: Document):
    def since() -> tuple[bool, bool]:
        found = one(cast, log).json()
        return found["disabled_at"] is not None, found["trashed_at"] is not None

    assert since() == (False, False)
    post(cast, f"documents/{log.pk}/disable/")
    assert since() == (True, False)
    post(cast, f"documents/{log.pk}/trash/")
    assert since() == (True, True)
    assert_problem(post(cast, f"documents/{log.pk}/enable/"), 409, "in_trash")


def test_a_document_goes_to_the_trash_and_comes_back(cast: rows.Cast, log: Document):
    gone = post(cast, f"documents/{log.pk}/trash/", {"reason": "Old."})

    assert gone.status_code == 200
    assert gone.json()["documents"] == [str(log.pk)]
    assert (listed(cast), listed(cast, "trash/")) == ([], ["log.txt"])
    assert post(cast, f"documents/{log.pk}/restore/").status_code == 200
    assert (listed(cast), listed(cast, "trash/")) == (["log.txt"], [])


def test_the_trash_says_how_long_it_keeps(cast: rows.Cast, log: Document, settings: Any):
    send(cast, cast.alice, "delete", f"documents/{log.pk}/")

    body = client(cast.bob).get(address(cast.workspace, "trash/")).json()

    assert (body["total"], body["days"]) == (1, settings.TRASH_DAYS)
    [row] = body["results"]
    assert row["days_left"] == settings.TRASH_DAYS
    assert row["trashed_by"] == "Alice"
    assert row["is_searched"] is False


def test_what_is_disabled_stays_in_the_list(cast: rows.Cast, log: Document):
    post(cast, f"documents/{log.pk}/disable/")

    assert one(cast, log).json()["is_searched"] is False
    assert listed(cast) == ["log.txt"]
    post(cast, f"documents/{log.pk}/enable/")
    assert one(cast, log).json()["is_searched"] is True


def test_for_good_means_for_good(cast: rows.Cast, log: Document):
    response = send(cast, cast.alice, "delete", f"documents/{log.pk}/?for_good=1")

    assert response.status_code == 200
    assert one(cast, log).status_code == 404
    assert_problem(post(cast, f"documents/{log.pk}/restore/"), 404, "not_found")


def test_a_batch_moves_at_one_stroke(cast: rows.Cast, log: Document):
    other = jobs.document_of(jobs.add(cast.workspace, "b.txt", "Bo Strand."))
    ids = {"ids": [str(log.pk), str(other.pk)]}

    gone = post(cast, "documents/trash/", ids).json()

    assert len(gone["documents"]) == 2
    assert listed(cast) == []
    assert len(post(cast, "trash/restore/", ids).json()["documents"]) == 2
    assert len(listed(cast)) == 2


def test_a_batch_with_a_stranger_in_it_moves_nothing(cast: rows.Cast, log: Document):
    response = post(cast, "documents/trash/", {"ids": [str(log.pk), str(uuid4())]})

    assert_problem(response, 404, "not_found")
    assert listed(cast) == ["log.txt"]


def test_the_trash_is_emptied(cast: rows.Cast, log: Document):
    post(cast, f"documents/{log.pk}/trash/")

    assert send(cast, cast.alice, "delete", "trash/").status_code == 200

    with access.in_workspace(cast.workspace.pk):
        assert not Document.objects.in_workspace(cast.workspace).exists()
    assert_problem(send(cast, cast.alice, "delete", "trash/"), 409, "already_deleted")


def test_what_was_changed_since_it_was_seen_is_left_alone(cast: rows.Cast, log: Document):
    seen = one(cast, log)["ETag"]
    post(cast, f"documents/{log.pk}/disable/")

    late = post(cast, f"documents/{log.pk}/trash/", **{"If-Match": seen})

    assert_problem(late, 412, "changed_meanwhile")
    assert listed(cast) == ["log.txt"]


def test_a_request_sent_twice_is_carried_out_once(cast: rows.Cast, log: Document):
    key = {"Idempotency-Key": "once"}
    first = post(cast, f"documents/{log.pk}/trash/", **key)

    again = post(cast, f"documents/{log.pk}/trash/", **key)

    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"


def test_a_document_is_edited(cast: rows.Cast, log: Document):
    said = {"title": "The log", "collection": "Light", "tags": ["Oil"], "dated": "1987-05-11"}

    response = send(cast, cast.alice, "patch", f"documents/{log.pk}/", said)

    body = response.json()
    assert response.status_code == 200, body
    assert (body["title"], body["collection"], body["tags"], body["dated"]) == (
        "The log", "Light", ["oil"], "1987-05-11",
    )  # fmt: skip
    assert response["ETag"] != '"0"'
    none = send(cast, cast.alice, "patch", f"documents/{log.pk}/", {"dated": None})
    assert none.json()["dated"] is None


def test_more_tags_than_a_document_may_have_are_refused_and_none_is_set(
    cast: rows.Cast, log: Document
):
    tags = [f"t{number}" for number in range(200)]

    refused = send(cast, cast.alice, "patch", f"documents/{log.pk}/", {"tags": tags})

    problem = assert_problem(refused, 400, "invalid_tags")
    assert "at most 20 tags" in problem["happened"]
    assert one(cast, log).json()["tags"] == []


@pytest.mark.parametrize("title", ["", " ", "x" * 501])
def test_a_title_of_nothing_or_too_much_is_refused(cast: rows.Cast, log: Document, title: str):
    response = send(cast, cast.alice, "patch", f"documents/{log.pk}/", {"title": title})

    assert response.status_code == 400
    assert one(cast, log).json()["title"] == "log.txt"


def test_what_would_go_is_counted(cast: rows.Cast, log: Document):
    body = client(cast.bob).get(address(cast.workspace, f"documents/{log.pk}/losses/")).json()

    assert body["sentence"] == "Nothing has been read in it."


def test_the_same_file_again_is_in_the_trash(cast: rows.Cast, log: Document):
    post(cast, f"documents/{log.pk}/trash/")
    data = {"file": [SimpleUploadedFile("again.txt", jobs.TEXT.encode())]}

    response = client(cast.alice).post(
        address(cast.workspace, "documents/"), data, format="multipart"
    )

    [outcome] = response.json()["documents"]
    assert (outcome["outcome"], outcome["document"]) == ("in_trash", str(log.pk))


@pytest.mark.parametrize("move", MOVES)
def test_a_reader_moves_nothing(cast: rows.Cast, log: Document, move: str):
    response = send(cast, cast.bob, "post", f"documents/{log.pk}/{move}/")

    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("post", "documents/trash/"),
        ("post", "trash/restore/"),
        ("delete", "trash/"),
        ("get", "trash/"),
    ],
)
def test_a_stranger_finds_no_trash(cast: rows.Cast, verb: str, path: str):
    body = {"ids": [str(uuid4())]} if verb == "post" else None

    assert_nothing_there(send(cast, cast.charlie, verb, path, body))
    if verb != "get":
        assert_problem(send(cast, cast.bob, verb, path, body), 403, "forbidden")


@pytest.mark.parametrize("verb", ["patch", "delete"])
def test_only_those_who_may_write_change_a_document(cast: rows.Cast, log: Document, verb: str):
    path = f"documents/{log.pk}/"

    assert_nothing_there(send(cast, cast.charlie, verb, path, {}))
    assert_problem(send(cast, cast.bob, verb, path, {}), 403, "forbidden")
