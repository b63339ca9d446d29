from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from kb_project.http import api_requests
from tests import rows
from tests.api import address, assert_problem, client, password_header
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


@pytest.fixture(autouse=True)
def _fresh_limits(settings):
    # The real hash takes most of a second by design.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    rows._hashed.cache_clear()
    cache.clear()
    yield
    rows._hashed.cache_clear()
    cache.clear()


def test_a_person_signs_in_with_address_and_password():
    rows.make_user("Alice")

    response = client().get(
        LIST, headers={"authorization": password_header("Alice@Example.com", rows.PASSWORD)}
    )

    assert response.status_code == 200


def test_a_wrong_password_is_refused_and_the_way_to_sign_in_is_named():
    rows.make_user("Alice")

    response = client().get(
        LIST, headers={"authorization": password_header("alice@example.com", "wrong")}
    )

    body = assert_problem(response, 401, "authentication_failed")
    assert body["happened"] == "The address or the password is wrong."
    assert response.headers["WWW-Authenticate"] == 'Basic realm="Concordance"'


def test_an_account_that_was_closed_no_longer_signs_in():
    alice = rows.make_user("Alice")
    alice.is_active = False
    alice.save()

    response = client().get(
        LIST, headers={"authorization": password_header("alice@example.com", rows.PASSWORD)}
    )

    assert_problem(response, 401, "authentication_failed")


def test_passwords_cannot_be_tried_without_end():
    rows.make_user("Alice")
    header = password_header("alice@example.com", "wrong")

    responses = [client().get(LIST, headers={"authorization": header}) for _ in range(9)]

    assert {response.status_code for response in responses[:8]} == {401}
    assert_problem(responses[8], 429, "throttled")
    assert responses[8].headers["Retry-After"] == "300"


def test_somebody_elses_attempts_do_not_count():
    rows.make_user("Alice")
    for _ in range(9):
        client().get(LIST, headers={"authorization": password_header("bob@example.com", "x")})

    response = client().get(
        LIST, headers={"authorization": password_header("alice@example.com", rows.PASSWORD)}
    )

    assert response.status_code == 200


def test_a_session_writes_only_with_its_token_against_forgery():
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rows.make_user("Alice"), backend="django.contrib.auth.backends.ModelBackend")

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
