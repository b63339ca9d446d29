"""The ports of a workspace: the process's own, with the models the workspace chose."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings

from kb_project.errors import ConflictError, PauseError, RefusedError
from kb_project.llm.capabilities import Support
from kb_project.llm.chat import build_chat
from kb_project.llm.config import DEFAULT_LIMITS, ChatConfig, RoleLimits
from kb_project.llm.embedders import EndpointEmbedder, InstallationEmbedder
from kb_project.llm.ports import ChatModel, Embedder, ModelOptions, Reranker, Role
from kb_project.llm.rerankers import BrokenReranker, EndpointReranker, ListwiseReranker
from kb_project.ports import Ports, build_ports
from kb_project.sql import run_sql
from workspaces import access, secrets, sql
from workspaces.editions import source_id
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, RerankerKind
from workspaces.usage.ledger import TableCallStore
from workspaces.usage.queries import offered_model

LOCAL: Final = "local"
INSTALLATION: Final = "installation"
MOST_KEPT: Final = 200
"""Workspaces whose ports a thread caches."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """``digests`` change with the workspace's choice without revealing it."""

    ports: Ports
    digests: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """Cached ports; stale once ``choice`` differs from the stored choice, or ``base`` from the
    settings.
    """

    choice: tuple[Any, ...]
    base: Ports
    ports: Ports


class _ThreadCache(threading.local):
    """A thread's cached ports: a chat model is not shared between threads."""

    def __init__(self) -> None:
        self.kept: OrderedDict[uuid.UUID, _Kept] = OrderedDict()


_cache = _ThreadCache()
_local: dict[uuid.UUID, _Kept] = {}
"""Ports without a workspace's own models, which threads can share without contention."""


def ports_for(workspace_id: uuid.UUID) -> Ports:
    """Return the ports the workspace's settings name; the local tier without a model.

    One small SELECT per call while nothing has changed. Raises RefusedError if the endpoint's
    stored key can no longer be read.
    """
    return chosen_for(workspace_id).ports


def chosen_for(workspace_id: uuid.UUID) -> Chosen:
    """Return the ports with the digests of the choice. Raises RefusedError as above, and
    PauseError if the workspace was deleted: no work goes on in it.
    """
    base, workspace_id = build_ports(), source_id(workspace_id)
    with access.in_workspace(workspace_id):
        [(*found, is_deleted)] = run_sql(sql.MODEL_CHOICE, {"workspace": workspace_id})
        if is_deleted:
            raise workspace_deleted()
        row = tuple(found)
        choice = (*row, *_installation())
        kept = _cache.kept.get(workspace_id) or _local.get(workspace_id)
        if kept and kept.choice == choice and kept.base is base:
            return Chosen(kept.ports, row)
        ports = _build(workspace_id, base)
    _keep(workspace_id, _Kept(choice, base, ports))
    return Chosen(ports, row)


def chat_config(workspace_id: uuid.UUID, row: ModelSettings | None) -> ChatConfig | None:
    """Return the chat models' configuration, or None on the local tier."""
    row = row or ModelSettings(workspace_id=workspace_id)
    server = _chat_server(row)
    if server is None:
        return None
    endpoint, key, model = server
    is_operators = uses_installation(row)
    window, concurrency = row.context_window, row.concurrency
    if is_operators:
        window = _at_most(settings.MODEL_CONTEXT_WINDOW, window)
        concurrency = _at_most(settings.MODEL_CONCURRENCY, concurrency)
    offered = offered_model if is_operators else str
    return ChatConfig(
        endpoint=endpoint,
        key=key,
        model=offered(model),
        is_operators=is_operators,
        models={Role(role): offered(name) for role, name in row.role_models.items()},
        limits={Role(role): _limits(Role(role), found) for role, found in row.limits.items()},
        # The operator pays for the installation's model: a parameter may change the price.
        parameters={} if is_operators else {Role(r): found for r, found in row.parameters.items()},
        concurrency=concurrency,
        context_window=window,
        support=Support.from_dict(row.support) if row.support else None,
    )


def uses_installation(row: ModelSettings | None) -> bool:
    """Whether the chat model is the one the installation offers to every workspace."""
    is_own = row is not None and bool(row.endpoint or row.is_local)
    return not is_own and installation_is_allowed(row)


def only_writes_answers(row: ModelSettings | None) -> bool:
    """Whether the operator has the installation's model, which is used here, write answers only."""
    return settings.MODEL_WORK == "answers" and uses_installation(row)


def installation_has_model() -> bool:
    return bool(settings.MODEL_ENDPOINT and settings.MODEL_NAME) and settings.MODEL_FOR != "none"


def installation_is_allowed(row: ModelSettings | None) -> bool:
    """Whether the operator lets the workspace use the installation's model."""
    is_listed = row is not None and row.may_use_installation
    return installation_has_model() and (
        settings.MODEL_FOR == "all" or (settings.MODEL_FOR == "listed" and is_listed)
    )


def _installation() -> tuple[Any, ...]:
    """Return what the operator sets about the installation's model."""
    return (
        settings.MODEL_ENDPOINT,
        settings.MODEL_KEY,
        settings.MODEL_NAME,
        settings.MODEL_FOR,
        settings.MODEL_WORK,
        settings.MODEL_CONTEXT_WINDOW,
        settings.MODEL_CONCURRENCY,
        tuple(settings.MODEL_PRICES),
    )


def settings_of(workspace_id: uuid.UUID) -> ModelSettings | None:
    """Return the workspace's row."""
    with access.in_workspace(source_id(workspace_id)):
        return ModelSettings.objects.in_workspace(source_id(workspace_id)).first()


