from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY, a_call, an_outcome, set_price
from workspaces import access
from workspaces.models import ModelSettings
from workspaces.people import services as people_services
from workspaces.usage.ledger import TableCallStore

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHOICE = {"endpoint": ENDPOINT, "model": "small-1", "key": KEY}
# Method and path of every operation, and what an admin sends.
OPERATIONS: list[tuple[str, str, Any]] = [
    ("get", "models/", None),
    ("put", "models/", CHOICE),
    ("post", "models/test/", None),
    ("get", "models/providers/", None),
    ("get", "prices/", None),
    ("put", "prices/", []),
    ("get", "budget/", None),
    ("put", "budget/", {"cap": "1"}),
    ("get", "usage/", None),
]
WRITES = [operation for operation in OPERATIONS if operation[0] != "get"]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def send(user: Any, cast: rows.Cast, operation: tuple[str, str, Any]) -> Any:
    method, path, body = operation
    return getattr(client(user), method)(address(cast.workspace, path), body, format="json")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nobody_gets_anything_without_signing_in(cast, operation):
    assert_problem(send(None, cast, operation), 401, "not_authenticated")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stranger_finds_nothing(cast, operation):
    assert_nothing_there(send(cast.charlie, cast, operation))


@pytest.mark.parametrize("operation", WRITES)
def test_a_reader_may_change_nothing(cast, operation):
    body = assert_problem(send(cast.bob, cast, operation), 403, "forbidden")

    assert "Ask Alice" in body["next_step"]


# --- the models -----------------------------------------------------------------------------------
def put(cast: rows.Cast, body: dict[str, Any]) -> Any:
    return send(cast.alice, cast, ("put", "models/", body))


def test_an_owner_chooses_and_a_reader_sees_it(cast):
    chosen = put(cast, CHOICE | {"role_models": {"judge": "big-1"}, "gleanings": 2})
    seen = send(cast.bob, cast, ("get", "models/", None)).json()

    assert chosen.status_code == 200, chosen.json()
    assert seen == chosen.json()
    assert (seen["tier"], seen["endpoint"], seen["gleanings"]) == ("own", ENDPOINT, 2)
    models = {row["role"]: row["model"] for row in seen["roles"]}
    assert (models["extract"], models["judge"]) == ("small-1", "big-1")


def test_no_answer_ever_holds_the_key(cast):
    answers = [put(cast, CHOICE)]
    answers += [send(cast.alice, cast, operation) for operation in OPERATIONS[:1]]
    answers += [put(cast, {"key": KEY + " x"}), put(cast, {"key": KEY * 100})]

    assert all(KEY not in answer.content.decode() for answer in answers)
    assert answers[0].json()["has_key"] is True
    assert answers[0].json()["key_hint"] == "wxyz"


def test_what_is_left_out_stays(cast):
    put(cast, CHOICE)

    body = put(cast, {"model": "big-1"}).json()

    assert (body["endpoint"], body["model"], body["has_key"]) == (ENDPOINT, "big-1", True)


def test_a_roles_parameters_are_kept_and_shown(cast):
    body = put(cast, CHOICE | {"parameters": {"answer": {"reasoning_effort": "low"}}}).json()

    assert {row["role"]: row["parameters"] for row in body["roles"]}["answer"] == {
        "reasoning_effort": "low"
    }


def test_an_empty_key_removes_it(cast):
    put(cast, CHOICE)

    assert put(cast, {"key": ""}).json()["has_key"] is False


def test_an_empty_endpoint_is_the_local_tier(cast):
    put(cast, CHOICE)

    body = put(cast, {"endpoint": ""}).json()

    assert (body["tier"], body["has_key"], body["embedding"]["is_local"]) == ("local", False, True)


def test_choosing_the_local_tier_drops_the_workspaces_own_model(cast):
    put(cast, CHOICE)

    body = put(cast, {"is_local": True}).json()

    assert (body["tier"], body["is_local"], body["endpoint"]) == ("local", True, "")
    assert (body["model"], body["has_key"]) == ("", False)


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "nowhere"},
        {"endpoint": "https://a:b@models.example.org/v1"},
        {"endpoint": "x" * 10_000},
        {"endpoint": ["https://a.example"]},
        {"key": "x" * 10_000},
        {"model": "x" * 10_000},
        {"model": "a\u0000b"},
        {"role_models": {"poet": "x"}},
        {"role_models": "judge"},
        {"limits": {"extract": {"patience": 3}}},
        {"limits": {"extract": {"timeout": -3}}},
        {"parameters": {"answer": {"stream": True}}},
        {"parameters": {"answer": "low"}},
        {"concurrency": 0},
        {"context_window": "wide"},
        {"gleanings": -1},
        {"entity_types": ["x" * 41]},
        {"entity_types": [str(number) for number in range(41)]},
        {"entity_types": ["a\u0001"]},
        {"is_local": True},
    ],
)
def test_a_choice_that_cannot_be_used_changes_nothing(cast, change):
    assert_problem(put(cast, CHOICE | change), 400, "invalid_input")

    with access.in_workspace(cast.workspace.pk):
        assert not ModelSettings.objects.in_workspace(cast.workspace).exists()


