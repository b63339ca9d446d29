"""New versions of documents: a file takes another's place, and an earlier one comes back.

A version is read beside the one that is searched, and takes its place once it has been read
(``ingestion.stages.chunk``): passages that both have stay as they are. One that cannot be read
takes nobody's place. Versions of a document are read one after another, in their order.
"""

from __future__ import annotations

import logging
from typing import IO, Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingestion import history, pipeline, record, services
from ingestion.history import Deed
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
from ingestion.selectors import document_get, version_get
from kb_project.errors import ConflictError, UploadError

logger = logging.getLogger(__name__)

UNTOUCHED: Final = "Its present version is still searched."
UNDER_WAY: Final = (RunState.PENDING, RunState.RUNNING, RunState.PAUSED)


def document_replace(
    *, deed: Deed, document: Document, file: IO[bytes], name: str
) -> DocumentVersion:
    """Store a file as the document's next version and queue its reading.

    Raises UploadError (``too_large``, ``empty``), PreconditionError, and ConflictError where the
    document is put away or has this content already.
    """
    label = services.label_of(name)
    size, digest = services.measure(file, label)
    if not size:
        raise UploadError(
            f"'{label}' is empty.",
            code="empty",
            kept=UNTOUCHED,
            next_step="Choose the file that holds the new version.",
        )
    version = DocumentVersion(
        workspace=deed.workspace,
        document=document,
        name=label,
        size=size,
        sha256=digest,
        added_by=deed.user,
    )
    with services.files_stored([(version, file)]), transaction.atomic():
        _replace(deed, version)
    logger.info("document replaced document=%s version=%s", document.pk, version.number)
    return version


def _replace(deed: Deed, version: DocumentVersion) -> None:
    document = _held(deed, version.document)
    newest, before = _newest(document), _coming(document)
    is_coming = before == newest.number
    if version.sha256 in (document.sha256, newest.sha256 if is_coming else ""):
        raise ConflictError(
            f"'{document.title}' has exactly this content already.",
            code="same_content",
            kept="No version was added; nothing was changed.",
            next_step="Choose a file that differs from the present version.",
        )
    _label_present(document)
    version.document = document
    version.number = 1 + newest.number
    version.chunking = _chunking_after(newest)
    version.save(force_insert=True)
    job = _plan(deed, version)
    _record(deed, job, before=before, is_restored=False)
    pipeline.wake(document.workspace_id, job.pk, pipeline.MAIN)


def document_revert(*, deed: Deed, document: Document, number: int) -> HistoryEvent:
    """Make an earlier version the one that is searched.

    Raises NotFoundError, PreconditionError, and ConflictError where it is that already, was never
    read, or the document is put away.
    """
    with transaction.atomic():
        document = _held(deed, document)
        version = version_get(workspace=deed.workspace, document=document, number=number)
        before = _coming(document)
        if number == before:
            raise ConflictError(
                f"Version {number} of '{document.title}' is the present one.",
                code="version_is_live",
                kept="Nothing was changed.",
            )
        job = _restore(deed, version)
        event = _record(deed, job, before=before, is_restored=True)
        pipeline.wake(document.workspace_id, job.pk, pipeline.MAIN)
    logger.info("document version restored document=%s version=%s", document.pk, number)
    return event


def take_back(*, deed: Deed, event: HistoryEvent) -> None:
    """The inverse of a replacement: the version before is searched again.

    Call inside the transaction that records the undoing, after ``history.lock``. Raises
    ConflictError where a later version stands, or the document is gone or put away.
    """
    document = _document_of(deed, event)
    _check_live(document)
    _check_last(deed, document, event)
    _withdraw(document, event.details["job"])
    version = _read_until(document, event.details["before"]["version"])
    if version is not None and version.number != _coming(document):
        job = _restore(deed, version)
        pipeline.wake(document.workspace_id, job.pk, pipeline.MAIN)


def _read_until(document: Document, number: int) -> DocumentVersion | None:
    """That version, or the newest one before it that could be read."""
    rows = DocumentVersion.objects.in_workspace(document.workspace_id).filter(
        Q(parsed_at__isnull=False) | Q(number=document.live_number),
        document=document,
        number__lte=number,
    )
    return rows.select_related("document").order_by("-number").first()


def _coming(document: Document) -> int:
    """The version that will be searched when all that was asked for has been done."""
    jobs = IngestionJob.objects.in_workspace(document.workspace_id).filter(
        document=document, kind=JobKind.DOCUMENT, state__in=UNDER_WAY
    )
    last = jobs.order_by("-created_at").values_list("version__number", flat=True).first()
    return last or document.live_number


