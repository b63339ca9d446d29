"""Changes of a workspace's models, prices and budget are recorded, and never a key."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from pytest_django import Settings

from tests import rows
from workspaces import access
from workspaces.language_models import services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import AuditEvent, Capability, Workspace

pytestmark = pytest.mark.django_db

KEY = "sk-0123456789abcdef"


@pytest.fixture
def workspace(settings: Settings) -> Workspace:
    settings.MODEL_HOSTS_ALLOWED = ["models.example.com"]
    cast = rows.make_cast()
    return access.workspace_with(
        Capability.ADMINISTER, user=cast.alice, workspace_id=cast.workspace.pk
    )


def last(workspace: Workspace) -> AuditEvent:
    with access.in_workspace(workspace.pk):
        found = AuditEvent.objects.in_workspace(workspace).order_by("-created_at").first()
    assert found is not None
    return found


def test_a_new_model_is_recorded_with_who_chose_it(workspace: Workspace):
    choice = ModelChoice(endpoint="https://models.example.com/v1", model="m", key=KEY)

    alice = rows.make_user("Alice")
    services.model_settings_save(workspace=workspace, choice=choice, user=alice)

    event = last(workspace)
    assert (event.action, event.actor) == ("models_changed", "Alice")
    assert event.before["endpoint"] == ""
    assert event.after["endpoint"] == "https://models.example.com/v1"
    assert event.after["key"] == "entered"
    assert KEY not in str(event.after)


def test_only_what_changed_is_recorded(workspace: Workspace):
    choice = ModelChoice(endpoint="https://models.example.com/v1", model="m", key=KEY)
    services.model_settings_save(workspace=workspace, choice=choice)
    changed = replace(choice, key=None, gleanings=2)

    services.model_settings_save(workspace=workspace, choice=changed)
    services.model_settings_save(workspace=workspace, choice=changed)

    with access.in_workspace(workspace.pk):
        events = AuditEvent.objects.in_workspace(workspace).filter(action="models_changed")
        assert events.count() == 2
    assert list(last(workspace).after) == ["gleanings"]


def test_prices_and_budget_are_recorded_with_what_was_before(workspace: Workspace):
    services.prices_set(
        workspace=workspace, prices=[PriceGiven("m", Decimal("0.10"), Decimal(100))]
    )
    assert last(workspace).after == {"m": "0.1/100/0.1"}

    services.budget_set(workspace=workspace, cap="20.00")
    assert (last(workspace).before, last(workspace).after) == ({"cap": None}, {"cap": "20"})

    services.cache_clear(workspace=workspace)
    assert last(workspace).after == {"role": "all", "replies": 0}


def test_a_command_is_recorded_as_the_server():
    workspace = rows.make_workspace()

    services.budget_set(workspace=workspace, cap="5")

    assert (last(workspace).actor, last(workspace).via) == ("Concordance", "command")
