"""The operator's limits on the installation's model hold, and no workspace can raise them."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone

from kb_project.errors import BudgetError
from kb_project.llm.ports import CallOutcome
from tests import rows
from tests.api import address, client
from tests.patience import PATIENCE
from tests.workspaces.models_rows import MODEL, a_call, an_outcome, budget, ledger, set_price
from tests.workspaces.pages import signed_in
from workspaces import access
from workspaces.language_models import services
from workspaces.models import InstallationSpending, ModelCall, Role, User, Workspace
from workspaces.people import services as people_services
from workspaces.usage import caps
from workspaces.usage.caps import CapKind
from workspaces.usage.ledger import TableCallStore

pytestmark = pytest.mark.django_db

# What `a_call` may cost at most and what `an_outcome` costs, at the operator's prices.
MOST = Decimal("0.012")
REAL = Decimal("0.010")


@pytest.fixture(autouse=True)
def installation(settings) -> None:
    settings.MODEL_ENDPOINT, settings.MODEL_NAME = "http://models.internal/v1", MODEL
    settings.MODEL_PRICES = [f"{MODEL}=10/20"]
    settings.MODEL_FOR = "all"


def operators(workspace: Workspace) -> TableCallStore:
    return TableCallStore(workspace.pk, is_installation=True)


def spent(kind: CapKind, subject: object = "") -> Decimal:
    found = InstallationSpending.objects.filter(kind=kind, subject=str(subject)).first()
    return found.spent if found else Decimal(0)


def a_workspace_of(owner: User | None, name: str = "Mine") -> Workspace:
    return people_services.workspace_create(name=name, owner=owner)


# --- one limit at a time --------------------------------------------------------------------------
def test_a_call_reserves_its_most_and_is_charged_its_cost_under_every_limit():
    owner = rows.make_user("Ada")
    workspace = a_workspace_of(owner)
    store = operators(workspace)

    ids = store.open_calls([a_call()])
    subjects = ((CapKind.WORKSPACE, workspace.pk), (CapKind.PERSON, owner.pk), (CapKind.TOTAL, ""))
    reserved = [spent(kind, subject) for kind, subject in subjects]
    store.settle(ids, [an_outcome()])

    assert reserved == [MOST] * 3
    assert [spent(kind, subject) for kind, subject in subjects] == [REAL] * 3
    [row] = ledger(workspace)
    assert (row.is_installation, row.payer_id, row.cost) == (True, owner.pk, REAL)


@pytest.mark.parametrize(
    ("setting", "whose"),
    [
        ("MODEL_CAP_WORKSPACE", "for this workspace"),
        ("MODEL_CAP_PERSON", "for all workspaces of this workspace's owner"),
        ("MODEL_CAP_TOTAL", "for all workspaces together"),
    ],
)
def test_a_call_beyond_a_limit_is_not_opened_and_says_whose_it_is(settings, setting, whose):
    workspace = a_workspace_of(rows.make_user("Ada"))
    setattr(settings, setting, Decimal("0.02"))
    store = operators(workspace)
    [pk] = store.open_calls([a_call()])

    with pytest.raises(BudgetError, match=whose) as refused:
        store.open_calls([a_call("k2")])

    assert refused.value.code == "cap_reached"
    assert "MODEL_CAP" not in refused.value.sentence
    assert [row.pk for row in ledger(workspace)] == [pk]
    assert budget(workspace).spent == MOST
    assert {row.spent for row in InstallationSpending.objects.all()} == {MOST}


def test_a_limit_may_be_spent_to_the_last_digit_and_the_first_call_may_be_too_dear(settings):
    workspace = rows.make_workspace()
    settings.MODEL_CAP_TOTAL = MOST
    operators(workspace).open_calls([a_call()])

    settings.MODEL_CAP_WORKSPACE = MOST / 2
    with pytest.raises(BudgetError, match=r"0\.0000 of 0\.0060"):
        operators(rows.make_workspace("Other")).open_calls([a_call()])


def test_a_person_with_two_workspaces_meets_their_limit(settings):
    ada, bert = rows.make_user("Ada"), rows.make_user("Bert")
    settings.MODEL_CAP_PERSON = 3 * MOST
    first, second = a_workspace_of(ada, "First"), a_workspace_of(ada, "Second")

    operators(first).open_calls([a_call("k1"), a_call("k2")])
    operators(second).open_calls([a_call()])
    with pytest.raises(BudgetError, match="this workspace's owner"):
        operators(second).open_calls([a_call("k2")])

    operators(a_workspace_of(bert, "Third")).open_calls([a_call()])
    assert (spent(CapKind.PERSON, ada.pk), spent(CapKind.PERSON, bert.pk)) == (3 * MOST, MOST)


def test_what_was_reserved_for_one_owner_is_given_back_to_that_owner():
    ada, bert = rows.make_user("Ada"), rows.make_user("Bert")
    workspace = a_workspace_of(ada)
    store = operators(workspace)
    ids = store.open_calls([a_call()])
    people_services.member_add(workspace=workspace, user=bert, role=Role.OWNER)
    people_services.member_add(workspace=workspace, user=ada, role=Role.ADMIN)

    store.settle(ids, [CallOutcome(None, "endpoint_down")])
    store.open_calls([a_call("k2")])

    assert (spent(CapKind.PERSON, ada.pk), spent(CapKind.PERSON, bert.pk)) == (0, MOST)


def test_a_new_month_begins_at_nothing(settings):
    settings.MODEL_CAP_WORKSPACE = MOST
    workspace = rows.make_workspace()
    operators(workspace).open_calls([a_call()])
    InstallationSpending.objects.update(month=timezone.localdate() - timedelta(days=40))

    assert len(operators(workspace).open_calls([a_call("k2")])) == 1


def test_the_money_of_a_lost_call_is_given_to_a_call_that_needs_it(settings):
    settings.MODEL_CAP_TOTAL = MOST
    workspace = rows.make_workspace()
    operators(workspace).open_calls([a_call()])
    with pytest.raises(BudgetError):
        operators(workspace).open_calls([a_call("k2")])

    with access.in_workspace(workspace.pk):
        made = timezone.now() - timedelta(days=1, minutes=1)
        ModelCall.objects.in_workspace(workspace).update(created_at=made)
    InstallationSpending.objects.update(month=timezone.localdate(made).replace(day=1))

    assert len(operators(workspace).open_calls([a_call("k2")])) == 1


# --- what a workspace can do about it: nothing ----------------------------------------------------
def test_a_workspaces_own_price_does_not_make_the_operators_model_free(settings):
    settings.MODEL_CAP_TOTAL = MOST
    workspace = rows.make_workspace()
    set_price(workspace, prompt=0)
    services.budget_set(workspace=workspace, cap=None)
    operators(workspace).open_calls([a_call()])

    with pytest.raises(BudgetError):
        operators(workspace).open_calls([a_call("k2")])


def test_a_model_without_the_operators_price_is_not_called_under_a_limit(settings):
    settings.MODEL_CAP_TOTAL, settings.MODEL_PRICES = Decimal(10), []

    with pytest.raises(BudgetError, match="has no price for its model small-1"):
        operators(rows.make_workspace()).open_calls([a_call()])


def test_the_workspaces_own_budget_holds_beside_the_limits():
    workspace = rows.make_workspace()
    services.budget_set(workspace=workspace, cap=MOST)
    operators(workspace).open_calls([a_call()])

    with pytest.raises(BudgetError, match="The workspace's budget") as refused:
        operators(workspace).open_calls([a_call("k2")])

    assert refused.value.code == "budget_spent"


def test_calls_to_a_workspaces_own_endpoint_count_under_no_limit(settings):
    settings.MODEL_CAP_TOTAL = Decimal(0)
    workspace = rows.make_workspace()
    set_price(workspace)

    store = TableCallStore(workspace.pk)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    assert not InstallationSpending.objects.exists()


def test_deleting_a_workspace_gives_its_person_nothing_back(settings):
    ada = rows.make_user("Ada")
    settings.MODEL_CAP_PERSON = MOST
    first = a_workspace_of(ada, "First")
    operators(first).open_calls([a_call()])
    with access.in_workspace(first.pk):
        ModelCall.objects.in_workspace(first).delete()

    with pytest.raises(BudgetError):
        operators(a_workspace_of(ada, "Second")).open_calls([a_call()])


# --- workers at once ------------------------------------------------------------------------------
def opened_by(workspace: Workspace, opened: list[int], *, settles: bool) -> Callable[[], None]:
    def work() -> None:
        store = operators(workspace)
        for number in range(3):
            try:
                ids = store.open_calls([a_call(f"k{number}")])
            except BudgetError:
                continue
            if settles:
                store.settle(ids, [an_outcome()])
            opened.append(1)
        connection.close()

    return work


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("settles", [False, True])
def test_ten_workers_in_two_workspaces_never_exceed_a_limit(settings, settles: bool):
    ada = rows.make_user("Ada")
    places = [a_workspace_of(ada, "First"), a_workspace_of(ada, "Second")]
    settings.MODEL_CAP_PERSON, settings.MODEL_CAP_TOTAL = 5 * MOST, 6 * MOST
    settings.MODEL_CAP_WORKSPACE = 4 * MOST
    opened: list[int] = []
    threads = [
        threading.Thread(target=opened_by(places[number % 2], opened, settles=settles))
        for number in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    total = sum(row.cost for place in places for row in ledger(place))
    assert spent(CapKind.PERSON, ada.pk) == spent(CapKind.TOTAL) == total <= 5 * MOST
    assert all(spent(CapKind.WORKSPACE, place.pk) <= 4 * MOST for place in places)
    assert len(opened) == sum(len(ledger(place)) for place in places) >= 5


def in_a_process(database: dict[str, Any], workspace_id: Any, found: Any) -> None:
    """Open calls until the limit; report how many."""
    connections.close_all()
    connections.databases["default"].update(database)
    store, opened = TableCallStore(workspace_id, is_installation=True), 0
    for number in range(4):
        try:
            store.open_calls([a_call(f"k{number}")])
            opened += 1
        except BudgetError:
            break
    connections.close_all()
    found.put(opened)


@pytest.mark.django_db(transaction=True)
def test_several_processes_never_exceed_a_limit(settings):
    workspace = rows.make_workspace()
    settings.MODEL_CAP_TOTAL = 5 * MOST
    connections.close_all()
    context = multiprocessing.get_context("fork")
    found = context.Queue()
    values = (dict(connections.databases["default"]), workspace.pk, found)
    processes = [context.Process(target=in_a_process, args=values) for _ in range(4)]
    for process in processes:
        process.start()
    opened = [found.get(timeout=PATIENCE) for _ in processes]
    for process in processes:
        process.join(PATIENCE)

    assert sum(opened) == 5
    assert spent(CapKind.TOTAL) == 5 * MOST


# --- what is shown --------------------------------------------------------------------------------
@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def limits_for(cast: rows.Cast, user: User) -> dict[str, tuple[Any, bool]]:
    answer = client(user).get(address(cast.workspace, "usage/")).json()
    return {one["kind"]: (one["spent"], one["is_reached"]) for one in answer["caps"]}


@pytest.mark.usefixtures("fake_embedder")
def test_people_see_the_limits_but_not_what_others_spend(cast, settings):
    settings.MODEL_CAP_WORKSPACE = settings.MODEL_CAP_PERSON = settings.MODEL_CAP_TOTAL = MOST
    operators(cast.workspace).open_calls([a_call()])

    reserved = f"{MOST:.10f}"
    assert limits_for(cast, cast.alice) == {
        "workspace": (reserved, True),
        "person": (reserved, True),
        "total": (None, True),
    }
    assert limits_for(cast, cast.bob)["person"] == (None, True)
    assert client(cast.charlie).get(address(cast.workspace, "usage/")).status_code == 404


@pytest.mark.usefixtures("fake_embedder")
def test_the_usage_page_shows_the_limits(cast, settings):
    settings.MODEL_CAP_WORKSPACE, settings.MODEL_CAP_TOTAL = Decimal(2), MOST
    store = operators(cast.workspace)
    store.settle(store.open_calls([a_call()]), [an_outcome()])

    shown = signed_in(cast.bob).get(f"/w/{cast.workspace.slug}/usage/").content.decode()

    assert "Monthly limits of this installation" in shown
    assert "for this workspace" in shown
    assert "for all workspaces together" in shown


@pytest.mark.usefixtures("fake_embedder")
def test_no_limits_are_shown_where_they_do_not_apply(cast, settings):
    settings.MODEL_CAP_WORKSPACE, settings.MODEL_FOR = Decimal(2), "listed"

    assert limits_for(cast, cast.alice) == {}


def test_the_command_line_shows_everything(settings):
    settings.MODEL_CAP_TOTAL = Decimal(1)
    workspace = rows.make_workspace()
    operators(workspace).open_calls([a_call()])

    with access.in_workspace(workspace.pk):
        [use] = caps.caps_of(workspace=workspace, viewer=None)

    assert (use.kind, use.spent, use.percent) == (CapKind.TOTAL, MOST, 1)