def _held(deed: Deed, document: Document) -> Document:
    """The document as it is now; nobody changes it until the transaction ends."""
    history.lock(deed.workspace)
    history.check_expected(deed)
    document = document_get(workspace=deed.workspace, document_id=document.pk)
    _check_live(document)
    return document


def _check_live(document: Document) -> None:
    if document.trashed_at is not None:
        raise ConflictError(
            f"'{document.title}' is in the trash.",
            code="in_trash",
            kept="It stays there as it is.",
            next_step="Restore it from the trash first.",
        )
    if document.disabled_at is not None:
        raise ConflictError(
            f"'{document.title}' is disabled.",
            code="disabled",
            kept="It stays as it is.",
            next_step="Enable it first.",
        )


def _newest(document: Document) -> DocumentVersion:
    rows = DocumentVersion.objects.in_workspace(document.workspace_id).filter(document=document)
    return rows.defer("text").latest("number")


def _chunking_after(newest: DocumentVersion) -> dict[str, Any]:
    """Cut as the version before was; its spans are of its text alone."""
    chunking = {name: told for name, told in newest.chunking.items() if name != "spans"}
    return {} if chunking.get("strategy") == "given" else chunking


def _label_present(document: Document) -> None:
    """The document tells of its first version's file only as long as there is no other."""
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


def _plan(deed: Deed, version: DocumentVersion) -> IngestionJob:
    job = IngestionJob.objects.create(
        workspace_id=version.workspace_id,
        kind=JobKind.DOCUMENT,
        document=version.document,
        version=version,
        requested_by=deed.user,
    )
    pipeline.plan_stages(job)
    record.set_document(job, DocumentState.QUEUED)
    return job


def _restore(deed: Deed, version: DocumentVersion) -> IngestionJob:
    if version.parsed_at is None:
        raise ConflictError(
            f"Version {version.number} of '{version.document.title}' has never been read.",
            code="never_read",
            kept=UNTOUCHED,
            next_step="Upload its file again.",
        )
    _label_present(version.document)
    job = _plan(deed, version)
    # Its text was read once, and what cites it counts its characters.
    runs = StageRun.objects.in_workspace(version.workspace_id).filter(job=job, stage="parse")
    runs.update(state=RunState.DONE, finished_at=timezone.now())
    return job


def _record(deed: Deed, job: IngestionJob, *, before: int, is_restored: bool) -> HistoryEvent:
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
    return history.record(deed, EventKind.DOCUMENT_REPLACED, subjects, details)


def _document_of(deed: Deed, event: HistoryEvent) -> Document:
    subject = event.subjects.in_workspace(deed.workspace).get()
    return document_get(workspace=deed.workspace, document_id=subject.subject_id)


def _check_last(deed: Deed, document: Document, event: HistoryEvent) -> None:
    later = (
        HistoryEvent.objects.in_workspace(deed.workspace)
        .filter(
            kind=EventKind.DOCUMENT_REPLACED,
            sequence__gt=event.sequence,
            undone_at__isnull=True,
            subjects__workspace=deed.workspace,
            subjects__subject_id=document.pk,
        )
        .order_by("sequence")
        .first()
    )
    if later is not None:
        number = later.details["after"]["version"]
        raise ConflictError(
            f"Version {number} of '{document.title}' came after it and stands.",
            code="later_version",
            kept="Nothing was changed.",
            next_step=f"Undo version {number} first, or restore an earlier version.",
        )


def _withdraw(document: Document, job_id: str) -> None:
    """Set aside the work that was asked for, wherever it is; whoever does it loses it."""
    workspace_id = document.workspace_id
    jobs = IngestionJob.objects.in_workspace(workspace_id).filter(pk=job_id)
    jobs = jobs.exclude(state=RunState.DONE)
    # Workers lock the runs before their job: so does this.
    runs = StageRun.objects.in_workspace(workspace_id).filter(job__in=jobs)
    runs.exclude(state=RunState.DONE).update(
        state=RunState.CANCELLED, leased_by="", leased_until=None, finished_at=timezone.now()
    )
    if jobs.update(state=RunState.CANCELLED, problem=None, finished_at=timezone.now()):
        _show_as_before(document)


def _show_as_before(document: Document) -> None:
    has_chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    state = DocumentState.READY if has_chunks.exists() else DocumentState.ATTENTION
    rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
    rows.update(state=state, updated_at=timezone.now())
