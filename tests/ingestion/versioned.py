"""Documents with several versions, read to the end, for tests of versions."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ingestion.documents import versions
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Document,
    DocumentVersion,
    IngestionJob,
    JobKind,
    Posting,
    RunState,
)
from ingestion.pipeline import runner
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Embedder, Vectors
from kb_project.ports import Ports, build_ports
from tests.ingestion.jobs import add, document_of
from workspaces import access
from workspaces.models import User, Workspace

KEPT = "Ada Lind keeps the light of Skarrow."
GONE = "Bo Strand sells oil to Ada Lind."
NEW = "Cora Vane paints the tower of Skarrow."
LAST = "Olaf Brekke repairs the boats of Skarrow."
FIRST_TEXT = f"# Light\n\n{KEPT}\n\n# Oil\n\n{GONE}\n\n# Boats\n\n{LAST}\n"
SECOND_TEXT = f"# Weather\n\nIt blew.\n\n# Light\n\n{KEPT}\n\n# Oil\n\n{NEW}\n\n# Boats\n\n{LAST}\n"
SENTENCES = {"strategy": "sentence"}


class CountingEmbedder(FakeEmbedder):
    """Notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed_passages(texts)


def ports_with(embedder: Embedder | None = None, chat: Any = None) -> Ports:
    return replace(build_ports(), embedder=embedder or FakeEmbedder(), chat=chat)


def read(workspace: Workspace, ports: Ports | None = None, *, refreshes: bool = True) -> None:
    """Do all work of the workspace that is pending, a job at a time."""
    kinds = [JobKind.DOCUMENT, *([JobKind.WORKSPACE] if refreshes else [])]
    while jobs := pending(workspace, kinds):
        for lane in runner.LANES:
            runner.run_lane(jobs[0], lane, ports or ports_with())


def pending(workspace: Workspace, kinds: Sequence[str]) -> list[IngestionJob]:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace).filter(kind__in=kinds)
        open_states = [RunState.PENDING, RunState.RUNNING]
        return list(jobs.filter(state__in=open_states).order_by("kind", "created_at"))


def first_version(
    workspace: Workspace,
    text: str = FIRST_TEXT,
    name: str = "log.md",
    chunking: Mapping[str, Any] = MappingProxyType(SENTENCES),
) -> Document:
    """A document that was read to the end, a sentence a passage."""
    job = add(workspace, name, text)
    with access.in_workspace(workspace.pk):
        DocumentVersion.objects.in_workspace(workspace).filter(pk=job.version_id).update(
            chunking=dict(chunking)
        )
    read(workspace)
    return document_of(job)


def replaced(
    document: Document, text: str | bytes, *, user: User | None = None, name: str = "log.md"
) -> DocumentVersion:
    """The next version, asked for and not read yet."""
    content = text if isinstance(text, bytes) else text.encode()
    with access.in_workspace(document.workspace_id):
        return versions.document_replace(
            change=change_of(document, user), document=document, file=io.BytesIO(content), name=name
        )


def reverted(document: Document, number: int) -> None:
    with access.in_workspace(document.workspace_id):
        versions.document_revert(change=change_of(document), document=document, number=number)


def change_of(document: Document, user: User | None = None) -> ChangeContext:
    return ChangeContext(workspace=document.workspace, user=user)


def fresh(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        rows = Document.objects.in_workspace(document.workspace_id).select_related("workspace")
        return rows.get(pk=document.pk)


def version_of(document: Document, number: int) -> DocumentVersion:
    with access.in_workspace(document.workspace_id):
        rows = DocumentVersion.objects.in_workspace(document.workspace_id)
        return rows.select_related("document").get(document=document, number=number)


def passages(document: Document) -> dict[str, Chunk]:
    """The chunks that are searched, by their words."""
    with access.in_workspace(document.workspace_id):
        rows = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
        return {row.text.strip(): row for row in rows.order_by("ordinal")}


def rows_of(document: Document, model: Any) -> list[Any]:
    with access.in_workspace(document.workspace_id):
        return list(model.objects.in_workspace(document.workspace_id))


def indexed(document: Document) -> tuple[set[Any], set[Any]]:
    """The chunks that have words, and those that have a vector."""
    words = {row.chunk_id for row in rows_of(document, Posting)}
    return words, {row.chunk_id for row in rows_of(document, ChunkEmbedding)}
