"""What a workspace remembers of calls while the database is away, and of those nobody ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection, connections
from django.utils import timezone

from kb_project.errors import BudgetError
from tests import rows
from tests.kb_project.llm.asking import chat_with, request
from tests.patience import PATIENCE
from tests.workspaces.models_rows import MODEL, a_call, an_outcome, budget, ledger, set_price
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.models import ModelCall, Workspace
from workspaces.usage.ledger import LOST_AFTER, TableCallStore, _unwritten

# What `a_call` may cost at most and what `an_outcome` costs, at the price `set_price` sets.
MOST = Decimal("0.012")
REAL = Decimal("0.010")


@contextmanager
def away(part: str, error: type[Exception] = OperationalError) -> Iterator[None]:
    """Every statement that holds these words finds the connection lost."""

    def lost(execute: Any, sql: Any, *rest: Any) -> Any:
        if part in str(sql):
            raise error("server closed the connection unexpectedly")
        return execute(sql, *rest)

    with connection.execute_wrapper(lost):
        yield


def set_cap(workspace: Workspace, cap: str) -> None:
    language_model_services.budget_set(workspace=workspace, cap=Decimal(cap))


def age_calls(workspace: Workspace, by: timedelta) -> None:
    with access.in_workspace(workspace.pk):
        ModelCall.objects.in_workspace(workspace).update(created_at=timezone.now() - by)


# --- the database is away when a call ends --------------------------------------------------------
@pytest.mark.django_db
@pytest.mark.parametrize("is_paid", [True, False])
@pytest.mark.parametrize("part", ["workspaces_cachedreply", "set_config", "workspaces_"])
def test_a_reply_that_was_paid_for_is_found_when_the_database_is_back(is_paid: bool, part: str):
    workspace = rows.make_workspace()
    if is_paid:
        set_price(workspace)
    first = TableCallStore(workspace.pk)
    [pk] = first.open_calls([a_call("k1")])

    with away(part), pytest.raises(OperationalError):
        first.settle([pk], [an_outcome("said")])

    # The stage is repeated, with a store of its own.
    assert TableCallStore(workspace.pk).find(["k1"])["k1"].text == "said"
    [row] = ledger(workspace)
    assert (row.pk, row.state, row.prompt_tokens) == (pk, "done", 900)
    found = budget(workspace)
    assert found is None or found.spent == REAL
    assert _unwritten.take(workspace.pk) == []


@pytest.mark.django_db
def test_what_was_settled_twice_is_counted_once():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)
    ids = store.open_calls([a_call("k1"), a_call("k2")])

    store.settle(ids, [an_outcome(), an_outcome()])
    store.settle(ids, [an_outcome(), an_outcome()])

    assert [row.cost for row in ledger(workspace)] == [REAL, REAL]
    found = budget(workspace)
    assert found is not None
    assert found.spent == 2 * REAL


@pytest.mark.django_db
def test_what_the_database_will_never_take_is_not_tried_for_ever():
    workspace = rows.make_workspace()
    store = TableCallStore(workspace.pk)
    ids = store.open_calls([a_call("k1")])

    with away("workspaces_cachedreply", DataError), pytest.raises(DataError):
        store.settle(ids, [an_outcome("bad")])

    assert _unwritten.take(workspace.pk) == []


@pytest.mark.django_db
def test_an_outage_in_the_middle_of_many_calls_makes_none_of_them_twice():
    workspace = rows.make_workspace()
    set_price(workspace, model="model-a")
    asked: list[str] = []

    def answer(call: Any) -> str:
        asked.append(call.request.prompt.user)
        return '{"names": []}'

    requests = [request(f"Passage {number}.") for number in range(12)]
    results = chat_with(answer=answer, store=TableCallStore(workspace.pk)).ask_many(requests)
    next(results)
    with away("workspaces_"), pytest.raises(OperationalError):
        list(results)
    again = chat_with(answer=answer, store=TableCallStore(workspace.pk))

    assert len(list(again.ask_many(requests))) == 12
    assert sorted(asked) == sorted(one.prompt.user for one in requests)
    assert "open" not in {row.state for row in ledger(workspace)}


# --- two workers ----------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_workers_that_ask_the_same_at_the_same_moment_do_not_get_in_each_others_way():
    workspace = rows.make_workspace()
    set_price(workspace)
    keys = [f"k{number}" for number in range(40)]
    errors: list[BaseException] = []
    meet = threading.Barrier(4)

    def work(mine: list[str]) -> None:
        try:
            store = TableCallStore(workspace.pk)
            for _ in range(5):
                ids = store.open_calls([a_call(key) for key in mine])
                meet.wait(PATIENCE)
                store.settle(ids, [an_outcome() for _ in mine])
        except BaseException as error:  # noqa: BLE001 - whatever a thread dies of is the finding
            errors.append(error)
            meet.abort()
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=work, args=(part,)) for part in (keys, keys[::-1], keys, keys[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    found = budget(workspace)
    assert found is not None
    assert found.spent == REAL * len(ledger(workspace)) == REAL * 800


# --- calls that nobody ended ----------------------------------------------------------------------
@pytest.mark.django_db
def test_calls_that_a_crash_left_open_do_not_hold_the_cap_for_ever():
    workspace = rows.make_workspace()
    set_price(workspace)
    set_cap(workspace, "0.02")
    TableCallStore(workspace.pk).open_calls([a_call("crashed")])
    age_calls(workspace, LOST_AFTER + timedelta(minutes=1))

    TableCallStore(workspace.pk).open_calls([a_call("next")])

    states = {row.key: (row.state, row.code, row.cost) for row in ledger(workspace)}
    assert states == {"crashed": ("failed", "end_unknown", 0), "next": ("open", "", MOST)}
    found = budget(workspace)
    assert found is not None
    assert found.spent == MOST


@pytest.mark.django_db
def test_for_a_day_they_count_at_the_most_they_may_have_cost():
    workspace = rows.make_workspace()
    set_price(workspace)
    set_cap(workspace, "0.02")
    TableCallStore(workspace.pk).open_calls([a_call("crashed")])
    age_calls(workspace, LOST_AFTER - timedelta(minutes=1))

    with pytest.raises(BudgetError):
        TableCallStore(workspace.pk).open_calls([a_call("next")])

    assert [row.state for row in ledger(workspace)] == ["open"]


@pytest.mark.django_db
def test_a_call_that_was_given_up_and_ends_after_all_leaves_the_budget_alone():
    workspace = rows.make_workspace()
    set_price(workspace, model=MODEL)
    set_cap(workspace, "0.02")
    late = TableCallStore(workspace.pk)
    ids = late.open_calls([a_call("late")])
    age_calls(workspace, LOST_AFTER * 2)
    TableCallStore(workspace.pk).open_calls([a_call("next")])

    late.settle(ids, [an_outcome("said")])

    found = budget(workspace)
    assert found is not None
    assert found.spent == MOST
    assert late.find(["late"])["late"].text == "said"
