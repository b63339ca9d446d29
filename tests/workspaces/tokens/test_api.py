"""The REST operations on tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client, client_with
from workspaces.models import Capability

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def listed(program: Any, cast: rows.Cast, query: str = "") -> list[str]:
    body = program.get(address(cast.workspace, f"tokens/{query}")).json()
    assert body["total"] == len(body["results"])
    return [row["name"] for row in body["results"]]


def test_a_member_creates_a_token_and_sees_its_text_once(cast: rows.Cast):
    wanted = {"name": "CI", "capabilities": ["edit"], "expires_in_days": 7}

    made = client(cast.alice).post(address(cast.workspace, "tokens/"), wanted, format="json")

    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    body = made.json()
    text = body.pop("token")
    assert (body["name"], body["capabilities"]) == ("CI", ["read", "edit"])
    assert body["is_live"]
    [shown] = client(cast.alice).get(address(cast.workspace, "tokens/")).json()["results"]
    assert shown == body
    assert client_with(text).get(address(cast.workspace, "")).status_code == 200


def test_a_token_reads_only_unless_more_is_asked_for(cast: rows.Cast):
    made = client(cast.alice).post(address(cast.workspace, "tokens/"), {"name": "CI"})

    assert made.json()["capabilities"] == ["read"]


def test_a_reader_creates_a_token_for_reading_and_no_other(cast: rows.Cast):
    where = address(cast.workspace, "tokens/")

    assert client(cast.bob).post(where, {"name": "CI"}).status_code == 201
    refused = client(cast.bob).post(where, {"name": "CI", "capabilities": ["edit"]})
    assert_problem(refused, 400, "capability_not_held")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 81},
        {"capabilities": ["fly"]},
        {"expires_in_days": 0},
        {"expires_in_days": 10**9},
    ],
)
def test_an_unusable_field_is_named(cast: rows.Cast, wrong: dict[str, Any]):
    response = client(cast.alice).post(
        address(cast.workspace, "tokens/"), {"name": "CI", **wrong}, format="json"
    )

    assert set(assert_problem(response, 400, "invalid_input")["fields"]) == set(wrong)


def test_everyone_lists_their_own_tokens_and_an_admin_all(cast: rows.Cast):
    rows.make_token(cast.workspace, cast.alice, name="Alice's")
    rows.make_token(cast.workspace, cast.bob, name="Bob's")

    assert listed(client(cast.bob), cast) == ["Bob's"]
    assert listed(client(cast.alice), cast) == ["Alice's"]
    assert listed(client(cast.alice), cast, "?all=1") == ["Bob's", "Alice's"]
    refused = client(cast.bob).get(address(cast.workspace, "tokens/?all=1"))
    assert_problem(refused, 403, "forbidden")


def test_a_token_lists_tokens_as_far_as_it_may(cast: rows.Cast):
    _, weak = rows.make_token(cast.workspace, cast.alice, name="Weak")
    _, strong = rows.make_token(cast.workspace, cast.alice, Capability.ADMINISTER, name="Strong")
    rows.make_token(cast.workspace, cast.bob, name="Bob's")

    assert listed(client_with(weak), cast) == ["Strong", "Weak"]
    assert listed(client_with(strong), cast, "?all=1") == ["Bob's", "Strong", "Weak"]
    refused = client_with(weak).get(address(cast.workspace, "tokens/?all=1"))
    assert_problem(refused, 403, "token_lacks_capability")


def test_a_token_creates_none(cast: rows.Cast):
    _, text = rows.make_token(cast.workspace, cast.alice, *list(Capability))

    response = client_with(text).post(address(cast.workspace, "tokens/"), {"name": "CI"})

    assert_problem(response, 403, "token_lacks_capability")


def test_a_revoked_token_stays_in_the_list(cast: rows.Cast):
    token, text = rows.make_token(cast.workspace, cast.bob)
    where = address(cast.workspace, f"tokens/{token.pk}/")

    revoked = client(cast.bob).delete(where)

    assert (revoked.status_code, revoked.json()["is_live"]) == (200, False)
    assert listed(client(cast.bob), cast) == ["Script"]
    assert_problem(client_with(text).delete(where), 401, "token_revoked")


def test_a_token_that_leaked_revokes_itself(cast: rows.Cast):
    token, text = rows.make_token(cast.workspace, cast.bob)

    response = client_with(text).delete(address(cast.workspace, f"tokens/{token.pk}/"))

    assert response.json()["revoked_at"] is not None


def test_anothers_token_is_not_there_for_a_reader(cast: rows.Cast):
    token, text = rows.make_token(cast.workspace, cast.alice)
    where = address(cast.workspace, f"tokens/{token.pk}/")

    assert_problem(client(cast.bob).delete(where), 404, "not_found")
    assert client_with(text).get(address(cast.workspace, "")).status_code == 200


def test_an_outsider_finds_no_tokens(cast: rows.Cast):
    token, _ = rows.make_token(cast.workspace, cast.alice)

    assert_nothing_there(client(cast.charlie).get(address(cast.workspace, "tokens/")))
    assert_nothing_there(client(cast.charlie).post(address(cast.workspace, "tokens/"), {}))
    where = address(cast.workspace, f"tokens/{token.pk}/")
    assert_nothing_there(client(cast.charlie).delete(where))


def test_a_token_of_another_workspace_is_not_there(cast: rows.Cast):
    other = rows.make_workspace("Elsewhere", owner=cast.alice)
    token, _ = rows.make_token(other, cast.alice)

    response = client(cast.alice).delete(address(cast.workspace, f"tokens/{token.pk}/"))

    assert_problem(response, 404, "not_found")
