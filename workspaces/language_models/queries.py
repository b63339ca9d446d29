"""Queries for a workspace's models and reranker. Nothing here ever contains a key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from kb_project.llm.config import DEFAULT_LIMITS
from kb_project.llm.ports import Role
from kb_project.ports import build_ports
from workspaces import ports
from workspaces.language_models.choice import (
    ModelChoice,
    RerankChoice,
    choice_in,
    host_of,
    rerank_choice_in,
)
from workspaces.language_models.providers import BY_SLUG, ListPrice, Provider, provider_at
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, RerankerKind, Workspace
from workspaces.usage.prices import offered_model

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