def index_of(workspace_id: uuid.UUID, state: IndexState) -> EmbeddingIndex | None:
    """Return the workspace's index in that state; call in its scope."""
    return EmbeddingIndex.objects.in_workspace(workspace_id).filter(state=state).first()


def workspace_deleted() -> PauseError:
    return PauseError(
        "This workspace was deleted.",
        code="workspace_deleted",
        kept="Everything in it is kept until it is purged.",
        next_step="Work continues if an owner restores it.",
    )


def no_model() -> ConflictError:
    return ConflictError(
        "This workspace works on the local tier: it has no language model.",
        code="no_model",
        kept="Nothing was changed.",
        next_step="An admin can set one up on the page Models.",
    )


def _keep(workspace_id: uuid.UUID, built: _Kept) -> None:
    kept = _cache.kept
    if replace(built.ports, options=built.base.options) == built.base:
        kept.pop(workspace_id, None)
        if len(_local) >= MOST_KEPT:
            _local.clear()
        _local[workspace_id] = built
        return
    kept[workspace_id] = built
    kept.move_to_end(workspace_id)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)


def _build(workspace_id: uuid.UUID, base: Ports) -> Ports:
    row = settings_of(workspace_id)
    active = index_of(workspace_id, IndexState.ACTIVE)
    building = index_of(workspace_id, IndexState.BUILDING)
    model = _chat(workspace_id, row)
    chat = None if only_writes_answers(row) else model
    return replace(
        base,
        chat=chat,
        answer_chat=None if chat else model,
        reranker=_reranker(row, chat) if row else None,
        options=_options(row),
        embedder=embedder_of(active, base) if active else base.embedder,
        next_embedder=embedder_of(building, base) if building else None,
    )


def reranker_in(row: ModelSettings) -> Reranker | None:
    """Build the reranker that a workspace's settings name, saved or not."""
    chat = None if only_writes_answers(row) else _chat(row.workspace_id, row)
    return _reranker(row, chat)


def _chat(workspace_id: uuid.UUID, row: ModelSettings | None) -> ChatModel | None:
    config = chat_config(workspace_id, row)
    if config is None:
        return None
    store = TableCallStore(
        workspace_id, endpoint=config.endpoint, is_installation=config.is_operators
    )
    return build_chat(config, store)


def _reranker(row: ModelSettings, chat: ChatModel | None) -> Reranker | None:
    """Build the reranker; None without a chat model to rerank with, though the choice
    stays stored.
    """
    if row.reranker == RerankerKind.MODEL:
        return ListwiseReranker(chat) if chat else None
    if row.reranker != RerankerKind.ENDPOINT:
        return None
    try:
        key = secrets.unseal(row.rerank_sealed_key, row.workspace_id)
    except RefusedError as error:
        return BrokenReranker(row.rerank_model, error)
    return EndpointReranker(
        endpoint=row.rerank_endpoint,
        key=key,
        model=row.rerank_model,
        store=TableCallStore(row.workspace_id),
    )


def _chat_server(row: ModelSettings) -> tuple[str, str, str] | None:
    """Return endpoint, key and model. The installation's key goes to the installation's endpoint
    only.
    """
    if row.endpoint:
        return row.endpoint, secrets.unseal(row.sealed_key, row.workspace_id), row.model
    if uses_installation(row):
        return settings.MODEL_ENDPOINT, settings.MODEL_KEY, row.model or settings.MODEL_NAME
    return None


def _at_most(limit: int, number: int) -> int:
    """Return the number, or the limit if it is smaller; 0 is no limit."""
    return min(limit, number) if limit else number


def _limits(role: Role, found: dict[str, float]) -> RoleLimits:
    usual = DEFAULT_LIMITS[role]
    return RoleLimits(
        max_output=int(found.get("max_output", usual.max_output)),
        timeout=float(found.get("timeout", usual.timeout)),
    )


def _options(row: ModelSettings | None) -> ModelOptions:
    if row is None:
        return ModelOptions()
    tuning: dict[str, Any] = row.tuning
    return ModelOptions(
        gleanings=row.gleanings,
        wants_claims=row.wants_claims,
        allows_general=row.allows_general,
        wants_judge=row.wants_judge,
        local_extraction=row.local_extraction,
        instructions=row.instructions,
        entity_types=tuple(row.entity_types),
        domain=str(tuning.get("domain", "")),
        language=str(tuning.get("language", "")),
        examples=tuple(str(example) for example in tuning.get("examples", ())),
        persona=str(tuning.get("persona", "")),
        report_rating=str(tuning.get("report_rating", "")),
        report_language=str(tuning.get("report_language", "")),
    )


def embedder_of(index: EmbeddingIndex, base: Ports) -> Embedder:
    """Return the embedder of an index; call in the workspace's scope."""
    if index.provider == LOCAL:
        return base.embedder
    found: dict[str, Any] = {
        "endpoint": index.endpoint,
        "model": index.model,
        "dimension": index.dimension,
    }
    if index.provider == INSTALLATION:
        return _installation_embedder(index.workspace_id, found)
    return EndpointEmbedder(key=secrets.unseal(index.sealed_key, index.workspace_id), **found)


def _installation_embedder(workspace_id: uuid.UUID, found: dict[str, Any]) -> Embedder:
    """Return an embedder at the installation's endpoint, which counts its calls.

    Without permission, and for an index from a former endpoint, it has no key and no more rights
    than an address that people enter.
    """
    is_allowed = installation_is_allowed(settings_of(workspace_id))
    if not is_allowed or found["endpoint"] != settings.MODEL_ENDPOINT:
        return EndpointEmbedder(key="", **found)
    store = TableCallStore(workspace_id, is_installation=True)
    return InstallationEmbedder(key=settings.MODEL_KEY, store=store, **found)
