from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import Document
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.documents.conftest import Begun
from tests.ingestion.versioned import (
    FIRST_TEXT,
    GONE,
    NEW,
    SECOND_TEXT,
    fresh,
    read,
)
from tests.rows import Cast
from tests.workspaces.models_rows import use_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]


@pytest.fixture
def cast(once: Begun) -> Cast:
    return once[0]


@pytest.fixture
def document(once: Begun) -> Document:
    return once[1]


def there(cast: Cast, document, rest: str = "") -> str:
    return address(cast.workspace, f"documents/{document.pk}/versions/{rest}")


def add(cast: Cast, user, document, text: str = SECOND_TEXT, **headers: str) -> Any:
    file = SimpleUploadedFile("log.md", text.encode())
    return client(user).post(
        there(cast, document), {"file": file}, headers=headers, format="multipart"
    )


def states(response: Any) -> dict[int, str]:
    return {one["number"]: one["state"] for one in response.json()["results"]}


# --- adding ---------------------------------------------------------------------------------------
def test_a_version_is_added_and_listed(cast: Cast, document: Document):
    response = add(cast, cast.alice, document)

    assert response.status_code == 202
    assert states(response) == {2: "reading", 1: "live"}
    read(cast.workspace, refreshes=False)
    listed = client(cast.bob).get(there(cast, document))
    assert (listed.json()["live"], states(listed)) == (2, {2: "live", 1: "earlier"})
    assert listed.json()["results"][0]["added_by"] == "Alice"


def test_who_may_add_one(cast: Cast, document: Document):
    assert_problem(add(cast, cast.bob, document), 403, "forbidden")
    assert_nothing_there(add(cast, cast.charlie, document))
    assert_problem(add(cast, None, document), 401, "not_authenticated")


@pytest.mark.parametrize(
    ("text", "status", "code"), [("", 400, "empty"), (FIRST_TEXT, 409, "same_content")]
)
def test_what_is_no_new_version_is_refused(
    cast: Cast, document: Document, text: str, status: int, code: str
):
    assert_problem(add(cast, cast.alice, document, text), status, code)
    assert fresh(document).state == "ready"


def test_a_file_that_is_too_large_is_refused(cast: Cast, document: Document, settings):
    settings.MAX_UPLOAD_BYTES = 10

    assert_problem(add(cast, cast.alice, document), 400, "too_large")


def test_no_file_is_no_version(cast: Cast, document: Document):
    response = client(cast.alice).post(there(cast, document), {}, format="multipart")

    assert_problem(response, 400, "no_file")


def test_who_saw_another_version_is_told(cast: Cast, document: Document):
    seen = client(cast.alice).get(there(cast, document))["ETag"]

    assert add(cast, cast.alice, document, **{"If-Match": seen}).status_code == 202
    late = add(cast, cast.alice, document, SECOND_TEXT + "More.", **{"If-Match": seen})
    assert_problem(late, 412, "changed_meanwhile")
    odd = add(cast, cast.alice, document, SECOND_TEXT + "More.", **{"If-Match": '"x"'})
    assert_problem(odd, 400, "if_match_invalid")


def test_the_same_request_twice_adds_one_version(cast: Cast, document: Document):
    first = add(cast, cast.alice, document, **{"Idempotency-Key": "a"})
    again = add(cast, cast.alice, document, **{"Idempotency-Key": "a"})

    assert (first.status_code, again.status_code) == (202, 202)
    assert states(again) == {2: "reading", 1: "live"}
    assert again["Idempotency-Replayed"] == "true"


# --- what it would cost ---------------------------------------------------------------------------
def test_the_estimate_of_a_version_counts_what_is_new_and_keeps_nothing(
    cast: Cast, document: Document
):
    use_model(cast.workspace)
    client_of_alice, estimate = client(cast.alice), there(cast, document, "estimate/")

    def estimated(text: str) -> Any:
        file = SimpleUploadedFile("log.md", text.encode())
        return client_of_alice.post(estimate, {"file": file}, format="multipart")

    found = estimated(SECOND_TEXT).json()

    assert found["passages"] == {"low": 8, "high": 8}
    assert found["known"] > 0
    assert_problem(estimated(FIRST_TEXT), 409, "same_content")
    assert_problem(estimated("%PDF-1.4 broken"), 422, "pdf_corrupt")
    assert_problem(client_of_alice.post(estimate, {}, format="multipart"), 400, "no_file")
    assert states(client_of_alice.get(there(cast, document))) == {1: "live"}


def test_who_may_ask_what_a_version_costs(cast: Cast, document: Document):
    estimate = there(cast, document, "estimate/")

    assert_problem(client(cast.bob).post(estimate), 403, "forbidden")
    assert_nothing_there(client(cast.charlie).post(estimate))
    assert_problem(client(None).post(estimate), 401, "not_authenticated")


# --- restoring ------------------------------------------------------------------------------------
def test_an_earlier_version_is_restored(twice: Begun):
    cast, document = twice
    restore = there(cast, document, "1/restore/")

    assert_problem(client(cast.bob).post(restore), 403, "forbidden")
    assert_nothing_there(client(cast.charlie).post(restore))
    assert client(cast.alice).post(restore).status_code == 202
    assert_problem(client(cast.alice).post(restore), 409, "version_is_live")
    read(cast.workspace, refreshes=False)

    assert states(client(cast.alice).get(there(cast, document))) == {2: "earlier", 1: "live"}
    none = client(cast.alice).post(there(cast, document, "7/restore/"))
    assert_problem(none, 404, "not_found")


# --- what changed ---------------------------------------------------------------------------------
def test_changes_are_told_with_their_places(twice: Begun):
    cast, document = twice

    told = client(cast.bob).get(there(cast, document, "2/changes/")).json()

    assert (told["state"], told["against"]) == ("compared", 1)
    assert told["passages"]["changed"] == 1
    [lost] = [one for one in told["entities_lost"] if one["name"] == "Bo Strand"]
    assert FIRST_TEXT[lost["start"] : lost["end"]] == "Bo Strand"
    [gained] = [one for one in told["entities_gained"] if one["name"] == "Cora Vane"]
    assert SECOND_TEXT[gained["start"] : gained["end"]] == "Cora Vane"
    words = {piece["kind"]: piece["text"] for change in told["text"] for piece in change["pieces"]}
    assert {"gone", "new"} <= set(words)
    assert_nothing_there(client(cast.charlie).get(there(cast, document, "2/changes/")))
    assert_problem(client(cast.bob).get(there(cast, document, "3/changes/")), 404, "not_found")


def test_the_text_of_an_earlier_version_is_read(twice: Begun):
    cast, document = twice
    text = address(cast.workspace, f"documents/{document.pk}/text/")
    start = FIRST_TEXT.index(GONE)
    place = {"start": start, "end": start + len(GONE)}

    earlier = client(cast.bob).get(text, place | {"version": 1}).json()
    now = client(cast.bob).get(text).json()

    assert (earlier["text"], earlier["version"]) == (GONE, 1)
    assert (NEW in now["text"], now["version"]) == (True, 2)
    assert_problem(client(cast.bob).get(text, {"version": 5}), 404, "not_found")
