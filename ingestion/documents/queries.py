"""Queries for documents and their processing."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils import timezone

from ingestion.documents.version_queries import version_get
from ingestion.knowledge.queries import TERMS
from ingestion.models import (
    ArchivedChunk,
    Chunk,
    Community,
    Document,
    DocumentState,
    DocumentVersion,
    Entity,
    IngestionJob,
    JobKind,
    Mention,
    Relationship,
    RunState,
    StageRun,
)
from kb_project.errors import found
from workspaces import access
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class StageStep:
    """One stage in a document's row; ``share`` is the share of its units done, 0 to 1."""

    name: str
    state: str
    share: float


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as the list shows it, with its processing state."""

    document: Document
    job: IngestionJob | None
    steps: tuple[StageStep, ...]
    chunks: int
    warnings: tuple[str, ...]

    @property
    def problem(self) -> dict[str, str] | None:
        """The job's problem; for a version that did not replace the searched one, it says so."""
        problem: dict[str, str] | None = self.job.problem if self.job else None
        version = self.job.version if self.job else None
        live = self.document.live_number
        if problem is None or version is None or version.number <= live or not self.chunks:
            return problem
        kept = f"Version {version.number} was not added. Version {live} is still searched."
        return problem | {"kept": kept}

    @property
    def is_moving(self) -> bool:
        return self.document.state in (DocumentState.QUEUED, DocumentState.WORKING)

    @property
    def has_words(self) -> bool:
        """Whether keyword search finds it, whatever work is left."""
        return any(step.name == "situate" and step.state == RunState.DONE for step in self.steps)

    @property
    def has_vectors(self) -> bool:
        return any(step.name == "embed" and step.state == RunState.DONE for step in self.steps)

    @property
    def share(self) -> float:
        """Share of all stages that is done, 0 to 1."""
        return sum(step.share for step in self.steps) / len(self.steps) if self.steps else 0.0


def documents(
    *,
    workspace: Workspace,
    text: str = "",
    state: str = "",
    tag: str = "",
    collection: str = "",
    media_type: str = "",
) -> QuerySet[Document]:
    """Return the workspace's documents, newest first; empty filters do not apply.

    ``text`` is searched in title and name; a collection is given by name or id.
    """
    rows = Document.objects.in_workspace(workspace).filter(trashed_at=None)
    rows = rows.select_related("added_by", "collection")
    if text:
        rows = rows.filter(Q(title__icontains=text) | Q(name__icontains=text))
    if collection:
        rows = rows.filter(_collection_is(collection))
    if tag:
        rows = rows.filter(tags__contains=[tag.strip().lower()])
    exact = {"state": state, "media_type": media_type}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    return rows.order_by("-created_at", "name")


def _collection_is(name_or_id: str) -> Q:
    try:
        return Q(collection_id=uuid.UUID(name_or_id))
    except ValueError:
        return Q(collection__name=name_or_id)


def document_rows(*, workspace: Workspace, documents: Sequence[Document]) -> list[DocumentRow]:
    """Return the rows of some documents, in four queries for any number."""
    ids = [document.pk for document in documents]
    jobs = _latest_jobs(workspace, ids)
    counts = dict(
        Chunk.objects.in_workspace(workspace)
        .filter(document_id__in=ids)
        .values_list("document_id")
        .annotate(number=Count("id"))
    )
    warnings = dict(
        DocumentVersion.objects.in_workspace(workspace)
        .filter(DocumentVersion.IS_LIVE, document_id__in=ids)
        .values_list("document_id", "warnings")
    )
    return [
        DocumentRow(
            document=document,
            job=jobs.get(document.pk),
            steps=_steps(jobs.get(document.pk)),
            chunks=counts.get(document.pk, 0),
            warnings=tuple(warnings.get(document.pk, ())),
        )
        for document in documents
    ]


def _latest_jobs(workspace: Workspace, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, IngestionJob]:
    runs = StageRun.objects.in_workspace(workspace).order_by("ordinal")
    jobs = (
        IngestionJob.objects.in_workspace(workspace)
        .filter(document_id__in=ids)
        .exclude(IngestionJob.SET_ASIDE)
        .order_by("created_at")
        .select_related("version")
        .defer("version__text", "version__pages", "version__headings")
        .prefetch_related(Prefetch("stage_runs", queryset=runs))
    )
    return {job.document_id: job for job in jobs if job.document_id}


def _steps(job: IngestionJob | None) -> tuple[StageStep, ...]:
    runs = job.stage_runs.all() if job else ()
    return tuple(StageStep(run.stage, run.state, _share(run)) for run in runs)


def _share(run: StageRun) -> float:
    if run.state == RunState.DONE:
        return 1.0
    return run.units_done / run.units_total if run.units_total else 0.0


def contents_here(*, workspace: Workspace, digests: Collection[str]) -> set[str]:
    """Return those of the SHA-256 digests that the workspace has a document for."""
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(sha256__in=digests)
        return set(rows.values_list("sha256", flat=True))