def test_a_key_is_not_sent_to_another_host(cast):
    put(cast, CHOICE)

    assert_problem(put(cast, {"endpoint": "https://evil.example"}), 400, "key_for_another_host")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def test_a_test_tells_what_the_server_understands(cast, provider):
    put(cast, {"endpoint": provider.url, "model": provider.model})

    response = send(cast.alice, cast, ("post", "models/test/", None))

    found = {line["what"]: line["is_good"] for line in response.json()["results"]}
    assert response.status_code == 200
    assert found["Answers"] is True
    assert put(cast, {}).json()["support"]["schema"] is found["Answers by a JSON schema"]


def test_settings_are_tested_without_being_saved(cast, provider):
    body = {"endpoint": provider.url, "model": "big-1", "key": KEY}

    response = send(cast.alice, cast, ("post", "models/test/", body))

    assert response.json()["works"] is True
    assert {seen.key for seen in provider.requests} == {KEY}
    assert send(cast.alice, cast, ("get", "models/", None)).json()["endpoint"] == ""


def test_settings_that_cannot_be_saved_are_not_tested(cast):
    body = {"endpoint": "nowhere", "model": "m"}

    assert_problem(send(cast.alice, cast, ("post", "models/test/", body)), 400, "invalid_input")


def test_a_reader_sees_the_providers_with_models_and_dated_prices(cast):
    listed = send(cast.bob, cast, ("get", "models/providers/", None)).json()

    groq = next(one for one in listed if one["slug"] == "groq")
    priced = next(one for one in groq["models"] if one["price"])
    assert groq["endpoint"] == "https://api.groq.com/openai/v1"
    assert priced["price"]["prompt"] == "0.1500"
    assert priced["price"]["as_of"] == "2026-05"
    assert next(one for one in listed if one["slug"] == "ollama")["is_private"] is True


def test_there_is_nothing_to_test_on_the_local_tier(cast):
    assert_problem(send(cast.alice, cast, ("post", "models/test/", None)), 409, "no_model")


# --- money ----------------------------------------------------------------------------------------
def test_prices_are_replaced(cast):
    first = [{"model": "a", "prompt": "1", "completion": "2"}]
    second = [{"model": "b", "prompt": "0.15", "cached_prompt": "0.05", "completion": "0.6"}]
    send(cast.alice, cast, ("put", "prices/", first))

    changed = send(cast.alice, cast, ("put", "prices/", second))

    assert changed.status_code == 200
    assert send(cast.bob, cast, ("get", "prices/", None)).json() == [
        {"model": "b", "prompt": "0.1500", "cached_prompt": "0.0500", "completion": "0.6000"}
    ]


@pytest.mark.parametrize(
    "prices",
    [
        {"model": "a"},
        [{"model": "a", "prompt": "-1", "completion": "1"}],
        [{"model": "a", "prompt": "NaN", "completion": "1"}],
        [{"model": "a", "prompt": "99999", "completion": "1"}],
        [{"model": "", "prompt": "1", "completion": "1"}],
        [{"model": "a", "prompt": "1", "completion": "1"}] * 2,
    ],
)
def test_what_are_no_prices_is_refused(cast, prices):
    assert_problem(send(cast.alice, cast, ("put", "prices/", prices)), 400, "invalid_input")


def test_a_budget_is_set_and_lifted(cast):
    first = send(cast.alice, cast, ("put", "budget/", {"cap": "0.05"})).json()
    second = send(cast.alice, cast, ("put", "budget/", {"cap": None})).json()

    assert (float(first["cap"]), float(first["spent"]), float(first["left"])) == (0.05, 0, 0.05)
    assert (second["cap"], second["left"]) == (None, None)
    assert (first["lost"], float(first["lost_cost"])) == (0, 0)


@pytest.mark.parametrize("body", [{}, {"cap": "-1"}, {"cap": "NaN"}, {"cap": "9" * 10_000}])
def test_what_is_no_budget_is_refused(cast, body):
    assert_problem(send(cast.alice, cast, ("put", "budget/", body)), 400, "invalid_input")


def test_every_reader_sees_what_was_spent(cast):
    set_price(cast.workspace)
    store = TableCallStore(cast.workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome(cached=640)])
    store.note_cached([a_call()], list(store.find(["k1"]).values()))

    body = send(cast.bob, cast, ("get", "usage/", None)).json()

    assert (body["total"]["calls"], body["total"]["cached"]) == (2, 1)
    assert float(body["total"]["cost"]) == float(body["budget"]["spent"]) == 0.01
    assert [line["name"] for line in body["by_stage"]] == ["extract"]
    assert [line["cached_tokens"] for line in body["by_stage"]] == [640]
    assert [call["state"] for call in body["calls"]] == ["cached", "done"]


def test_models_without_a_price_are_named(cast):
    put(cast, CHOICE)

    assert send(cast.bob, cast, ("get", "usage/", None)).json()["unpriced"] == ["small-1"]


def test_usage_of_another_workspace_is_not_told(cast):
    other = people_services.workspace_create(name="Other", owner=cast.alice)
    store = TableCallStore(other.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    body = send(cast.alice, cast, ("get", "usage/", None)).json()

    assert body["total"]["calls"] == 0
