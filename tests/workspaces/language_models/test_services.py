from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY, a_call, an_outcome
from workspaces import access, secrets
from workspaces.language_models import embedding, services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import (
    EmbeddingIndex,
    IndexState,
    ModelPrice,
    ModelSettings,
    Workspace,
)
from workspaces.usage.ledger import TableCallStore

pytestmark = pytest.mark.django_db

CHOICE = ModelChoice(endpoint=ENDPOINT, model="small-1", key=KEY)
KEEPING = replace(CHOICE, key=None)


def stored(workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        return ModelSettings.objects.in_workspace(workspace).get()


def key_of(workspace: Workspace) -> str:
    return secrets.unseal(stored(workspace).sealed_key, workspace.pk)


def test_a_choice_is_kept_and_its_key_is_sealed(caplog):
    workspace = rows.make_workspace()

    with caplog.at_level(logging.DEBUG):
        language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    row = stored(workspace)
    assert (row.endpoint, row.model, row.key_hint) == (ENDPOINT, "small-1", "wxyz")
    assert KEY.encode() not in bytes(row.sealed_key)
    assert key_of(workspace) == KEY
    assert KEY not in caplog.text


def test_a_key_that_is_not_given_stays():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    language_model_services.model_settings_save(
        workspace=workspace, choice=replace(KEEPING, model="big-1")
    )

    assert (key_of(workspace), stored(workspace).model) == (KEY, "big-1")


def test_a_key_is_removed_when_asked():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    language_model_services.model_settings_save(workspace=workspace, choice=replace(CHOICE, key=""))

    assert (key_of(workspace), stored(workspace).key_hint) == ("", "")


@pytest.mark.parametrize("elsewhere", ["https://evil.example/v1", "http://models.example.org/v1"])
def test_a_key_is_not_sent_to_another_host(elsewhere: str):
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    with pytest.raises(InputError, match="not sent elsewhere"):
        language_model_services.model_settings_save(
            workspace=workspace, choice=replace(KEEPING, endpoint=elsewhere)
        )

    assert stored(workspace).endpoint == ENDPOINT


def test_a_key_stays_for_another_path_of_its_host():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    moved = replace(KEEPING, endpoint=f"{ENDPOINT}/other")
    language_model_services.model_settings_save(workspace=workspace, choice=moved)

    assert key_of(workspace) == KEY


def test_another_host_comes_with_its_own_key_or_without():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    other = replace(CHOICE, endpoint="http://localhost:8080/v1", key="")
    language_model_services.model_settings_save(workspace=workspace, choice=other)

    assert key_of(workspace) == ""


def test_what_another_endpoint_understands_is_found_out_anew():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)
    with access.in_workspace(workspace.pk):
        ModelSettings.objects.in_workspace(workspace).update(support={"schema": False})

    language_model_services.model_settings_save(
        workspace=workspace, choice=replace(KEEPING, gleanings=2)
    )
    before = stored(workspace).support
    language_model_services.model_settings_save(
        workspace=workspace, choice=replace(KEEPING, model="big-1")
    )

    assert (before, stored(workspace).support) == ({"schema": False}, {})


def test_a_choice_that_breaks_a_rule_changes_nothing():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)

    with pytest.raises(InputError):
        language_model_services.model_settings_save(
            workspace=workspace, choice=replace(CHOICE, gleanings=99)
        )

    assert stored(workspace).gleanings == 1


def test_the_local_tier_keeps_types_and_forgets_the_key():
    workspace = rows.make_workspace()
    choice = replace(CHOICE, entity_types=("vessel",))
    language_model_services.model_settings_save(workspace=workspace, choice=choice)

    language_model_services.model_settings_clear(workspace=workspace)

    row = stored(workspace)
    assert (row.endpoint, row.is_local, row.entity_types) == ("", True, ["vessel"])
    assert bytes(row.sealed_key) == b""


def test_a_new_key_serves_the_vectors_of_the_same_endpoint():
    workspace = rows.make_workspace()
    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)
    with access.in_workspace(workspace.pk):
        index = EmbeddingIndex.objects.create(
            workspace=workspace,
            endpoint=ENDPOINT,
            sealed_key=stored(workspace).sealed_key,
            model="e",
            dimension=3,
            fingerprint="e/3",
            state=IndexState.ACTIVE,
        )

    language_model_services.model_settings_save(
        workspace=workspace, choice=replace(CHOICE, key="sk-the-new-key")
    )

    with access.in_workspace(workspace.pk):
        index = EmbeddingIndex.objects.in_workspace(workspace).get()
    assert secrets.unseal(index.sealed_key, workspace.pk) == "sk-the-new-key"


@pytest.fixture
def woken(monkeypatch) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []
    for module in (language_model_services, embedding, language_model_services):
        monkeypatch.setattr(module, "async_task", lambda *given, **_: calls.append(given))
    return calls


def test_saving_and_a_budget_wake_what_waits(woken, django_capture_on_commit_callbacks):
    workspace = rows.make_workspace()

    with django_capture_on_commit_callbacks(execute=True):
        language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)
        language_model_services.budget_set(workspace=workspace, cap=1)

    assert woken == [("ingestion.tasks.resume_workspace", str(workspace.pk))] * 2


# --- money ----------------------------------------------------------------------------------------
def test_prices_are_these_and_no_others():
    workspace = rows.make_workspace()
    first = [PriceGiven("a", Decimal(1), Decimal(2)), PriceGiven("b", Decimal(0), Decimal(0))]
    language_model_services.prices_set(workspace=workspace, prices=first)

    language_model_services.prices_set(
        workspace=workspace, prices=[PriceGiven("a", Decimal(3), Decimal(4))]
    )

    with access.in_workspace(workspace.pk):
        [price] = ModelPrice.objects.in_workspace(workspace)
    assert (price.model, price.prompt, price.cached_prompt, price.completion) == ("a", 3, 3, 4)


@pytest.mark.parametrize(
    "prices",
    [
        [PriceGiven("a", Decimal(-1), Decimal(1))],
        [PriceGiven("a", Decimal("NaN"), Decimal(1))],
        [PriceGiven("a", Decimal(1), Decimal(10**9))],
        [PriceGiven("", Decimal(1), Decimal(1))],
        [PriceGiven("a", Decimal(1), Decimal(1))] * 2,
        [PriceGiven(str(number), Decimal(1), Decimal(1)) for number in range(101)],
    ],
)
def test_what_is_no_price_is_refused(prices: list[PriceGiven]):
    with pytest.raises(InputError):
        language_model_services.prices_set(workspace=rows.make_workspace(), prices=prices)


@pytest.mark.parametrize("cap", ["-0.01", "NaN", "much", "1e12"])
def test_what_is_no_budget_is_refused(cap: str):
    with pytest.raises(InputError):
        language_model_services.budget_set(workspace=rows.make_workspace(), cap=cap)


def test_a_budget_can_be_lifted():
    workspace = rows.make_workspace()
    language_model_services.budget_set(workspace=workspace, cap="0.05")

    assert language_model_services.budget_set(workspace=workspace, cap=None).cap is None


def test_replies_of_one_role_are_forgotten():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)
    store.settle(store.open_calls([a_call("k1"), a_call("k2")]), [an_outcome(), an_outcome()])

    with pytest.raises(InputError):
        language_model_services.cache_clear(workspace=workspace, role="poet")
    assert language_model_services.cache_clear(workspace=workspace, role="judge") == 0
    assert language_model_services.cache_clear(workspace=workspace) == 2
    assert store.find(["k1", "k2"]) == {}


# --- what is learned from the documents -----------------------------------------------------------
def test_learned_types_are_taken_where_nobody_chose_any():
    workspace = rows.make_workspace()

    language_model_services.tuning_save(
        workspace=workspace, tuning={"domain": "Ships", "types": ["vessel"]}
    )
    learned = stored(workspace).entity_types
    language_model_services.model_settings_save(
        workspace=workspace, choice=ModelChoice(entity_types=("person",))
    )
    language_model_services.tuning_save(
        workspace=workspace, tuning={"domain": "Ships", "types": ["vessel"]}
    )

    assert (learned, stored(workspace).entity_types) == (["vessel"], ["person"])


def test_what_was_learned_can_be_forgotten():
    workspace = rows.make_workspace()
    language_model_services.tuning_save(workspace=workspace, tuning={"domain": "Ships"})

    assert language_model_services.tuning_forget(workspace=workspace).tuning == {}


def test_learning_needs_a_model(woken, django_capture_on_commit_callbacks):
    workspace = rows.make_workspace()
    with pytest.raises(ConflictError, match="local tier"):
        language_model_services.tuning_start(workspace=workspace)

    language_model_services.model_settings_save(workspace=workspace, choice=CHOICE)
    with django_capture_on_commit_callbacks(execute=True):
        language_model_services.tuning_start(workspace=workspace)

    assert woken[-1] == ("ingestion.tasks.tune", str(workspace.pk))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def use(workspace: Workspace, provider: Provider, **changes: object) -> None:
    choice = ModelChoice(endpoint=provider.url, model=provider.model, key=provider.key)
    choice = replace(choice, **changes)  # type: ignore[arg-type]  # names of the choice's fields
    language_model_services.model_settings_save(workspace=workspace, choice=choice)


# --- the embedding model --------------------------------------------------------------------------
def test_another_embedding_model_begins_an_index(
    provider, woken, fake_embedder, django_capture_on_commit_callbacks
):
    workspace = rows.make_workspace()
    use(workspace, provider)

    with django_capture_on_commit_callbacks(execute=True):
        index = embedding.embedding_change(
            workspace=workspace, provider="endpoint", model="test-embedding"
        )

    assert (index.state, index.dimension) == ("building", provider.script.dimension)
    assert index.fingerprint.endswith(f"test-embedding/{index.dimension}")
    assert ("ingestion.tasks.reembed", str(workspace.pk)) in woken


def test_only_one_index_is_made_at_a_time(provider, fake_embedder):
    workspace = rows.make_workspace()
    use(workspace, provider)
    embedding.embedding_change(workspace=workspace, provider="endpoint", model="test-embedding")

    with pytest.raises(ConflictError, match="already being built"):
        embedding.embedding_change(workspace=workspace, provider="endpoint", model="other")

    embedding.embedding_give_up(workspace=workspace)
    with pytest.raises(ConflictError, match="No index"):
        embedding.embedding_give_up(workspace=workspace)


def test_the_model_in_use_is_not_chosen_again(fake_embedder):
    with pytest.raises(ConflictError, match="in use"):
        embedding.embedding_change(workspace=rows.make_workspace(), provider="local")


def test_an_embedding_model_needs_a_name_and_an_endpoint(fake_embedder):
    workspace = rows.make_workspace()

    with pytest.raises(InputError, match="has a name"):
        embedding.embedding_change(workspace=workspace, provider="endpoint", model=" ")
    with pytest.raises(ConflictError, match="local tier"):
        embedding.embedding_change(workspace=workspace, provider="endpoint", model="e")