def documents_there(*, workspace: Workspace, ids: Collection[uuid.UUID]) -> list[Document]:
    """Return those of the documents that exist, live or archived, ordered by title."""
    rows = Document.objects.in_workspace(workspace).filter(pk__in=ids)
    return list(rows.order_by("title", "pk"))


def documents_get(*, workspace: Workspace, ids: Collection[uuid.UUID]) -> list[Document]:
    """Return the documents, live or archived, ordered by title. Raises NotFoundError if one is
    missing.
    """
    rows = documents_there(workspace=workspace, ids=ids)
    return found(rows if len(rows) == len(set(ids)) else None, "document")


def document_get(*, workspace: Workspace, document_id: uuid.UUID) -> Document:
    """Return a document. Raises NotFoundError."""
    return found(
        Document.objects.in_workspace(workspace)
        .select_related("added_by", "collection")
        .filter(pk=document_id)
        .first(),
        "document",
    )


def document_row(*, workspace: Workspace, document_id: uuid.UUID) -> DocumentRow:
    """Return a document's row. Raises NotFoundError."""
    document = document_get(workspace=workspace, document_id=document_id)
    return document_rows(workspace=workspace, documents=[document])[0]


def document_version(*, workspace: Workspace, document: Document) -> DocumentVersion:
    """Return the live version: searched, or going to be once it is read. Raises NotFoundError."""
    return version_get(workspace=workspace, document=document, number=document.live_number)


def state_counts(*, workspace: Workspace) -> dict[str, int]:
    """Count documents by state, listing every state; documents in the trash do not count."""
    counted = Counter(
        dict(
            Document.objects.in_workspace(workspace)
            .filter(trashed_at=None)
            .values_list("state")
            .annotate(number=Count("id"))
        )
    )
    return {state.value: counted[state.value] for state in DocumentState}


def searched_count(*, workspace: Workspace) -> int:
    """Count documents that are neither disabled nor in the trash."""
    return Document.objects.in_workspace(workspace).filter(Document.IS_LIVE).count()


def is_refreshing(*, workspace: Workspace) -> bool:
    """Whether graph and topics are being updated."""
    return (
        IngestionJob.objects.in_workspace(workspace)
        .filter(kind=JobKind.WORKSPACE, state__in=[RunState.PENDING, RunState.RUNNING])
        .exists()
    )


@dataclass(frozen=True, slots=True)
class WorkspaceCounts:
    documents: int
    passages: int
    entities: int
    relationships: int
    topics: int


def workspace_counts(*, workspace: Workspace) -> WorkspaceCounts:
    return WorkspaceCounts(
        documents=Document.objects.in_workspace(workspace).filter(trashed_at=None).count(),
        passages=Chunk.objects.in_workspace(workspace).count(),
        entities=Entity.objects.in_workspace(workspace).exclude(TERMS).count(),
        relationships=Relationship.objects.in_workspace(workspace).count(),
        topics=Community.objects.in_workspace(workspace).filter(level=0).count(),
    )


def chunks_of(*, workspace: Workspace, document: Document) -> QuerySet[Chunk]:
    return Chunk.objects.in_workspace(workspace).filter(document=document).order_by("ordinal")


def entities_in(*, workspace: Workspace, document: Document, most: int = 30) -> list[Entity]:
    """Return the entities a document names, most mentioned first, without terms."""
    named = Entity.objects.in_workspace(workspace).exclude(TERMS)
    counts = (
        Mention.objects.in_workspace(workspace)
        .filter(document=document, entity__in=named)
        .values_list("entity_id")
        .annotate(number=Count("id"))
        .order_by("-number", "entity_id")[:most]
    )
    ids = [entity_id for entity_id, _ in counts]
    rows = {row.pk: row for row in Entity.objects.in_workspace(workspace).filter(pk__in=ids)}
    return [rows[entity_id] for entity_id in ids if entity_id in rows]


@dataclass(frozen=True, slots=True)
class TrashRow(DocumentRow):
    """A document in the trash; ``chunks`` are the archived passages that deletion would remove."""

    days_left: int = 0


def trashed(*, workspace: Workspace) -> QuerySet[Document]:
    """Return the documents in the trash, newest first."""
    rows = Document.objects.in_workspace(workspace).filter(trashed_at__isnull=False)
    rows = rows.select_related("added_by", "collection", "trashed_by")
    return rows.order_by("-trashed_at", "title", "pk")


def trash_rows(*, workspace: Workspace, documents: Sequence[Document]) -> list[TrashRow]:
    archived = ArchivedChunk.objects.in_workspace(workspace).filter(
        document_id__in=[document.pk for document in documents]
    )
    counts = dict(archived.values_list("document_id").annotate(number=Count("id")))
    rows = document_rows(workspace=workspace, documents=documents)
    return [
        TrashRow(
            **{field.name: getattr(row, field.name) for field in fields(row)}
            | {"chunks": counts.get(row.document.pk, 0)},
            days_left=_days_left(row.document),
        )
        for row in rows
    ]


def _days_left(document: Document) -> int:
    if document.trashed_at is None:
        return settings.TRASH_DAYS
    left = document.trashed_at + timedelta(days=settings.TRASH_DAYS) - timezone.now()
    return max(0, -(-left // timedelta(days=1)))
