"""Queries for documents, their processing, their versions and the trash."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.utils import timezone

from ingestion.documents.collections.queries import collection_at
from ingestion.documents.collections.services import clean_name
from ingestion.knowledge.insights import lone_documents
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
from ingestion.models.jobs import UNDER_WAY, UNFINISHED
from ingestion.models.knowledge import TERMS
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
    indexed: int
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
        is_done = any(step.name == "situate" and step.state == RunState.DONE for step in self.steps)
        return is_done or 0 < self.chunks == self.indexed

    @property
    def has_vectors(self) -> bool:
        return any(step.name == "embed" and step.state == RunState.DONE for step in self.steps)

    @property
    def share(self) -> float:
        """Share of all stages that is done, 0 to 1."""
        return sum(step.share for step in self.steps) / len(self.steps) if self.steps else 0.0

    @property
    def days_left(self) -> int:
        """Days until a document in the trash is deleted for good."""
        if self.document.trashed_at is None:
            return settings.TRASH_DAYS
        left = self.document.trashed_at + timedelta(days=settings.TRASH_DAYS) - timezone.now()
        return max(0, -(-left // timedelta(days=1)))


def documents(  # noqa: PLR0913  # a keyword for each filter
    *,
    workspace: Workspace,
    text: str = "",
    state: str = "",
    tag: str = "",
    collection: str = "",
    media_type: str = "",
    alone: bool = False,
) -> QuerySet[Document]:
    """Return the workspace's documents, newest first; empty filters do not apply.

    ``text`` is searched in title and name; a collection is given by name or id. Of documents that
    stand ``alone``, nothing is mentioned in another one.
    """
    rows = Document.objects.in_workspace(workspace).filter(trashed_at=None)
    rows = rows.select_related("added_by", "collection")
    if text:
        rows = rows.filter(Q(title__icontains=text) | Q(name__icontains=text))
    if collection:
        try:
            rows = rows.filter(collection_id=uuid.UUID(collection))
        except ValueError:
            named = collection_at(workspace_id=workspace.pk, name=clean_name(collection))
            rows = rows.filter(collection=named) if named else rows.none()
    if tag:
        rows = rows.filter(tags__contains=[tag.strip().lower()])
    if alone:
        rows = rows.filter(pk__in=lone_documents(workspace).values("document_id"))
    exact = {"state": state, "media_type": media_type}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    return rows.order_by("-created_at", "name")


def document_rows(*, workspace: Workspace, documents: Sequence[Document]) -> list[DocumentRow]:
    """Return the rows of some documents, in four queries for any number."""
    ids = [document.pk for document in documents]
    jobs = _latest_jobs(workspace, ids)
    counts = {
        document: (number, indexed)
        for document, number, indexed in Chunk.objects.in_workspace(workspace)
        .filter(document_id__in=ids)
        .values_list("document_id")
        .annotate(number=Count("id"), indexed=Count("terms"))
    }
    warnings = live_warnings(workspace=workspace, ids=ids)
    return [
        DocumentRow(
            document=document,
            job=jobs.get(document.pk),
            steps=_steps(jobs.get(document.pk)),
            chunks=counts.get(document.pk, (0, 0))[0],
            indexed=counts.get(document.pk, (0, 0))[1],
            warnings=tuple(warnings.get(document.pk, ())),
        )
        for document in documents
    ]


def live_warnings(*, workspace: Workspace, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """Return the warnings of the documents' live versions, by document."""
    versions = DocumentVersion.objects.in_workspace(workspace).filter(document_id__in=ids)
    live = versions.filter(DocumentVersion.IS_LIVE_VERSION)
    return dict(live.values_list("document_id", "warnings"))


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
    steps = []
    for run in job.stage_runs.all() if job else ():
        share = run.units_done / run.units_total if run.units_total else 0.0
        is_done = run.state == RunState.DONE
        steps.append(StageStep(run.stage, run.state, 1.0 if is_done else share))
    return tuple(steps)


def contents_here(*, workspace: Workspace, digests: Collection[str]) -> set[str]:
    """Return those of the SHA-256 digests that the workspace has a document for."""
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(sha256__in=digests)
        return set(rows.values_list("sha256", flat=True))


def document_of_file(*, workspace: Workspace, name: str) -> Document | None:
    """Return the newest searched document with this file name."""
    rows = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE, name=name)
    return rows.order_by("-created_at").first()


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


