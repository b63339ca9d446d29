from __future__ import annotations

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from kb_project.llm.ports import Role, StoredReply
from tests import rows
from tests.workspaces.models_rows import a_call, an_outcome, set_price
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.models import ModelCall, Workspace
from workspaces.usage import queries as usage_queries
from workspaces.usage.ledger import TableCallStore

pytestmark = pytest.mark.django_db

DOCUMENT = uuid.uuid4()


def make_usage() -> Workspace:
    """Three calls, one of them failed and one of another model, and an answer from the cache."""
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)
    calls = [
        a_call("k1", document_id=DOCUMENT),
        a_call("k2"),
        a_call("k3", model="free", role=Role.SUMMARISE, stage="reports"),
    ]
    outcomes = [an_outcome(cached=640), an_outcome(None, code="reply_invalid"), an_outcome()]
    store.settle(store.open_calls(calls), outcomes)
    store.note_cached([a_call("k1", document_id=DOCUMENT)], [StoredReply("{}", 900, 50)])
    return workspace


def test_the_total_counts_cached_calls_and_not_their_tokens():
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        total = usage_queries.usage_total(workspace=workspace)

    assert (total.calls, total.cached, total.failed) == (4, 1, 1)
    assert (total.prompt_tokens, total.completion_tokens, total.tokens) == (2700, 150, 2850)
    assert total.cost == Decimal("0.02")
    assert total.cached_tokens == 640


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("stage", [("extract", 3), ("reports", 1)]),
        ("role", [("extract", 3), ("summarise", 1)]),
        ("model", [("small-1", 3), ("free", 1)]),
        ("document", [(str(DOCUMENT), 2)]),
    ],
)
def test_usage_is_told_by_what_it_was_for(by, expected):
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        lines = usage_queries.usage_by(workspace=workspace, by=by)

    assert [(line.name, line.calls) for line in lines] == expected


def test_usage_is_told_by_day():
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        [line] = usage_queries.usage_by(workspace=workspace, by="day")

    assert line.calls == 4
    assert len(line.name) == len("2026-01-31")


def test_a_document_knows_what_it_cost():
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        usage = usage_queries.usage_of_document(workspace=workspace, document_id=DOCUMENT)
        none = usage_queries.usage_of_document(workspace=workspace, document_id=uuid.uuid4())

    assert (usage.calls, usage.cached, usage.cost) == (2, 1, Decimal("0.01"))
    assert (none.calls, none.cost) == (0, 0)


def test_without_a_budget_the_ledger_says_what_was_spent():
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        spending = usage_queries.spending_of(workspace=workspace)

    assert (spending.cap, spending.spent, spending.left, spending.percent) == (None, 0, None, 0)


def test_calls_whose_end_is_unknown_are_told_apart_from_those_under_way():
    workspace = rows.make_workspace()
    set_price(workspace)
    store = TableCallStore(workspace.pk)
    [crashed, _] = store.open_calls([a_call("crashed"), a_call("under way")])
    with access.in_workspace(workspace.pk):
        long_ago = timezone.now() - timedelta(hours=5)
        ModelCall.objects.in_workspace(workspace).filter(pk=crashed).update(created_at=long_ago)

        spending = usage_queries.spending_of(workspace=workspace)

    assert (spending.lost, spending.lost_cost) == (1, spending.spent / 2)
    page = render_to_string("workspaces/spending.html", {"spending": spending})
    assert "1 call whose end is unknown" in " ".join(page.split())


@pytest.mark.parametrize(("cap", "percent", "left"), [("0.04", 50, "0.02"), ("0", 100, "0")])
def test_spending_is_told_against_the_cap(cap: str, percent: int, left: str):
    workspace = make_usage()
    language_model_services.budget_set(workspace=workspace, cap=cap)

    with access.in_workspace(workspace.pk):
        spending = usage_queries.spending_of(workspace=workspace)

    assert (spending.percent, spending.left) == (percent, Decimal(left))


def test_the_last_calls_come_newest_first():
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        calls = usage_queries.last_calls(workspace=workspace, most=2)

    assert [call.state for call in calls] == ["cached", "done"]


def test_models_without_a_price_are_named():
    workspace = make_usage()

    with access.in_workspace(workspace.pk):
        names = usage_queries.unpriced(workspace=workspace, models=["small-1", "free", "", "free"])

    assert names == ["free"]


def test_usage_of_another_workspace_is_not_counted():
    make_usage()
    other = rows.make_workspace("Other")

    with access.in_workspace(other.pk):
        assert usage_queries.usage_total(workspace=other).calls == 0
        assert usage_queries.usage_by(workspace=other, by="model") == []
