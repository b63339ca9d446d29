from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kb_project.llm import policy
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHOICE = {"kind": "endpoint", "endpoint": ENDPOINT, "model": "cross-1", "key": KEY}
OPERATIONS: list[tuple[str, str, Any]] = [
    ("get", "reranker/", None),
    ("put", "reranker/", CHOICE),
    ("post", "reranker/test/", None),
]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def provider() -> Iterator[Provider]:
    policy.breaker_of.cache_clear()
    with Provider() as running:
        yield running


def send(user: Any, cast: rows.Cast, operation: tuple[str, str, Any]) -> Any:
    method, path, body = operation
    return getattr(client(user), method)(address(cast.workspace, path), body, format="json")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nobody_gets_anything_without_signing_in(cast, operation):
    assert_problem(send(None, cast, operation), 401, "not_authenticated")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stranger_finds_nothing(cast, operation):
    assert_nothing_there(send(cast.charlie, cast, operation))


@pytest.mark.parametrize("operation", OPERATIONS[1:])
def test_a_reader_may_change_nothing(cast, operation):
    assert_problem(send(cast.bob, cast, operation), 403, "forbidden")


def test_an_owner_chooses_and_a_reader_sees_it_without_the_key(cast):
    chosen = send(cast.alice, cast, ("put", "reranker/", CHOICE))
    seen = send(cast.bob, cast, ("get", "reranker/", None))

    assert chosen.status_code == 200, chosen.json()
    assert seen.json() == {
        "kind": "endpoint",
        "endpoint": ENDPOINT,
        "model": "cross-1",
        "has_key": True,
        "key_hint": "wxyz",
    }
    assert KEY not in chosen.content.decode() + seen.content.decode()


def test_what_is_left_out_stays(cast):
    send(cast.alice, cast, ("put", "reranker/", CHOICE))

    body = send(cast.alice, cast, ("put", "reranker/", {"kind": "off"})).json()

    assert (body["kind"], body["endpoint"], body["model"]) == ("off", ENDPOINT, "")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"kind": "magic"}, 400, "invalid_input"),
        ({"kind": "endpoint"}, 400, "invalid_input"),
        ({"kind": "model"}, 409, "no_model"),
        ({"endpoint": "no address"}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_chosen_is_said(cast, body, status, code):
    assert_problem(send(cast.alice, cast, ("put", "reranker/", body)), status, code)


@pytest.mark.django_db(transaction=True)
def test_the_test_tells_what_works(cast, provider):
    send(cast.alice, cast, ("put", "reranker/", CHOICE | {"endpoint": provider.url}))

    body = send(cast.alice, cast, ("post", "reranker/test/", None)).json()

    [line] = body["results"]
    assert line["is_good"], line
    assert body["works"]


@pytest.mark.django_db(transaction=True)
def test_another_choice_is_tested_in_place_of_the_saved_one(cast, provider):
    send(cast.alice, cast, ("put", "reranker/", CHOICE))
    other = CHOICE | {"endpoint": provider.url, "model": "cross-2"}

    body = send(cast.alice, cast, ("post", "reranker/test/", other)).json()

    assert body["works"], body
    assert "cross-2" in body["results"][0]["what"]
    seen = send(cast.bob, cast, ("get", "reranker/", None)).json()
    assert (seen["endpoint"], seen["model"]) == (ENDPOINT, "cross-1")


@pytest.mark.django_db(transaction=True)
def test_what_is_off_cannot_be_tested(cast):
    assert_problem(send(cast.alice, cast, ("post", "reranker/test/", None)), 409, "reranker_off")
