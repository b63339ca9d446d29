"""New versions of documents: replacing one with a file, and restoring an earlier one.

A version is read while the present one is still searched, and replaces it once it has been read
(``ingestion.stages.chunk``): passages that both have stay as they are. A version that cannot be
read replaces nothing. Versions of a document are read one after another, in order.
"""

from __future__ import annotations

import logging
from typing import IO, Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingestion.documents import services
from ingestion.documents.queries import UNDER_WAY, document_get, version_get
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    Document,
    DocumentState,
    DocumentVersion,
    EventKind,
    HistoryEvent,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
    SubjectKind,
)
from ingestion.pipeline import runner, transitions
from kb_project.errors import ConflictError, UploadError
from workspaces import limits
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

UNTOUCHED: Final = "The current version is still searched."


def document_replace(
    *, change: ChangeContext, document: Document, file: IO[bytes], name: str
) -> DocumentVersion:
    """Store a file as the document's next version and queue its reading.

    Raises UploadError (``too_large``, ``empty``), PreconditionError, QuotaError, and ConflictError
    if the document is archived or already has this content.
    """
    version = version_of_file(workspace=change.workspace, file=file, name=name)
    version.added_by = change.user
    version.document = document
    with services.files_stored([(version, file)]), transaction.atomic():
        _replace(change, version)
    logger.info("document replaced document=%s version=%s", document.pk, version.number)
    return version


def version_of_file(*, workspace: Workspace, file: IO[bytes], name: str) -> DocumentVersion:
    """Return a version of this file that is not stored and belongs to no document yet.

    Raises UploadError (``too_large``, ``empty``).
    """
    label = services.label_of(name)
    size, digest = services.measure(file, label)
    if not size:
        raise UploadError(
            f"'{label}' is empty.",
            code="empty",
            kept=UNTOUCHED,
            next_step="Choose the file with the new version.",
        )
    return DocumentVersion(workspace=workspace, name=label, size=size, sha256=digest)


def place_next(document: Document, version: DocumentVersion) -> int:
    """Make a version that is not stored the document's next one, and return the number of the
    version that is live until then.

    Raises ConflictError if the document is archived or already has this content.
    """
    _check_live(document)
    rows = DocumentVersion.objects.in_workspace(document.workspace_id).filter(document=document)
    newest, before = rows.defer("text").latest("number"), _coming(document)
    is_coming = before == newest.number
    if version.sha256 in (document.sha256, newest.sha256 if is_coming else ""):
        raise ConflictError(
            f"'{document.title}' already has exactly this content.",
            code="same_content",
            kept="No version was added; nothing was changed.",
            next_step="Choose a file that differs from the current version.",
        )
    version.document = document
    version.number = 1 + newest.number
    version.chunking = _chunking_after(newest)
    return before


def _replace(change: ChangeContext, version: DocumentVersion) -> None:
    document = _held(change, version.document)
    before = place_next(document, version)
    _label_present(document)
    limits.check_storage(document.workspace_id, size=version.size)
    version.save(force_insert=True)
    job = _plan(change, version)
    _record(change, job, before=before, is_restored=False)
    runner.wake(document.workspace_id, job.pk, runner.MAIN)


def _chunking_after(version: DocumentVersion) -> dict[str, Any]:
    """Chunk like the version before; its spans apply only to its own text."""
    chunking = {name: value for name, value in version.chunking.items() if name != "spans"}
    return {} if chunking.get("strategy") == "given" else chunking


def document_revert(*, change: ChangeContext, document: Document, number: int) -> HistoryEvent:
    """Make an earlier version live.

    Raises NotFoundError, PreconditionError, and ConflictError if it is live already, was never
    read, or the document is archived.
    """
    with transaction.atomic():
        document = _held(change, document)
        version = version_get(workspace=change.workspace, document=document, number=number)
        before = _coming(document)
        if number == before:
            raise ConflictError(
                f"Version {number} of '{document.title}' is already the current one.",
                code="version_is_live",
                kept="Nothing was changed.",
            )
        job = _restore(change, version)
        event = _record(change, job, before=before, is_restored=True)
        runner.wake(document.workspace_id, job.pk, runner.MAIN)
    logger.info("document version restored document=%s version=%s", document.pk, number)
    return event


def undo_event(*, change: ChangeContext, event: HistoryEvent) -> None:
    """Undo a replacement: the version before is searched again.

    Call inside the transaction that records the undo, after ``ingestion.history.recording.lock``.
    Raises ConflictError if a later version exists, or the document is deleted or archived.
    """
    document = _last_replaced(change, event)
    _withdraw(document, event.details["job"])
    version = _read_until(document, event.details["before"]["version"])
    if version is not None and version.number != _coming(document):
        job = _restore(change, version)
        runner.wake(document.workspace_id, job.pk, runner.MAIN)


def redo_event(*, change: ChangeContext, event: HistoryEvent) -> None:
    """Replace again what ``undo_event`` undid, under the same conditions.

    Raises ConflictError also if the version was never read.
    """
    document = _last_replaced(change, event)
    number = event.details["after"]["version"]
    version = version_get(workspace=change.workspace, document=document, number=number)
    if number != _coming(document):
        job = _restore(change, version)
        runner.wake(document.workspace_id, job.pk, runner.MAIN)


