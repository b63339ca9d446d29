"""Kept replies and the embedding model over the API and as options of setmodel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.provider import Provider
from tests.workspaces.models_rows import a_call, an_outcome
from workspaces import access
from workspaces.language_models import services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import EmbeddingIndex, IndexState
from workspaces.usage.ledger import TableCallStore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def cast(provider: Provider) -> rows.Cast:
    cast = rows.make_cast()
    services.model_settings_save(
        workspace=cast.workspace,
        choice=ModelChoice(endpoint=provider.url, key=provider.key, model=provider.model),
    )
    return cast


def at(cast: rows.Cast, user: Any, method: str, rest: str, **body: Any) -> Any:
    return getattr(client(user), method)(address(cast.workspace, rest), body, format="json")


def keep_replies(cast: rows.Cast, *keys: str) -> TableCallStore:
    store = TableCallStore(cast.workspace.pk)
    ids = store.open_calls([a_call(key) for key in keys])
    store.settle(ids, [an_outcome() for _ in keys])
    return store


def setmodel(*arguments: str) -> str:
    out = StringIO()
    call_command("setmodel", "--workspace", "harbour", *arguments, stdout=out)
    return out.getvalue()


def test_replies_of_a_role_or_all_are_forgotten(cast: rows.Cast):
    store = keep_replies(cast, "k1", "k2")

    none = at(cast, cast.alice, "delete", "models/cache/?role=judge").json()
    every = at(cast, cast.alice, "delete", "models/cache/").json()

    assert (none, every) == ({"replies": 0}, {"replies": 2})
    assert store.find(["k1", "k2"]) == {}
    assert_problem(at(cast, cast.alice, "delete", "models/cache/?role=poet"), 400, "invalid_input")


def test_the_command_forgets_replies(cast: rows.Cast):
    store = keep_replies(cast, "k1")

    setmodel("--forget-replies", "judge")
    assert store.find(["k1"])

    setmodel("--forget-replies", "all")
    assert store.find(["k1"]) == {}


def test_an_index_with_another_model_is_built_and_given_up(cast: rows.Cast):
    before = at(cast, cast.bob, "get", "embedding/").json()

    changed = at(cast, cast.alice, "put", "embedding/", model="test-embedding")
    again = at(cast, cast.alice, "put", "embedding/", model="test-embedding")
    given_up = at(cast, cast.alice, "delete", "embedding/")

    assert (before["is_local"], before["building"]) == (True, None)
    assert (changed.status_code, changed.json()["building"]) == (202, "test-embedding")
    assert_problem(again, 409, "index_building")
    assert given_up.json() == before
    assert_problem(at(cast, cast.alice, "delete", "embedding/"), 409, "no_index_building")


def test_the_command_changes_the_embedding_model(cast: rows.Cast):
    answer = json.loads(setmodel("--embedding", "test-embedding", "--json"))
    assert answer["next_embedding"] == "test-embedding"
    with access.in_workspace(cast.workspace.pk):
        index = EmbeddingIndex.objects.in_workspace(cast.workspace).get()
    assert (index.state, index.model) == (IndexState.BUILDING, "test-embedding")

    assert json.loads(setmodel("--keep-embedding", "--json"))["next_embedding"] is None
    with pytest.raises(CommandError, match="are the ones in use"):
        setmodel("--embedding", "local")


@pytest.mark.parametrize(
    ("method", "rest"),
    [("delete", "models/cache/"), ("put", "embedding/"), ("delete", "embedding/")],
)
def test_readers_may_not_and_strangers_find_nothing(cast: rows.Cast, method: str, rest: str):
    assert_problem(at(cast, cast.bob, method, rest), 403, "forbidden")
    assert_nothing_there(at(cast, cast.charlie, method, rest))
