"""A choice of models or of a reranker as the workspace's row, saved or not."""

from __future__ import annotations

from kb_project.errors import InputError
from workspaces import access, ports, secrets
from workspaces.language_models.choice import (
    EndpointChoice,
    ModelChoice,
    RerankChoice,
    check_reachable,
    checked,
    checked_rerank_choice,
    origin,
    set_options,
)
from workspaces.models import ModelSettings, RerankerKind, Workspace
from workspaces.usage.prices import offered_model


def row_to_change(workspace: Workspace) -> ModelSettings:
    """Return the workspace's row, locked, creating it if missing."""
    ModelSettings.objects.get_or_create(workspace=workspace)
    return ModelSettings.objects.in_workspace(workspace).select_for_update().get()


def unsaved_settings(*, workspace: Workspace, choice: ModelChoice | RerankChoice) -> ModelSettings:
    """Return the row that saving the choice would leave, without saving it.

    Raises InputError as saving does.
    """
    with access.in_workspace(workspace.pk):
        row = ports.settings_of(workspace.pk) or ModelSettings(workspace=workspace)
        if isinstance(choice, ModelChoice):
            set_choice(row, checked(choice))
        else:
            set_reranker(row, checked_rerank_choice(choice))
    return row


def set_reranker(row: ModelSettings, choice: RerankChoice) -> None:
    """Fill in a checked choice. Raises InputError for a server that it may not name, and
    ConflictError for the chat model of a workspace without one.
    """
    if choice.kind is RerankerKind.MODEL and ports.chat_config(row.workspace_id, row) is None:
        raise ports.no_model()
    set_server(row, choice)
    row.reranker = choice.kind


def set_choice(row: ModelSettings, choice: ModelChoice) -> None:
    """Fill in a checked choice. Raises InputError for a server that it may not name."""
    if (row.endpoint, row.model) != (choice.endpoint, choice.model):
        row.support = {}
    set_server(row, choice)
    set_options(row, choice)
    _check_offered(row)


def set_server(row: ModelSettings, choice: EndpointChoice) -> None:
    """Store a choice's endpoint, model and key; a key of None keeps the old one.

    A key stays with the host it was entered for: raises InputError if a stored one would be sent
    to another; without an endpoint it goes nowhere.
    """
    endpoint, model, sealed_key, key_hint = (
        choice.PREFIX + name for name in ("endpoint", "model", "sealed_key", "key_hint")
    )
    is_kept = getattr(row, sealed_key) and choice.key is None
    if is_kept and choice.endpoint and origin(getattr(row, endpoint)) != origin(choice.endpoint):
        raise InputError(
            "The stored key was entered for another host, and is not sent elsewhere.",
            code="key_for_another_host",
            kept="Nothing was changed.",
            next_step="Enter the key of the new endpoint, or choose to remove the stored one.",
        )
    if choice.endpoint != getattr(row, endpoint):
        check_reachable(choice.endpoint)
    setattr(row, endpoint, choice.endpoint)
    setattr(row, model, choice.model)
    key = choice.key if choice.endpoint else ""
    if key is not None:
        setattr(row, sealed_key, secrets.seal(key, row.workspace_id))
        setattr(row, key_hint, secrets.hint(key))


def _check_offered(row: ModelSettings) -> None:
    """Raise InputError for a model that the operator does not offer at the installation's
    endpoint.
    """
    if not ports.uses_installation(row):
        return
    for name in filter(None, (row.model, *row.role_models.values())):
        if offered_model(name) != name:
            raise InputError(
                f"The installation does not offer the model {name}.",
                code="model_not_offered",
                kept="Nothing was changed.",
                next_step="Ask your administrator to offer it, or enter an endpoint of your own.",
            )