def is_refreshing(*, workspace: Workspace) -> bool:
    """Whether graph and topics are being updated."""
    jobs = IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.WORKSPACE)
    return jobs.filter(state__in=UNFINISHED).exists()


@dataclass(frozen=True, slots=True)
class WorkspaceCounts:
    documents: int
    passages: int
    entities: int
    relationships: int
    topics: int


def workspace_counts(*, workspace: Workspace, most: int | None = None) -> WorkspaceCounts:
    """Count what is in a workspace; with ``most``, no further than that and one more."""
    last = None if most is None else most + 1
    return WorkspaceCounts(
        documents=Document.objects.in_workspace(workspace).filter(trashed_at=None)[:last].count(),
        passages=Chunk.objects.in_workspace(workspace)[:last].count(),
        entities=Entity.objects.in_workspace(workspace).exclude(TERMS)[:last].count(),
        relationships=Relationship.objects.in_workspace(workspace)[:last].count(),
        topics=Community.objects.in_workspace(workspace).filter(level=0)[:last].count(),
    )


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


def trashed(*, workspace: Workspace) -> QuerySet[Document]:
    """Return the documents in the trash, newest first."""
    rows = Document.objects.in_workspace(workspace).filter(trashed_at__isnull=False)
    rows = rows.select_related("added_by", "collection", "trashed_by")
    return rows.order_by("-trashed_at", "title", "pk")


def trash_rows(*, workspace: Workspace, documents: Sequence[Document]) -> list[DocumentRow]:
    """Return rows whose ``chunks`` are the archived passages that deletion would remove."""
    archived = ArchivedChunk.objects.in_workspace(workspace).filter(
        document_id__in=[document.pk for document in documents]
    )
    counts = dict(archived.values_list("document_id").annotate(number=Count("id")))
    rows = document_rows(workspace=workspace, documents=documents)
    return [replace(row, chunks=counts.get(row.document.pk, 0)) for row in rows]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as the list shows it; ``may_restore`` says whether it can be made live again.

    ``state`` is ``live``, ``reading``, ``failed`` or ``earlier``.
    """

    version: DocumentVersion
    name: str
    size: int
    state: str
    problem: dict[str, str] | None

    @property
    def number(self) -> int:
        return self.version.number

    @property
    def may_restore(self) -> bool:
        return self.state == "earlier" and self.version.parsed_at is not None


def version_get(
    *, workspace: Workspace, document: Document, number: int | None = None
) -> DocumentVersion:
    """Return that version, or the live one: searched, or going to be once it is read.

    Raises NotFoundError.
    """
    wanted = document.live_number if number is None else number
    return found(
        DocumentVersion.objects.in_workspace(workspace)
        .filter(document=document, number=wanted)
        .select_related("document", "added_by")
        .first(),
        "version of this document",
    )


def version_rows(*, workspace: Workspace, document: Document) -> list[VersionRow]:
    """Return the versions, newest first, without their texts."""
    versions = (
        DocumentVersion.objects.in_workspace(workspace)
        .filter(document=document)
        .select_related("document", "added_by")
        .defer("text", "pages", "headings")
        .order_by("-number")
    )
    jobs = IngestionJob.objects.in_workspace(workspace).filter(
        document=document, kind=JobKind.DOCUMENT
    )
    latest = {job.version_id: job for job in jobs.order_by("created_at")}
    return [_version_row(document, version, latest.get(version.pk)) for version in versions]


def _version_row(
    document: Document, version: DocumentVersion, job: IngestionJob | None
) -> VersionRow:
    is_live = version.number == document.live_number
    if is_live:
        state = "live"
    elif job and job.state in UNDER_WAY:
        state = "reading"
    else:
        state = "failed" if job and job.problem else "earlier"
    return VersionRow(
        version=version,
        name=version.name or document.name,
        size=version.size or document.size,
        state=state,
        problem=job.problem if job and not is_live else None,
    )


def versions_unread(*, workspace: Workspace, document_id: uuid.UUID) -> list[int]:
    """Return the numbers of the versions being read. A version goes live before its last stage
    ends.
    """
    jobs = IngestionJob.objects.in_workspace(workspace).filter(
        document_id=document_id, kind=JobKind.DOCUMENT, state__in=UNDER_WAY
    )
    jobs = jobs.exclude(version__number=F("document__live_number"))
    return sorted(jobs.values_list("version__number", flat=True))
