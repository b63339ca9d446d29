"""Queries for the versions of a document."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import F, QuerySet

from ingestion.models import Document, DocumentVersion, IngestionJob, JobKind, RunState
from kb_project.errors import found
from workspaces.models import Workspace

UNDER_WAY = (RunState.PENDING, RunState.RUNNING, RunState.PAUSED)


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


def version_get(*, workspace: Workspace, document: Document, number: int) -> DocumentVersion:
    """Return a version. Raises NotFoundError."""
    return found(
        DocumentVersion.objects.in_workspace(workspace)
        .filter(document=document, number=number)
        .select_related("document", "added_by")
        .first(),
        "version of this document",
    )


def document_of_file(*, workspace: Workspace, name: str) -> Document | None:
    """Return the newest searched document with this file name."""
    rows = Document.objects.in_workspace(workspace).filter(
        name=name, disabled_at=None, trashed_at=None
    )
    return rows.order_by("-created_at").first()


def version_asked(
    *, workspace: Workspace, document: Document, number: int | None
) -> DocumentVersion:
    """Return that version, or the live one if none is given. Raises NotFoundError."""
    wanted = document.live_number if number is None else number
    return version_get(workspace=workspace, document=document, number=wanted)


def version_rows(*, workspace: Workspace, document: Document) -> list[VersionRow]:
    """Return the versions, newest first, without their texts."""
    versions = (
        DocumentVersion.objects.in_workspace(workspace)
        .filter(document=document)
        .select_related("document", "added_by")
        .defer("text", "pages", "headings")
        .order_by("-number")
    )
    jobs = {job.version_id: job for job in _jobs(workspace, document)}
    return [_row(document, version, jobs.get(version.pk)) for version in versions]


def _jobs(workspace: Workspace, document: Document) -> QuerySet[IngestionJob]:
    jobs = IngestionJob.objects.in_workspace(workspace).filter(document=document)
    return jobs.filter(kind=JobKind.DOCUMENT).order_by("created_at")


def _row(document: Document, version: DocumentVersion, job: IngestionJob | None) -> VersionRow:
    is_live = version.number == document.live_number
    return VersionRow(
        version=version,
        name=version.name or document.name,
        size=version.size or document.size,
        state="live" if is_live else _state(job),
        problem=job.problem if job and not is_live else None,
    )


def _state(job: IngestionJob | None) -> str:
    if job and job.state in UNDER_WAY:
        return "reading"
    return "failed" if job and job.problem else "earlier"


def versions_unread(*, workspace: Workspace, document_id: uuid.UUID) -> list[int]:
    """Return the numbers of the versions being read. A version goes live before its last stage
    ends.
    """
    jobs = IngestionJob.objects.in_workspace(workspace).filter(
        document_id=document_id, kind=JobKind.DOCUMENT, state__in=UNDER_WAY
    )
    jobs = jobs.exclude(version__number=F("document__live_number"))
    return sorted(jobs.values_list("version__number", flat=True))
