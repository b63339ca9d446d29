"""Exports of a whole workspace: one portable file, made in the background, kept for some days.

The file is a backup of the workspace, without keys of models: ``manage.py restore`` reads it.
"""

from __future__ import annotations

import logging
import time
import uuid
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.http import StreamingHttpResponse
from django.utils import timezone
from django_q.tasks import async_task

from kb_project.backup import writing
from kb_project.errors import ConflictError, KBError, NotFoundError, Problem
from kb_project.http.downloads import download
from workspaces import access, audit, limits
from workspaces.audit import Target
from workspaces.language_models.services import QUEUE
from workspaces.limits import Rate
from workspaces.models import AuditAction, ExportState, User, Workspace, WorkspaceExport
from workspaces.people import members

logger = logging.getLogger(__name__)

EXPORT: Final = "ingestion.tasks.export_workspace"
EXPORTS: Final = Rate(6, 86_400)
SHOWN: Final = 5
# A worker that has been silent for this long has died.
PATIENCE: Final = timedelta(hours=2)
LOST: Final = Problem(
    code="interrupted",
    happened="The worker that made this export stopped before it was finished.",
    kept="Nothing was changed.",
    next_step="Request it again.",
)


def export_request(*, workspace: Workspace, user: User) -> WorkspaceExport:
    """Have a worker make an export. Raises ConflictError during another, and after too many."""
    with members.changing(workspace):
        if any(one.state == ExportState.WAITING for one in exports_of(workspace=workspace)):
            raise ConflictError(
                "An export of this workspace is being prepared already.",
                code="export_running",
                kept="Nothing was changed.",
                next_step="Wait until it is ready.",
            )
        if not limits.take(f"exports of {workspace.pk}", EXPORTS).is_allowed:
            raise ConflictError(
                f"A workspace can be exported {EXPORTS.count} times a day.",
                code="too_many_exports",
                kept="Nothing was changed.",
                next_step="Use the latest export, or try again tomorrow.",
            )
        row = WorkspaceExport.objects.create(workspace=workspace, requested_by=user)
        audit.record(
            AuditAction.EXPORT_REQUESTED,
            workspace=workspace,
            user=user,
            target=Target("export", row.pk),
        )
        call = partial(async_task, EXPORT, str(workspace.pk), str(row.pk), cluster=QUEUE)
        transaction.on_commit(call)
    return row


def exports_of(*, workspace: Workspace) -> list[WorkspaceExport]:
    """Return the latest exports, newest first; one whose worker died counts as failed."""
    with access.in_workspace(workspace.pk):
        rows = WorkspaceExport.objects.in_workspace(workspace).order_by("-created_at", "-id")
        found = list(rows.select_related("requested_by")[:SHOWN])
    for row in found:
        if row.state == ExportState.WAITING and row.created_at < timezone.now() - PATIENCE:
            row.state, row.problem = ExportState.FAILED, LOST
    return found


def export_of(*, workspace: Workspace, export_id: uuid.UUID) -> WorkspaceExport:
    """Return an export. Raises NotFoundError."""
    found = [one for one in exports_of(workspace=workspace) if one.pk == export_id]
    if not found:
        raise NotFoundError("There is no such export.")
    return found[0]


def export_make(workspace_id: uuid.UUID, export_id: uuid.UUID) -> None:
    """Write a requested export; its row records how that ended. For a worker, outside of
    transactions.
    """
    with access.in_workspace(workspace_id):
        rows = WorkspaceExport.objects.in_workspace(workspace_id).filter(pk=export_id)
        is_ours = rows.filter(started_at=None).update(started_at=timezone.now())
        slug = Workspace.objects.filter(pk=workspace_id).values_list("slug", flat=True).first()
    if not is_ours or not slug:
        return
    path = path_of(workspace_id, export_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        writing.write(path, slug, with_secrets=False, report=lambda *_: None)
    except KBError as error:
        ended: dict[str, Any] = {"state": ExportState.FAILED, "problem": error.problem()}
    else:
        ended = {"state": ExportState.READY, "size": path.stat().st_size}
    with access.in_workspace(workspace_id):
        rows.update(finished_at=timezone.now(), **ended)
    logger.info("export ended workspace=%s state=%s", workspace_id, ended["state"])


def export_download(
    *, workspace: Workspace, user: User, export_id: uuid.UUID
) -> StreamingHttpResponse:
    """Return the file as a download. Raises NotFoundError, ConflictError if it is not ready."""
    row = export_of(workspace=workspace, export_id=export_id)
    path = path_of(workspace.pk, row.pk)
    if row.state == ExportState.READY and not path.exists():
        raise NotFoundError(
            f"Exports are kept for {settings.EXPORT_DAYS} days, and this one was deleted.",
            code="export_gone",
            next_step="Request a new one.",
        )
    if row.state != ExportState.READY:
        raise ConflictError("This export is not ready.", code="export_not_ready")
    audit.record(
        AuditAction.EXPORT_DOWNLOADED,
        workspace=workspace,
        user=user,
        target=Target("export", row.pk),
    )
    day = timezone.localtime(row.created_at)
    with path.open("rb") as file:
        return download(
            file, name=f"{workspace.slug}-{day:%Y-%m-%d}.zip", content_type="application/zip"
        )


def forget_old_exports() -> int:
    """Delete the files of exports that were kept long enough; return how many."""
    limit = time.time() - settings.EXPORT_DAYS * 86_400
    old = [path for path in settings.EXPORT_ROOT.glob("*/*") if path.stat().st_mtime < limit]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def folder_of(workspace_id: uuid.UUID) -> Path:
    return Path(settings.EXPORT_ROOT) / str(workspace_id)


def path_of(workspace_id: uuid.UUID, export_id: uuid.UUID) -> Path:
    return folder_of(workspace_id) / f"{export_id}.zip"
