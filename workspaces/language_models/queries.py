"""Queries for a workspace's models and reranker. Nothing here ever contains a key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from kb_project.errors import InputError
from kb_project.llm.config import DEFAULT_LIMITS
from kb_project.llm.ports import Role
from kb_project.ports import build_ports
from workspaces import access, ports, secrets
from workspaces.language_models.choice import (
    EndpointChoice,
    ModelChoice,
    RerankChoice,
    check_reachable,
    checked,
    checked_rerank_choice,
    choice_in,
    host_of,
    origin,
    rerank_choice_in,
    set_options,
)
from workspaces.language_models.providers import BY_SLUG, ListPrice, Provider, provider_at
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, RerankerKind, Workspace
from workspaces.usage.queries import offered_model


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


Tier = Literal["own", "installation", "local"]


@dataclass(frozen=True, slots=True)
class RoleModel:
    """A role's model and limits. The own ones are '' or None where the default applies."""

    role: Role
    model: str
    own: str
    max_output: int
    timeout: int
    own_max_output: int | None
    own_timeout: int | None
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelState:
    """The choice of models, and what is in effect.

    ``is_installation_withheld``: there is one, and the operator has not allowed it here.
    ``only_answers``: the model that is used writes answers and does nothing else.
    """

    tier: Tier
    choice: ModelChoice
    host: str
    model: str
    has_key: bool
    key_hint: str
    support: dict[str, bool]
    tuning: dict[str, object]
    roles: tuple[RoleModel, ...]
    has_installation_model: bool
    is_installation_withheld: bool
    only_answers: bool

    @property
    def models(self) -> list[str]:
        """Every chat model that may be called, without repeats."""
        if self.tier == "local":
            return []
        return sorted({role.model for role in self.roles if role.model})


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """``model`` makes the vectors searched now; ``building`` is the index that will replace it.

    ``own_local`` is the name of the installation's local model.
    """

    model: str
    dimension: int
    is_local: bool
    own_local: str
    active: EmbeddingIndex | None
    building: EmbeddingIndex | None


def model_state(*, workspace: Workspace) -> ModelState:
    return _state_in(ports.settings_of(workspace.pk) or ModelSettings())


def _state_in(row: ModelSettings) -> ModelState:
    choice = choice_in(row)
    tier: Tier = "installation" if ports.uses_installation(row) else "local"
    if row.endpoint:
        tier = "own"
    model = offered_model(choice.model) if tier == "installation" else choice.model
    endpoint = settings.MODEL_ENDPOINT if tier == "installation" else choice.endpoint
    return ModelState(
        tier=tier,
        choice=choice,
        host=host_of(endpoint),
        model=model,
        has_key=bool(row.sealed_key),
        key_hint=row.key_hint,
        support=dict(row.support),
        tuning=dict(row.tuning),
        roles=tuple(_role(role, choice, model, tier) for role in Role),
        has_installation_model=ports.installation_is_allowed(row),
        is_installation_withheld=(
            ports.installation_has_model() and not ports.installation_is_allowed(row)
        ),
        only_answers=ports.only_writes_answers(row),
    )


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What helps to fill in the settings: of the provider that a person ``picked``, or else of the
    one at the endpoint. ``prices`` are those that it lists and that are not set.
    """

    provider: Provider | None
    picked: Provider | None
    prices: dict[str, ListPrice]


def suggestions(*, state: ModelState, slug: str, priced: Collection[str]) -> Suggestions:
    """Suggest all listed prices of a provider that was picked, or else those of models in use."""
    picked = BY_SLUG.get(slug)
    provider = picked or provider_at(state.choice.endpoint)
    prices = provider.prices if provider else {}
    return Suggestions(
        provider,
        picked,
        {
            model: price
            for model, price in prices.items()
            if model not in priced and (picked or model in state.models)
        },
    )


def embedding_state(*, workspace: Workspace) -> EmbeddingState:
    active = ports.index_of(workspace.pk, IndexState.ACTIVE)
    local = build_ports().embedder
    name = local.fingerprint.split("/")[0]
    is_local = active is None or active.provider == ports.LOCAL
    return EmbeddingState(
        model=name if active is None or is_local else active.model,
        dimension=local.dimension if active is None or is_local else active.dimension,
        is_local=is_local,
        own_local=name,
        active=active,
        building=ports.index_of(workspace.pk, IndexState.BUILDING),
    )


def _role(role: Role, choice: ModelChoice, model: str, tier: Tier) -> RoleModel:
    own = choice.role_models.get(role, "")
    if own and tier == "installation":
        own = offered_model(own)
    limits = choice.limits.get(role, {})
    max_output, timeout = limits.get("max_output"), limits.get("timeout")
    usual = DEFAULT_LIMITS[role]
    return RoleModel(
        role=role,
        model=own or model,
        own=own,
        max_output=int(max_output or usual.max_output),
        timeout=int(timeout or usual.timeout),
        own_max_output=None if max_output is None else int(max_output),
        own_timeout=None if timeout is None else int(timeout),
        parameters={} if tier == "installation" else choice.parameters.get(role, {}),
    )


@dataclass(frozen=True, slots=True)
class RerankerState:
    """``model`` is the one in effect, '' if nothing is reranked; ``has_chat`` says whether the chat
    model can be chosen.
    """

    choice: RerankChoice
    model: str
    host: str
    has_key: bool
    key_hint: str
    has_chat: bool

    @property
    def is_on(self) -> bool:
        return bool(self.model)


def reranker_state(*, workspace: Workspace) -> RerankerState:
    row = ports.settings_of(workspace.pk) or ModelSettings()
    choice, chat = rerank_choice_in(row), _judge_in(row)
    in_force = {RerankerKind.ENDPOINT: choice.model, RerankerKind.MODEL: chat}
    return RerankerState(
        choice=choice,
        model=in_force.get(choice.kind, ""),
        host=host_of(choice.endpoint),
        has_key=bool(row.rerank_sealed_key),
        key_hint=row.rerank_key_hint,
        has_chat=bool(chat),
    )


def _judge_in(row: ModelSettings) -> str:
    """Return the judge's model, '' without one. Needs no key, which may be unreadable."""
    state = _state_in(row)
    judges = (one.model for one in state.roles if one.role is Role.JUDGE)
    return "" if state.tier == "local" else next(judges, "")
