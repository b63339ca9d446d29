"""A document of which some passages could not be read, for tests of what is done about it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ingestion.models import (
    Chunk,
    ChunkExtraction,
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.pipeline import runner
from ingestion.stages.extract import unread_warning
from tests.rows import chunks_of, make_document
from workspaces import access
from workspaces.models import Workspace

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells oil.\n\nThe stairs are wet."
EMPTY: dict[str, Any] = {"mentions": [], "relations": []}
PROBLEM = {
    "code": "reply_truncated",
    "happened": "The answer was cut off.",
    "kept": "Its text is kept.",
    "next_step": "Retry the passage.",
}


def half_read(
    workspace: Workspace,
    *,
    unread: Collection[int] = (1, 2),
    rejected: dict[str, int] | None = None,
) -> Document:
    """A finished document; the passages ``unread`` have no facts, the others ``rejected`` some."""
    document = make_document(workspace, "The log", TEXT)
    with access.in_workspace(workspace.pk):
        version = DocumentVersion.objects.in_workspace(workspace).get(document=document)
        version.warnings = ["A page was blank.", unread_warning(len(unread), 3)]
        version.save(update_fields=["warnings"])
        job = IngestionJob.objects.create(
            workspace=workspace,
            kind=JobKind.DOCUMENT,
            document=document,
            version=version,
            state=RunState.DONE,
        )
        runner.plan_stages(job)
        runs = StageRun.objects.in_workspace(workspace).filter(job=job)
        runs.update(state=RunState.DONE, units_done=3, units_total=3)
        Document.objects.in_workspace(workspace).filter(pk=document.pk).update(
            state=DocumentState.READY
        )
        ChunkExtraction.objects.bulk_create(
            ChunkExtraction(
                workspace=workspace,
                chunk=chunk,
                method="model-1",
                payload=EMPTY,
                problem=PROBLEM if chunk.ordinal in unread else None,
                rejected={} if chunk.ordinal in unread else rejected or {},
            )
            for chunk in chunks_of(document)
        )
    return document


def read_chunks(document: Document) -> list[int]:
    """The ordinals of the chunks that count as read, with or without a problem."""
    with access.in_workspace(document.workspace_id):
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
        rows = ChunkExtraction.objects.in_workspace(document.workspace_id).filter(chunk__in=chunks)
        read = rows.exclude(method="")
        return sorted(read.values_list("chunk__ordinal", flat=True))


def warnings_of(document: Document) -> list[str]:
    with access.in_workspace(document.workspace_id):
        return (
            DocumentVersion.objects.in_workspace(document.workspace_id)
            .get(document=document)
            .warnings
        )
