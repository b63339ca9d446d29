"""A misspelled field or parameter is refused everywhere: without it, a request means more than its
sender wanted.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces.models import User

pytestmark = pytest.mark.django_db

QUESTION = {"question": "What happened in 1974?"}


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def sent(cast: rows.Cast, user: User, path: str, body: Any, method: str = "post") -> Any:
    given = address(cast.workspace, path)
    return getattr(client(user), method)(given, body, format="json")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ask/", QUESTION),
        ("questions/", QUESTION),
        ("search/", {"q": "What happened in 1974?"}),
    ],
)
def test_a_misspelled_filter_is_refused_with_the_filters_there_are(
    cast: rows.Cast, path: str, body: dict[str, Any]
):
    response = sent(cast, cast.bob, path, {**body, "scope": {"document": [str(uuid4())]}})

    problem = assert_problem(response, 400, "invalid_input")
    [sentence] = problem["fields"]["scope"]["document"]
    assert sentence.startswith("There is no field 'document'. There are: 'as_of', 'collections'")
    assert "'documents'" in sentence


def test_a_misspelled_field_of_a_body_is_refused(cast: rows.Cast):
    response = sent(cast, cast.alice, "collections/", {"name": "Logs", "reson": "tidy"})

    problem = assert_problem(response, 400, "invalid_input")
    assert problem["fields"] == {
        "reson": ["There is no field 'reson'. There are: 'name', 'reason'."]
    }


def test_a_field_whose_name_is_half_a_character_is_refused_as_any_other(cast: rows.Cast):
    given = address(cast.workspace, "collections/")
    body = b'{"name": "Logs", "\\ud800": 1}'

    response = client(cast.alice).post(given, body, content_type="application/json")

    assert list(assert_problem(response, 400, "invalid_input")["fields"]) == ["?"]


def test_a_form_may_name_a_field_of_a_field(cast: rows.Cast):
    form = {"q": "oil", "scope.tags": "tide"}

    response = client(cast.bob).post(address(cast.workspace, "search/"), form, format="multipart")

    assert response.status_code == 200


def test_in_json_a_dot_is_part_of_a_name(cast: rows.Cast):
    response = sent(cast, cast.bob, "search/", {"q": "oil", "scope.tags": ["tide"]})

    assert list(assert_problem(response, 400, "invalid_input")["fields"]) == ["scope.tags"]


def test_a_misspelled_field_in_a_list_is_refused_with_its_place(cast: rows.Cast):
    price = {"model": "m", "prompt": 1, "completion": 1}

    response = sent(cast, cast.alice, "prices/", [price, {**price, "curency": "EUR"}], "put")

    problem = assert_problem(response, 400, "invalid_input")
    assert list(problem["fields"]["1"]) == ["curency"]


def test_a_misspelled_field_of_an_upload_is_refused_and_nothing_is_stored(cast: rows.Cast):
    file = SimpleUploadedFile("log.txt", b"The lamp was lit.")
    form = {"file": file, "tags": "secret"}

    given = address(cast.workspace, "documents/")
    response = client(cast.alice).post(given, form, format="multipart")

    assert list(assert_problem(response, 400, "invalid_input")["fields"]) == ["tags"]
    assert not Document.objects.in_workspace(cast.workspace).exists()


@pytest.mark.parametrize(
    "path",
    [
        "search/?q=oil&document=1",
        "search/?q=oil&documents[]=1",
        "documents/?tags=tide",
        "entities/?sort=name",
        "trash/?limit=5",
        "members/?q=bob",
    ],
)
def test_a_misspelled_parameter_is_refused(cast: rows.Cast, path: str):
    response = client(cast.bob).get(address(cast.workspace, path))

    problem = assert_problem(response, 400, "invalid_input")
    [(name, [sentence])] = problem["fields"].items()
    assert sentence.startswith(f"There is no parameter '{name}'.")


def test_a_preview_of_an_operation_that_has_none_changes_nothing(cast: rows.Cast):
    response = sent(cast, cast.alice, "collections/?preview=1", {"name": "Logs"})

    assert_problem(response, 400, "invalid_input")
    listed = client(cast.bob).get(address(cast.workspace, "collections/")).json()
    assert listed["total"] == 0


def test_a_stranger_does_not_learn_which_parameters_there_are(cast: rows.Cast):
    assert_nothing_there(client(cast.charlie).get(address(cast.workspace, "documents/?tags=tide")))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("post", "exports/", {}), ("post", "tokens/", {"name": "CI"}), ("put", "budget/", {})],
)
def test_an_operation_that_does_not_take_a_key_says_so(
    cast: rows.Cast, method: str, path: str, body: dict[str, str]
):
    given = address(cast.workspace, path)
    key = {"Idempotency-Key": "once"}
    response = getattr(client(cast.alice), method)(given, body, headers=key)

    assert_problem(response, 400, "idempotency_key_not_taken")


def test_reading_ignores_a_key(cast: rows.Cast):
    given = address(cast.workspace, "documents/")

    assert client(cast.bob).get(given, headers={"Idempotency-Key": "once"}).status_code == 200
