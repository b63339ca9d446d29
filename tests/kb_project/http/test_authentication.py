from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from tests import rows
from tests.api import assert_problem, client, password_header

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
