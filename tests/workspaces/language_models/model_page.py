"""The Models page of the workspace that ``rows.make_cast`` makes: what it shows and is sent."""

from __future__ import annotations

from tests import rows
from tests.workspaces.models_rows import ENDPOINT, KEY
from tests.workspaces.pages import address, signed_in
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelSettings, User


def page(user: User, name: str = "model_settings", query: str = "") -> str:
    response = signed_in(user).get(address(name) + query)
    assert response.status_code == 200
    return response.content.decode()


def form(**changes: object) -> dict[str, object]:
    """What the form sends: numbers always, the rest when filled in."""
    sent: dict[str, object] = {
        "endpoint": ENDPOINT,
        "model": "small-1",
        "context_window": 16000,
        "concurrency": 8,
        "gleanings": 1,
    }
    return sent | changes


def stored(cast: rows.Cast) -> ModelSettings | None:
    with access.in_workspace(cast.workspace.pk):
        return ModelSettings.objects.in_workspace(cast.workspace).first()


def choose(cast: rows.Cast, endpoint: str = ENDPOINT) -> None:
    choice = ModelChoice(endpoint=endpoint, model="test-model", key=KEY)
    language_model_services.model_settings_save(workspace=cast.workspace, choice=choice)


def prices(*lines: tuple[str, ...]) -> dict[str, object]:
    sent: dict[str, object] = {"prices-TOTAL_FORMS": len(lines), "prices-INITIAL_FORMS": 0}
    for number, line in enumerate(lines):
        for name, value in zip(("model", "prompt", "completion"), line, strict=True):
            sent[f"prices-{number}-{name}"] = value
    return sent
