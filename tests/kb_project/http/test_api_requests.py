from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from kb_project.http import api_requests
from tests import rows
from tests.api import address, assert_problem, client
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


def test_a_session_writes_only_with_its_token_against_forgery():
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rows.make_user("Alice"))

    response = strict.post(LIST, {"name": "Tide tables"}, content_type="application/json")

    assert_problem(response, 403, "permission_denied")


def send(user: User, workspace: Workspace, body: bytes, **more: str) -> Any:
    where = address(workspace, "entities/different/")
    return client(user).post(where, body, content_type="application/json", headers=more)


def test_a_body_without_end_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(api_requests, "LARGEST", 1000)
    cast = rows.make_cast()

    fits = send(cast.alice, cast.workspace, b'{"entities": []}'.ljust(1000))
    too_long = send(cast.alice, cast.workspace, b'{"entities": []}'.ljust(1001))
    once = {"Idempotency-Key": "a"}
    with_key = send(cast.alice, cast.workspace, b'{"entities": []}'.ljust(1001), **once)

    assert_problem(fits, 400, "number_of_entities")
    for refused in (too_long, with_key):
        assert_problem(refused, 400, "body_too_large")


def test_what_is_no_json_is_refused_as_before():
    cast = rows.make_cast()

    for body in (b"{", b"\xff", b'{"entities": NaN}'):
        response = send(cast.alice, cast.workspace, body)
        assert_problem(response, 400, response.json()["code"])


@pytest.mark.parametrize("depth", [500, 5_000, 200_000])
def test_json_that_is_nested_too_deep_is_refused(depth: int):
    cast = rows.make_cast()
    deep = '{"question": ' + "[" * depth + "]" * depth + "}"

    response = client(cast.alice).generic(
        "POST", address(cast.workspace, "search/"), deep, content_type="application/json"
    )

    assert response.status_code == 400
    assert response.json()["code"] in {"nested_too_deep", "invalid_input"}
