from __future__ import annotations

import pytest

from tests import rows
from tests.workspaces.models_rows import ENDPOINT, a_call, an_outcome, set_price
from tests.workspaces.pages import address, signed_in
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import User, Workspace
from workspaces.people import services as people_services
from workspaces.usage.ledger import TableCallStore

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def answer(user: User):
    return signed_in(user).get(address("usage"))


def page(user: User) -> str:
    return " ".join(answer(user).content.decode().split())


def choose(workspace: Workspace) -> None:
    choice = ModelChoice(endpoint=ENDPOINT, model="test-model")
    language_model_services.model_settings_save(workspace=workspace, choice=choice)


def test_a_stranger_finds_nothing(cast):
    assert answer(cast.charlie).status_code == 404


def test_usage_is_empty_at_first(cast):
    local = page(cast.bob)
    choose(cast.workspace)

    assert "Nothing is spent here" in local
    assert "No calls yet" in page(cast.bob)


def test_every_reader_sees_what_was_spent(cast):
    document = rows.make_document(cast.workspace, "Log of the light", "Oil.")
    set_price(cast.workspace)
    language_model_services.budget_set(workspace=cast.workspace, cap="0.02")
    store = TableCallStore(cast.workspace.pk)
    calls = [a_call("k1", document_id=document.pk), a_call("k2", model="free")]
    store.settle(store.open_calls(calls), [an_outcome(), an_outcome(None, code="reply_invalid")])
    store.note_cached([a_call()], list(store.find(["k1"]).values()))

    shown = page(cast.bob)

    assert "1 of 3 calls was answered from the cache and cost nothing" in shown
    assert '<strong class="num">0.01</strong> of <span class="num">0.02</span> spent' in shown
    assert "Log of the light" in shown
    assert "not in the form asked for" in shown


def test_tokens_that_the_provider_had_cached_are_shown(cast):
    store = TableCallStore(cast.workspace.pk)
    store.settle(store.open_calls([a_call(stage="situate")]), [an_outcome(cached=640)])

    shown = page(cast.bob)

    assert "known to the provider <strong>640</strong>" in shown
    assert "what the price for cached input says" in shown


def test_a_document_that_is_gone_keeps_its_line(cast):
    store = TableCallStore(cast.workspace.pk)
    gone = a_call(document_id=cast.workspace.pk)
    store.settle(store.open_calls([gone]), [an_outcome()])

    assert "a document that is gone" in page(cast.bob)


def test_a_spent_budget_is_said(cast):
    language_model_services.budget_set(workspace=cast.workspace, cap=0)
    store = TableCallStore(cast.workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    assert "The budget is spent" in page(cast.bob)


def test_models_without_a_price_are_named(cast):
    choose(cast.workspace)
    store = TableCallStore(cast.workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    assert "No price is set for" in page(cast.bob)


def test_calls_of_another_workspace_are_not_told(cast):
    other = people_services.workspace_create(name="Other", owner=cast.alice)
    store = TableCallStore(other.pk)
    store.settle(store.open_calls([a_call(model="secret-model")]), [an_outcome()])

    assert "secret-model" not in page(cast.alice)
