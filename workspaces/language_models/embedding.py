"""Changes the embedding model of a workspace.

A change creates a second index beside the one in use: a row in state BUILDING, which the pipeline
fills and swaps in once complete. Search continues meanwhile.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from django.db import transaction
from django_q.tasks import async_task

from kb_project.errors import ConflictError, InputError, RefusedError
from kb_project.ports import build_ports
from workspaces import access, audit, ports
from workspaces.language_models.choice import checked_model
from workspaces.language_models.services import QUEUE
from workspaces.models import AuditAction, EmbeddingIndex, IndexState, User, Workspace
from workspaces.usage.queries import offered_model

logger = logging.getLogger(__name__)

ENDPOINT: Final = "endpoint"
REEMBED: Final = "ingestion.tasks.reembed"
MOST_DIMENSIONS: Final = 4_000
"""The most dimensions pgvector can index at half precision."""


def embedding_change(
    *, workspace: Workspace, provider: str, model: str = "", user: User | None = None
) -> EmbeddingIndex:
    """Start an index with the endpoint's ``model`` or the local one. Call outside transactions.

    Calls the model once first. Raises InputError or ConflictError for an invalid choice, and the
    endpoint's error if it does not embed.
    """
    index = _local(workspace) if provider == ports.LOCAL else _at_endpoint(workspace, model)
    with access.in_workspace(workspace.pk):
        _refuse_needless(workspace, index)
        index.save(force_insert=True)
        audit.record(
            AuditAction.EMBEDDING_CHANGED,
            workspace=workspace,
            user=user,
            after={"provider": index.provider, "endpoint": index.endpoint, "model": index.model},
        )
        transaction.on_commit(partial(async_task, REEMBED, str(workspace.pk), cluster=QUEUE))
    logger.info("embedding change began workspace=%s index=%s", workspace.pk, index.pk)
    return index


def embedding_give_up(*, workspace: Workspace) -> None:
    """Abandon the index being built; the one in use stays. Raises ConflictError."""
    with access.in_workspace(workspace.pk):
        rows = EmbeddingIndex.objects.in_workspace(workspace).filter(state=IndexState.BUILDING)
        if not rows.update(state=IndexState.RETIRED):
            raise ConflictError(
                "No index is being built.", code="no_index_building", kept="Nothing was changed."
            )
        audit.record(AuditAction.EMBEDDING_KEPT, workspace=workspace, user=audit.acting(workspace))
        transaction.on_commit(partial(async_task, REEMBED, str(workspace.pk), cluster=QUEUE))
    logger.info("embedding change given up workspace=%s", workspace.pk)


def _local(workspace: Workspace) -> EmbeddingIndex:
    embedder = build_ports().embedder
    return EmbeddingIndex(
        workspace=workspace,
        provider=ports.LOCAL,
        dimension=embedder.dimension,
        fingerprint=embedder.fingerprint,
        state=IndexState.BUILDING,
    )


def _at_endpoint(workspace: Workspace, model: str) -> EmbeddingIndex:
    """Return an index of the model, which is called once: there is no other way to learn its
    vectors' dimension."""
    name = checked_model(model)
    if not name:
        raise InputError(
            "An embedding model has a name.",
            kept="Nothing was changed.",
            next_step="Enter its name at the endpoint.",
        )
    with access.in_workspace(workspace.pk):
        row = ports.settings_of(workspace.pk)
        config = ports.chat_config(workspace.pk, row)
    if config is None:
        raise ports.no_model()
    if config.is_operators and offered_model(name) != name:
        raise InputError(
            f"The installation does not offer the model {name}.",
            kept="Nothing was changed.",
            next_step="Ask your administrator to offer it, or enter an endpoint of your own first.",
        )
    index = EmbeddingIndex(
        workspace=workspace,
        provider=ports.INSTALLATION if config.is_operators else ENDPOINT,
        endpoint=config.endpoint,
        sealed_key=b"" if config.is_operators or row is None else row.sealed_key,
        model=name,
        dimension=0,
        state=IndexState.BUILDING,
    )
    with access.in_workspace(workspace.pk):
        embedder = ports.embedder_of(index, build_ports())
    index.dimension = embedder.dimension
    if not 1 <= index.dimension <= MOST_DIMENSIONS:
        raise RefusedError(
            f"The model's vectors have {index.dimension} dimensions; at most {MOST_DIMENSIONS}"
            " can be searched.",
            code="endpoint_not_a_model",
            kept="Nothing was changed.",
        )
    index.fingerprint = embedder.fingerprint
    return index


def _refuse_needless(workspace: Workspace, index: EmbeddingIndex) -> None:
    if ports.index_of(workspace.pk, IndexState.BUILDING) is not None:
        raise ConflictError(
            "Another index is already being built.",
            code="index_building",
            kept="Nothing was changed.",
            next_step="Wait until it is complete, or cancel it first.",
        )
    active = ports.index_of(workspace.pk, IndexState.ACTIVE)
    used = active.fingerprint if active else build_ports().embedder.fingerprint
    if used == index.fingerprint:
        raise ConflictError(
            "This model's vectors are the ones in use.",
            code="index_in_use",
            kept="Nothing was changed.",
        )