def _last_replaced(change: ChangeContext, event: HistoryEvent) -> Document:
    subject = event.subjects.in_workspace(change.workspace).get()
    document = document_get(workspace=change.workspace, document_id=subject.subject_id)
    _check_live(document)
    _check_last(change, document, event)
    return document


def _read_until(document: Document, number: int) -> DocumentVersion | None:
    """Return that version, or the newest one before it that could be read."""
    rows = DocumentVersion.objects.in_workspace(document.workspace_id).filter(
        Q(parsed_at__isnull=False) | Q(number=document.live_number),
        document=document,
        number__lte=number,
    )
    return rows.select_related("document").order_by("-number").first()


def _coming(document: Document) -> int:
    """Return the version that will be live once all queued work is done."""
    jobs = IngestionJob.objects.in_workspace(document.workspace_id).filter(
        document=document, kind=JobKind.DOCUMENT, state__in=UNDER_WAY
    )
    last = jobs.order_by("-created_at").values_list("version__number", flat=True).first()
    return last or document.live_number


def _held(change: ChangeContext, document: Document) -> Document:
    """Lock the history and return the document's current row; no one changes it in this
    transaction.
    """
    recording.lock(change.workspace)
    recording.check_expected(change)
    document = document_get(workspace=change.workspace, document_id=document.pk)
    _check_live(document)
    return document


def _check_live(document: Document) -> None:
    if document.trashed_at is not None:
        raise ConflictError(
            f"'{document.title}' is in the trash.",
            code="in_trash",
            kept="Nothing was changed.",
            next_step="Restore it from the trash first.",
        )
    if document.disabled_at is not None:
        raise ConflictError(
            f"'{document.title}' is disabled.",
            code="disabled",
            kept="Nothing was changed.",
            next_step="Enable it first.",
        )


def _label_present(document: Document) -> None:
    """Copy the first version's file metadata from its document, before the document gets another
    file.
    """
    rows = DocumentVersion.objects.in_workspace(document.workspace_id).filter(
        document=document, number=document.live_number, sha256=""
    )
    rows.update(
        name=document.name,
        size=document.size,
        sha256=document.sha256,
        media_type=document.media_type,
        added_by=document.added_by,
    )


def _plan(change: ChangeContext, version: DocumentVersion) -> IngestionJob:
    job = IngestionJob.objects.create(
        workspace_id=version.workspace_id,
        kind=JobKind.DOCUMENT,
        document=version.document,
        version=version,
        requested_by=change.user,
    )
    runner.plan_stages(job)
    transitions.set_document(job, DocumentState.QUEUED)
    return job


def _restore(change: ChangeContext, version: DocumentVersion) -> IngestionJob:
    if version.parsed_at is None:
        raise ConflictError(
            f"Version {version.number} of '{version.document.title}' has never been read.",
            code="never_read",
            kept=UNTOUCHED,
            next_step="Upload its file again.",
        )
    _label_present(version.document)
    job = _plan(change, version)
    # Its text was already read, and citations count characters of that text.
    runs = StageRun.objects.in_workspace(version.workspace_id).filter(job=job, stage="parse")
    runs.update(state=RunState.DONE, finished_at=timezone.now())
    return job


def _record(
    change: ChangeContext, job: IngestionJob, *, before: int, is_restored: bool
) -> HistoryEvent:
    document, version = job.document, job.version
    assert document is not None and version is not None  # noqa: S101, PT018 - planned with both
    details = {
        "names": {str(document.pk): document.title},
        "before": {"version": before},
        "after": {"version": version.number},
        "file": version.name,
        "job": str(job.pk),
        "is_restored": is_restored,
    }
    subjects = {document.pk: SubjectKind.DOCUMENT}
    return recording.record(change, EventKind.DOCUMENT_REPLACED, subjects, details)


def _check_last(change: ChangeContext, document: Document, event: HistoryEvent) -> None:
    later = (
        HistoryEvent.objects.in_workspace(change.workspace)
        .filter(
            kind=EventKind.DOCUMENT_REPLACED,
            sequence__gt=event.sequence,
            undone_at__isnull=True,
            subjects__workspace=change.workspace,
            subjects__subject_id=document.pk,
        )
        .order_by("sequence")
        .first()
    )
    if later is not None:
        number = later.details["after"]["version"]
        raise ConflictError(
            f"'{document.title}' has a later version, {number}.",
            code="later_version",
            kept="Nothing was changed.",
            next_step=f"Undo version {number} first, or restore an earlier version.",
        )


def _withdraw(document: Document, job_id: str) -> None:
    """Cancel the job unless it is done; a worker on it loses its lease."""
    workspace_id = document.workspace_id
    jobs = IngestionJob.objects.in_workspace(workspace_id).filter(pk=job_id)
    jobs = jobs.exclude(state=RunState.DONE)
    # Lock the runs before their job, as workers do.
    runs = StageRun.objects.in_workspace(workspace_id).filter(job__in=jobs)
    runs.exclude(state=RunState.DONE).update(
        state=RunState.CANCELLED, leased_by="", leased_until=None, finished_at=timezone.now()
    )
    if jobs.update(state=RunState.CANCELLED, problem=None, finished_at=timezone.now()):
        has_chunks = Chunk.objects.in_workspace(workspace_id).filter(document=document).exists()
        state = DocumentState.READY if has_chunks else DocumentState.ATTENTION
        rows = Document.objects.in_workspace(workspace_id).filter(pk=document.pk)
        rows.update(state=state, updated_at=timezone.now())
