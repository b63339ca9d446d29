"""Add documents, retry and cancel work on them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePath
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F

from ingestion.documents.collections.services import collection_named
from ingestion.documents.metadata import clean_tags
from ingestion.history import recording
from ingestion.models import (
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
)
from ingestion.models.jobs import UNDER_WAY
from ingestion.pipeline import batching, inline, recovery, runner, transitions, workspace_jobs
from kb_project.errors import ConflictError, UploadError
from workspaces import limits
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

BLOCK = 1024 * 1024
NAME_LENGTH = 500
STOPPED = (RunState.FAILED, RunState.CANCELLED, RunState.PAUSED)


@dataclass(frozen=True, slots=True)
class Filing:
    """The metadata and chunking of a new document."""

    collection: str = ""
    tags: tuple[str, ...] = ()
    dated: date | None = None
    chunking: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document that a program adds, with its own title."""

    name: str
    title: str
    content: IO[bytes]
    filing: Filing = field(default_factory=Filing)


@dataclass(frozen=True, slots=True)
class Upload:
    """The result of an upload; ``document`` is the existing twin when ``is_duplicate``."""

    document: Document
    is_duplicate: bool

    @property
    def is_in_trash(self) -> bool:
        """Whether nothing was added and the twin can be restored from the trash."""
        return self.is_duplicate and self.document.trashed_at is not None


def document_upload(
    *,
    workspace: Workspace,
    file: IO[bytes],
    name: str,
    user: User | None = None,
    filing: Filing | None = None,
) -> Upload:
    """Store a file and queue its ingestion. For content already there, return the existing
    document, or else the one in the trash.

    Raises UploadError (``too_large``) and QuotaError; nothing is stored then.
    """
    label = label_of(name)
    size, digest = measure(file, label)
    twins = Document.objects.in_workspace(workspace).filter(sha256=digest)
    twin = twins.order_by(F("trashed_at").desc(nulls_first=True), "created_at").first()
    if twin is not None:
        return Upload(document=twin, is_duplicate=True)
    document = Document(
        workspace=workspace, title=label, name=label, size=size, sha256=digest, added_by=user
    )
    _store([(document, file, filing or Filing())])
    logger.info("document added workspace=%s document=%s", workspace.pk, document.pk)
    return Upload(document=document, is_duplicate=False)


def document_add(
    *,
    workspace: Workspace,
    name: str,
    title: str,
    content: IO[bytes],
    filing: Filing | None = None,
) -> Document:
    """Store a document under the given title, even if its content is already there."""
    new = NewDocument(name, title, content, filing or Filing())
    return documents_add(workspace=workspace, documents=[new])[0]


def documents_add(*, workspace: Workspace, documents: Sequence[NewDocument]) -> list[Document]:
    """Store many documents, all or none, even if their content is already there."""
    entries = []
    for new in documents:
        size, digest = measure(new.content, new.name)
        document = Document(
            workspace=workspace,
            title=new.title[:NAME_LENGTH] or label_of(new.name),
            name=label_of(new.name),
            size=size,
            sha256=digest,
        )
        entries.append((document, new.content, new.filing))
    _store(entries)
    return [document for document, _, _ in entries]


def document_retry(*, workspace: Workspace, document: Document) -> IngestionJob:
    """Resume a stopped document where it stopped.

    A pause affects the whole workspace, and ends for all of its documents. Raises ConflictError if
    nothing about the document has stopped.
    """
    with transaction.atomic():
        job = transitions.last_job(workspace.pk, document)
        if job is None or job.state not in STOPPED or not document.is_live:
            raise ConflictError(
                f"There is nothing to retry for '{document.title}'.",
                code="nothing_to_retry",
                kept="It is unchanged.",
            )
        is_paused = job.state == RunState.PAUSED
        transitions.reopen(job)
        batching.call_for(workspace.pk, [job.pk], *runner.DOCUMENT_LANES)
        if is_paused:
            recovery.work_resume(workspace.pk)
    return job


def documents_retry(*, workspace: Workspace) -> int:
    """Resume every document that needs attention; returns how many."""
    stopped = Document.objects.in_workspace(workspace).filter(
        Document.IS_LIVE, state=DocumentState.ATTENTION
    )
    taken_up = 0
    for document in stopped:
        # Another request may have been faster.
        with suppress(ConflictError):
            document_retry(workspace=workspace, document=document)
            taken_up += 1
    return taken_up


