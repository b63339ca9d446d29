from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from django.db import connection
from hypothesis import given, strategies as st

from kb_project.errors import BudgetError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.ports import CallOutcome, Role, StoredReply
from tests import rows
from tests.workspaces.models_rows import (
    ENDPOINT,
    a_call,
    an_outcome,
    budget,
    ledger,
    set_price,
)
from workspaces import access
from workspaces.administration import services
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import CachedReply, ModelSettings, Workspace
from workspaces.usage.ledger import LARGEST, Price, TableCallStore

pytestmark = pytest.mark.django_db

# What `a_call` may cost at most and what `an_outcome` costs, at the price `set_price` sets.
MOST = Decimal("0.012")
REAL = Decimal("0.010")


def cached(workspace: Workspace) -> list[CachedReply]:
    with access.in_workspace(workspace.pk):
        return list(CachedReply.objects.in_workspace(workspace).order_by("key"))


# --- calls without a price ------------------------------------------------------------------------
def test_a_free_call_is_written_when_it_ends():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)

    [pk] = store.open_calls([a_call()])
    before = ledger(workspace)
    store.settle([pk], [an_outcome('{"a": 1}')])

    [row] = ledger(workspace)
    assert before == []
    assert (row.pk, row.state, row.cost) == (pk, "done", 0)
    assert (row.prompt_tokens, row.completion_tokens, row.seconds) == (900, 50, 0.5)
    assert budget(workspace) is None


def test_a_reply_is_found_again_by_its_key():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)
    store.settle(store.open_calls([a_call("k1")]), [an_outcome('{"a": 1}')])

    assert store.find(["k1", "k2"]) == {"k1": StoredReply('{"a": 1}', 900, 50)}
    assert store.find([]) == {}


def test_a_failed_call_is_in_the_ledger_and_not_in_the_cache():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)

    store.settle(store.open_calls([a_call()]), [an_outcome(None, code="reply_truncated")])

    [row] = ledger(workspace)
    assert (row.state, row.code, row.prompt_tokens) == ("failed", "reply_truncated", 900)
    assert cached(workspace) == []


def test_an_empty_reply_counts_as_a_reply():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)

    store.settle(store.open_calls([a_call()]), [an_outcome("")])

    assert [reply.text for reply in cached(workspace)] == [""]


def test_the_first_reply_to_a_question_stays():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)
    ids = store.open_calls([a_call("k1"), a_call("k1")])

    store.settle(ids, [an_outcome("first"), an_outcome("second")])

    assert store.find(["k1"])["k1"].text == "first"
    assert len(ledger(workspace)) == 2


def test_answers_from_the_cache_are_in_the_ledger_and_cost_nothing():
    workspace = rows.make_workspace()
    set_price(workspace)

    TableCallStore(workspace.pk).note_cached([a_call()], [StoredReply("{}", 900, 50)])

    [row] = ledger(workspace)
    assert (row.state, row.cost, row.prompt_tokens) == ("cached", 0, 900)


@given(
    text=st.text(max_size=50),
    tokens=st.integers(-(2**70), 2**70),
    name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200),
)
def test_whatever_a_provider_says_is_stored(text: str, tokens: int, name: str):
    workspace = rows.make_workspace("Odd")
    store = TableCallStore(workspace.pk)

    ids = store.open_calls([a_call("odd", model=name)])
    store.settle(ids, [CallOutcome(text, "x" * 99, tokens, tokens, tokens, 1.0)])

    [row] = ledger(workspace)
    assert 0 <= row.cached_tokens <= row.prompt_tokens <= LARGEST
    assert len(row.model) <= 120
    assert "\0" not in store.find(["odd"])["odd"].text
    services.rows_purge(workspace.pk)


def test_calls_of_another_workspace_are_not_seen():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")
    store = TableCallStore(theirs.pk)
    store.settle(store.open_calls([a_call("k1")]), [an_outcome()])

    assert TableCallStore(mine.pk).find(["k1"]) == {}
    assert ledger(mine) == []


# --- calls with a price ---------------------------------------------------------------------------
def test_an_open_call_sets_aside_the_most_it_may_cost():
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap="1")

    TableCallStore(workspace.pk).open_calls([a_call(), a_call("k2")])

    assert [(row.state, row.cost) for row in ledger(workspace)] == [("open", MOST)] * 2
    assert budget(workspace).spent == 2 * MOST


def test_what_it_cost_takes_the_place_of_what_was_set_aside():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)

    store.settle(store.open_calls([a_call()]), [an_outcome()])

    [row] = ledger(workspace)
    assert (row.state, row.cost) == ("done", REAL)
    assert budget(workspace).spent == REAL


def test_tokens_from_the_providers_cache_have_their_own_price():
    workspace = rows.make_workspace()
    price = PriceGiven("small-1", Decimal(10), Decimal(20), cached_prompt=Decimal(1))
    language_model_services.prices_set(workspace=workspace, prices=[price])
    store = TableCallStore(workspace.pk)

    store.settle(store.open_calls([a_call()]), [an_outcome(cached=400)])

    [row] = ledger(workspace)
    assert row.cost == Decimal("0.0064")


@pytest.mark.parametrize(
    ("model", "cost", "most"),
    [("anthropic/claude-1", "0.0110", "0.0145"), ("gemini-1", "0.0100", "0.0120")],
)
def test_what_a_claude_takes_up_into_its_cache_costs_a_quarter_more(model, cost, most):
    workspace = rows.make_workspace()
    set_price(workspace, model=model)
    store = TableCallStore(workspace.pk)

    ids = store.open_calls([a_call(model=model)])
    assert budget(workspace).spent == Decimal(most)
    store.settle(ids, [replace(an_outcome(), written_tokens=400)])

    [row] = ledger(workspace)
    assert row.cost == Decimal(cost)


def test_a_call_that_failed_before_it_was_answered_gives_its_money_back():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)

    store.settle(store.open_calls([a_call()]), [CallOutcome(None, "endpoint_down", 0, 0, 0, 2.0)])

    assert budget(workspace).spent == 0
    assert [row.code for row in ledger(workspace)] == ["endpoint_down"]


def test_a_call_beyond_the_budget_is_not_opened():
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap="0.02")
    store = TableCallStore(workspace.pk)
    [pk] = store.open_calls([a_call()])

    with pytest.raises(BudgetError, match="does not allow another call") as refused:
        store.open_calls([a_call("k2")])

    assert refused.value.code == "budget_spent"
    assert [row.pk for row in ledger(workspace)] == [pk]
    assert budget(workspace).spent == MOST


def test_several_calls_are_opened_together_or_not_at_all():
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap="0.02")

    with pytest.raises(BudgetError):
        TableCallStore(workspace.pk).open_calls([a_call("k1"), a_call("k2")])

    assert (ledger(workspace), budget(workspace).spent) == ([], 0)


def test_the_budget_may_be_spent_to_the_last_digit():
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap=MOST)

    assert len(TableCallStore(workspace.pk).open_calls([a_call()])) == 1


def test_a_model_without_a_price_goes_on_when_the_money_is_spent():
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap=0)
    store = TableCallStore(workspace.pk)

    [pk] = store.open_calls([a_call(model="on my own machine")])
    store.settle([pk], [an_outcome()])

    assert [row.state for row in ledger(workspace)] == ["done"]


def test_a_budget_counts_what_was_spent_before_it_was_set():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    assert language_model_services.budget_set(workspace=workspace, cap="1").spent == REAL


def test_a_call_that_a_crash_left_open_keeps_its_money():
    workspace = rows.make_workspace()
    set_price(workspace)
    TableCallStore(workspace.pk).open_calls([a_call()])

    after_the_crash = TableCallStore(workspace.pk)
    after_the_crash.settle(after_the_crash.open_calls([a_call()]), [an_outcome()])

    assert [row.state for row in ledger(workspace)] == ["open", "done"]
    assert budget(workspace).spent == MOST + REAL


def test_settling_twice_charges_once():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)
    ids = store.open_calls([a_call()])

    store.settle(ids, [an_outcome()])
    store.settle(ids, [an_outcome()])

    assert budget(workspace).spent == REAL
    assert len(ledger(workspace)) == 1


@given(
    prompt=st.integers(0, LARGEST),
    cached=st.integers(0, LARGEST),
    completion=st.integers(0, LARGEST),
    price=st.decimals(0, 10_000, places=4),
)
def test_a_cost_is_never_negative_and_fits_its_column(prompt, cached, completion, price):
    cost = Price(price, price / 2, price).of(prompt=prompt, cached=cached, completion=completion)

    assert 0 <= cost < 10**8


# --- workers at once ------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_spent_before", [False, True])
def test_ten_workers_never_exceed_a_small_cap(has_spent_before: bool):
    workspace = rows.make_workspace()
    set_price(workspace)
    language_model_services.budget_set(workspace=workspace, cap=5 * MOST)
    opened: list[int] = []

    def work() -> None:
        store = TableCallStore(workspace.pk)
        for number in range(3):
            try:
                ids = store.open_calls([a_call(f"k{number}")])
            except BudgetError:
                continue
            if has_spent_before:
                store.settle(ids, [an_outcome()])
            opened.append(1)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    spent = budget(workspace).spent
    assert spent <= 5 * MOST
    assert spent == sum(row.cost for row in ledger(workspace))
    assert len(ledger(workspace)) == len(opened) >= 5


@pytest.mark.django_db(transaction=True)
def test_the_first_calls_of_ten_workers_are_all_counted():
    workspace = rows.make_workspace()
    set_price(workspace)

    def work() -> None:
        store = TableCallStore(workspace.pk)
        store.settle(store.open_calls([a_call()]), [an_outcome()])
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert budget(workspace).spent == 10 * REAL


def test_a_free_call_is_opened_and_settled_in_a_dozen_statements(
    django_assert_max_num_queries,
):
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)
    store.find(["warm"])

    with django_assert_max_num_queries(13):
        store.settle(store.open_calls([a_call("k")]), [an_outcome()])


# --- what an endpoint understands -----------------------------------------------------------------
def test_what_the_endpoint_understands_is_remembered():
    workspace = rows.make_workspace()
    choice = ModelChoice(endpoint=ENDPOINT, model="m")
    language_model_services.model_settings_save(workspace=workspace, choice=choice)
    before = support_of(workspace)

    store = TableCallStore(workspace.pk, endpoint=ENDPOINT)
    store.remember_support(Support().without(Feature.SCHEMA))

    assert before == {}
    assert not Support.from_dict(support_of(workspace)).schema


def test_what_a_former_endpoint_understands_is_not():
    workspace = rows.make_workspace()
    choice = ModelChoice(endpoint=ENDPOINT, model="m")
    language_model_services.model_settings_save(workspace=workspace, choice=choice)

    former = TableCallStore(workspace.pk, endpoint="http://elsewhere/v1")
    former.remember_support(Support().without(Feature.SCHEMA))

    assert support_of(workspace) == {}


def support_of(workspace: Workspace) -> dict[str, object]:
    with access.in_workspace(workspace.pk):
        return ModelSettings.objects.in_workspace(workspace).get().support


def test_every_role_fits_its_column():
    assert all(len(role.value) <= 12 for role in Role)
