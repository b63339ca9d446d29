"""Workspaces for evaluations: filled with a data set, used, and deleted afterwards.

The only part of retrieval that drives ingestion.
"""

from __future__ import annotations

import hashlib
import io
import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from django.apps import apps
from django.core.files.storage import default_storage

from ingestion.documents import services as ingestion
from ingestion.models import Document, DocumentState, DocumentVersion
from kb_project.errors import ConflictError
from retrieval.evaluation.dataset import Dataset, SourceDocument
from workspaces import access
from workspaces.models import Membership, Workspace
from workspaces.people import services as people_services
from workspaces.ports import ports_for
from workspaces.querysets import TenantQuerySet

logger = logging.getLogger(__name__)

OnProgress = Callable[[int, int], None]
NAME_LENGTH: Final = 100
NAMED: Final = "Evaluation of "
# Documents added in one transaction.
BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Filled:
    """``indices`` maps documents to their places in the data set; ``failed`` could not be read."""

    workspace: Workspace
    indices: dict[UUID, int]
    seconds: float
    is_reused: bool
    failed: int


@contextmanager
def filled_workspace(
    dataset: Dataset, *, keep: str = "", on_progress: OnProgress | None = None
) -> Iterator[Filled]:
    """Yield a workspace with the data set's documents, deleted afterwards in any case.

    ``keep`` is the slug of a workspace to keep, and to reuse as long as its documents are those of
    the data set. Raises ConflictError if that workspace was not made by an evaluation.
    """
    workspace, is_reused = _open(dataset, keep)
    try:
        started = time.perf_counter()
        if not is_reused:
            _add(workspace, dataset)
        ingestion.process_workspace(workspace=workspace, on_progress=on_progress)
        seconds = 0.0 if is_reused else time.perf_counter() - started
        yield _filled(workspace, seconds=seconds, is_reused=is_reused)
    finally:
        if not keep:
            delete(workspace)


def delete(workspace: Workspace) -> None:
    """Delete a workspace with everything in it: rows, graph and files."""
    ports_for(workspace.pk).graph.drop(workspace.pk)
    with access.in_workspace(workspace.pk):
        # Each model comes after those it refers to.
        for model in reversed([one for one in apps.get_models() if hasattr(one, "workspace")]):
            TenantQuerySet(model).in_workspace(workspace).delete()
        Workspace.objects.filter(pk=workspace.pk).delete()
    shutil.rmtree(Path(default_storage.path(str(workspace.pk))), ignore_errors=True)
    logger.info("workspace deleted workspace=%s", workspace.pk)


def _open(dataset: Dataset, keep: str) -> tuple[Workspace, bool]:
    """Return the workspace to fill, and whether it already has the documents."""
    kept = Workspace.objects.filter(slug=keep).first() if keep else None
    if kept is not None:
        _refuse_if_in_use(kept)
        if _contents(kept) == _wanted(dataset):
            return kept, True
        delete(kept)
    slug = keep or f"evaluation-{secrets.token_hex(6)}"
    name = f"{NAMED}{dataset.name}"[:NAME_LENGTH]
    return people_services.workspace_create(name=name, owner=None, slug=slug), False


def _refuse_if_in_use(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        has_members = Membership.objects.in_workspace(workspace).exists()
    if has_members or not workspace.name.startswith(NAMED):
        raise ConflictError(
            f"The workspace '{workspace.slug}' was not created by an evaluation.",
            code="workspace_in_use",
            kept="It was not changed.",
            next_step="Choose another slug for --keep.",
        )


def _add(workspace: Workspace, dataset: Dataset) -> None:
    documents = [
        ingestion.NewDocument(
            name=_file_name(index),
            title=document.title,
            content=io.BytesIO(document.text.encode()),
            filing=ingestion.Filing(chunking=_chunking(document)),
        )
        for index, document in enumerate(dataset.documents)
    ]
    for first in range(0, len(documents), BATCH):
        with access.in_workspace(workspace.pk):
            ingestion.documents_add(workspace=workspace, documents=documents[first : first + BATCH])


def _file_name(index: int) -> str:
    return f"{index:06d}.txt"


def _chunking(document: SourceDocument) -> dict[str, object]:
    if document.spans is None:
        return {}
    return {"strategy": "given", "spans": [list(span) for span in document.spans]}


def _contents(workspace: Workspace) -> dict[str, tuple[object, ...]]:
    """Return a workspace's documents, in the form of ``_wanted``."""
    with access.in_workspace(workspace.pk):
        versions = DocumentVersion.objects.in_workspace(workspace).select_related("document")
        return {
            version.document.name: (version.document.sha256, version.chunking)
            for version in versions.defer("text")
        }


def _wanted(dataset: Dataset) -> dict[str, tuple[object, ...]]:
    return {
        _file_name(index): (
            hashlib.sha256(document.text.encode()).hexdigest(),
            _chunking(document),
        )
        for index, document in enumerate(dataset.documents)
    }


def _filled(workspace: Workspace, *, seconds: float, is_reused: bool) -> Filled:
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).values_list("pk", "name", "state")
        documents = list(rows)
    return Filled(
        workspace=workspace,
        indices={pk: int(name.removesuffix(".txt")) for pk, name, _ in documents},
        seconds=seconds,
        is_reused=is_reused,
        failed=sum(state == DocumentState.ATTENTION for _, _, state in documents),
    )