def work_resume(*, workspace: Workspace) -> int:
    """Resume paused jobs, and changes to entities that a failure stopped; returns how many.

    A job pauses again if the cause still exists.
    """
    resumed = workspace_jobs.changes_resume(workspace_id=workspace.pk)
    return resumed + recovery.work_resume(workspace.pk)


def document_cancel(*, workspace: Workspace, document: Document) -> None:
    """Stop the work on a document: at once if no stage is running, else at the next unit.

    Raises ConflictError if it is finished.
    """
    jobs = IngestionJob.objects.in_workspace(workspace).filter(document=document)
    asked = jobs.filter(state__in=UNDER_WAY).update(cancel_requested=True)
    if not asked:
        raise ConflictError(
            f"No work on '{document.title}' is in progress.", code="nothing_to_cancel"
        )
    for job in jobs.filter(state__in=[RunState.PENDING, RunState.PAUSED]):
        transitions.stop(job, RunState.CANCELLED, transitions.CANCELLED)


def process_workspace(
    *, workspace: Workspace, on_progress: Callable[[int, int], None] | None = None
) -> None:
    """Do all pending work of a workspace in this process, alongside any workers.

    Resumes paused work first, since the caller is waiting. Call outside a transaction: the
    embedding lane runs in its own thread.
    """
    recovery.work_resume(workspace.pk)
    inline.drain(workspace.pk, on_progress)


def label_of(name: str) -> str:
    """Turn a file name into a label: no folders or control characters, never used as a path.

    >>> label_of("../../etc/passwd")
    'passwd'
    """
    last = PurePath(name.replace("\\", "/")).name
    label = "".join(c for c in last if c.isprintable()).strip()[:NAME_LENGTH]
    return label if label.strip(".") else "Untitled"


def measure(file: IO[bytes], label: str) -> tuple[int, str]:
    """Return size in bytes and SHA-256, and rewind the file. Raises UploadError."""
    digest, size = hashlib.sha256(), 0
    for block in _blocks(file):
        size += len(block)
        if size > settings.MAX_UPLOAD_BYTES:
            limit = settings.MAX_UPLOAD_BYTES // BLOCK
            raise UploadError(
                f"'{label}' exceeds this server's limit of {limit} MB.",
                code="too_large",
                kept="The file was not stored; nothing else was changed.",
                next_step="Split it, or ask your administrator to raise MAX_UPLOAD_MB.",
            )
        digest.update(block)
    file.seek(0)
    return size, digest.hexdigest()


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block


Entry = tuple[Document, IO[bytes], Filing]


def _store(entries: Sequence[Entry]) -> None:
    """Store the files and their rows, all or none, and queue their processing."""
    versions = [
        DocumentVersion(
            workspace_id=document.workspace_id, document=document, chunking=filing.chunking
        )
        for document, _, filing in entries
    ]
    files = [(version, file) for version, (_, file, _) in zip(versions, entries, strict=True)]
    size = sum(document.size for document, _, _ in entries)
    with files_stored(files), transaction.atomic():
        limits.check_storage(versions[0].workspace_id, size=size, documents=len(entries))
        for document, _, filing in entries:
            document.collection = collection_named(document.workspace_id, filing.collection)
            document.tags = clean_tags(filing.tags)
            document.dated = filing.dated
        Document.objects.bulk_create([document for document, _, _ in entries])
        DocumentVersion.objects.bulk_create(versions)
        jobs = IngestionJob.objects.bulk_create(
            IngestionJob(
                workspace_id=version.workspace_id,
                kind=JobKind.DOCUMENT,
                document=version.document,
                version=version,
                requested_by=version.document.added_by,
            )
            for version in versions
        )
        runner.plan_stages(*jobs)
        batching.call_for(jobs[0].workspace_id, [job.pk for job in jobs], runner.MAIN)
        recording.record_added([document for document, _, _ in entries])


@contextmanager
def files_stored(files: Sequence[tuple[DocumentVersion, IO[bytes]]]) -> Iterator[None]:
    """Store the versions' files; delete them if the block, which adds the rows, fails."""
    paths: list[Path] = []
    try:
        for version, file in files:
            # The path consists of our own ids; the name a user gave is never used on disk.
            version.blob = f"{version.workspace_id}/{version.pk}"
            path = Path(default_storage.path(version.blob))
            paths.append(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as target:
                target.writelines(_blocks(file))
        yield
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise
