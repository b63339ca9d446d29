"""Changes of models, prices and budgets are recorded with who made them, and without keys."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests import rows
from tests.api import address, client
from tests.workspaces.models_rows import ENDPOINT, KEY
from workspaces import access
from workspaces.language_models import services
from workspaces.models import AuditEvent

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

PRICES = [{"model": "m", "prompt": "1", "completion": "2"}]
RERANKER = {"kind": "endpoint", "endpoint": ENDPOINT, "model": "m", "key": KEY}
CHANGES: list[tuple[str, Any, str, dict[str, Any]]] = [
    (
        "models/",
        {"endpoint": ENDPOINT, "model": "m", "key": KEY, "gleanings": 2},
        "models_changed",
        {"endpoint": ENDPOINT, "model": "m", "key": "entered", "gleanings": 2},
    ),
    (
        "reranker/",
        RERANKER,
        "reranker_changed",
        {"kind": "endpoint", "endpoint": ENDPOINT, "model": "m", "key": "entered"},
    ),
    ("prices/", PRICES, "prices_changed", {"m": "1/2/1"}),
    ("budget/", {"cap": "2.50"}, "budget_changed", {"cap": "2.5"}),
]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def events(cast: rows.Cast) -> list[AuditEvent]:
    with access.in_workspace(cast.workspace.pk):
        found = AuditEvent.objects.in_workspace(cast.workspace).exclude(action="workspace_created")
        return list(found.order_by("created_at"))


def put(cast: rows.Cast, path: str, body: Any) -> None:
    answer = client(cast.alice).put(address(cast.workspace, path), body, format="json")
    assert answer.status_code == 200, answer.json()


@pytest.mark.parametrize(("path", "body", "action", "after"), CHANGES)
def test_a_change_is_recorded_with_who_made_it_and_what_it_was(cast, path, body, action, after):
    put(cast, path, body)

    [event] = events(cast)
    assert (event.action, event.user_id, event.after) == (action, cast.alice.pk, after)
    assert KEY not in json.dumps([event.before, event.after, event.object_name])


@pytest.mark.parametrize(("path", "body"), [change[:2] for change in CHANGES[2:]])
def test_what_changes_nothing_is_not_recorded(cast, path, body):
    put(cast, path, body)
    put(cast, path, body)

    assert len(events(cast)) == 1


def test_only_what_changed_is_recorded(cast):
    put(cast, "models/", CHANGES[0][1])
    put(cast, "models/", {"key": "", "model": "n"})

    event = events(cast)[-1]
    assert event.before == {"model": "m", "key": "stored"}
    assert event.after == {"model": "n", "key": "none"}


def test_what_a_command_does_is_recorded_as_the_servers(cast):
    services.budget_set(workspace=cast.workspace, cap=Decimal(3))
    services.installation_model_allow(workspace=cast.workspace, is_allowed=True)

    assert [(event.action, event.actor, event.user_id) for event in events(cast)] == [
        ("budget_changed", "Concordance", None),
        ("installation_model_set", "Concordance", None),
    ]
    assert events(cast)[-1].after == {"is_allowed": True}
