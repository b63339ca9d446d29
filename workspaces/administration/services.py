"""Change a workspace's settings; delete, restore, purge and export a workspace.

The file is a backup of the workspace, without keys of models: ``manage.py restore`` reads it.

A deleted one is closed at once, can be restored for some days, and is then purged. While it is
closed the gate refuses it to everyone, work on its documents pauses with everything kept
(``workspaces.ports``), and answers that are being written stop.
"""

from __future__ import annotations

import logging
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django_q.tasks import async_task

from kb_project.backup import writing
from kb_project.errors import ConflictError, InputError, KBError, NotFoundError, Problem
from kb_project.http.downloads import download
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from kb_project.text.languages import LANGUAGES
from workspaces import access, audit, limits, sql
from workspaces.audit import Target
from workspaces.language_models.services import QUEUE, RESUME
from workspaces.limits import Rate
from workspaces.models import AuditAction, ExportState, User, Workspace, WorkspaceExport
from workspaces.people import members, services as people_services

# --- exports --------------------------------------------------------------------------------------
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


# --- settings and deletion ------------------------------------------------------------------------
MOST_FORMER: Final = 5
"""Addresses a workspace had before that still lead to it."""


@transaction.atomic
def settings_update(*, workspace: Workspace, user: User | None, **given: Any) -> Workspace:
    """Change the settings that are given; see ``FIELDS``.

    Links to the former address keep working, as to the four before it. Raises InputError, and
    ConflictError for a taken address.
    """
    values = {name: FIELDS[name](workspace, value) for name, value in given.items()}
    changed = {name: one for name, one in values.items() if one != getattr(workspace, name)}
    if not changed:
        return workspace
    before = {name: getattr(workspace, name) for name in changed}
    if "slug" in changed:
        former = [*workspace.former_slugs, workspace.slug]
        kept = [one for one in former if one != changed["slug"]]
        workspace.former_slugs = kept[-MOST_FORMER:]
    for name, value in changed.items():
        setattr(workspace, name, value)
    workspace.save(update_fields=[*changed, "former_slugs"])
    audit.record(
        AuditAction.WORKSPACE_CHANGED,
        workspace=workspace,
        user=user,
        target=Target("workspace", workspace.pk, workspace.name),
        before=before,
        after=changed,
    )
    logger.info("workspace changed workspace=%s fields=%s", workspace.pk, ",".join(changed))
    return workspace


def _name(_workspace: Workspace, given: str) -> str:
    return people_services.name_of(given)


def _slug(workspace: Workspace, given: str) -> str:
    slug = slugify(given)[: people_services.SLUG_LENGTH]
    if not slug:
        raise InputError(
            "An address needs at least one letter or number.",
            code="invalid_slug",
            kept="Nothing was changed.",
            next_step="Choose another address.",
        )
    return slug if slug == workspace.slug else people_services.exact_slug(slug, of=workspace)


def _language(_workspace: Workspace, given: str) -> str:
    if given not in LANGUAGES:
        raise InputError(
            f"“{given[:20]}” is not a language that can be the default.",
            code="invalid_choice",
            kept="Nothing was changed.",
            next_step="Choose one of the list.",
        )
    return given


def _switch(_workspace: Workspace, given: object) -> bool:
    return bool(given)


FIELDS: Final[Mapping[str, Callable[[Workspace, Any], object]]] = {
    "name": _name,
    "slug": _slug,
    "document_language": _language,
    "editors_invite": _switch,
    "editors_delete": _switch,
    "viewers_export": _switch,
}
"""The settings, with what checks each."""


# --- deletion -------------------------------------------------------------------------------------
def workspace_delete(*, workspace: Workspace, user: User | None, name: str) -> Workspace:
    """Close the workspace at once, and plan its purge. Raises InputError unless ``name`` is its
    name: the confirmation.
    """
    if " ".join(name.split()) != workspace.name:
        raise InputError(
            "The name you typed is not the name of this workspace.",
            code="name_differs",
            kept="Nothing was deleted.",
            next_step=f"Type “{workspace.name}” to delete it.",
        )
    with access.in_workspace(workspace.pk):
        workspace.purge_at = timezone.now() + timedelta(days=settings.WORKSPACE_DELETION_DAYS)
        workspace.save(update_fields=["purge_at"])
        _record(AuditAction.WORKSPACE_DELETED, workspace, user)
    logger.info("workspace deleted workspace=%s", workspace.pk)
    return workspace


def workspace_restore(*, workspace: Workspace, user: User | None) -> Workspace:
    """Open a deleted workspace again as it was, and continue the work that paused.

    Raises NotFoundError if it was purged meanwhile.
    """
    with access.in_workspace(workspace.pk):
        rows = Workspace.objects.filter(pk=workspace.pk)
        if not rows.update(purge_at=None):
            raise NotFoundError("The workspace was deleted for good meanwhile.")
        workspace.purge_at = None
        _record(AuditAction.WORKSPACE_RESTORED, workspace, user)
        transaction.on_commit(partial(async_task, RESUME, str(workspace.pk), cluster=QUEUE))
    logger.info("workspace restored workspace=%s", workspace.pk)
    return workspace


def workspaces_purge() -> int:
    """Purge the workspaces whose time to be restored is over; return how many."""
    due = Workspace.objects.filter(purge_at__lt=timezone.now()).order_by("purge_at")
    ids = list(due.values_list("pk", flat=True))
    return sum(_purge_if_due(workspace_id) for workspace_id in ids)


def workspace_purge(workspace_id: uuid.UUID) -> None:
    """Delete a workspace with everything in it: editions, rows, graph and files."""
    editions = Workspace.objects.filter(source=workspace_id).values_list("pk", flat=True)
    with transaction.atomic():
        for edition_id in list(editions):
            rows_purge(edition_id)
        rows_purge(workspace_id)
        folders = Path(default_storage.path(str(workspace_id))), folder_of(workspace_id)
        for folder in folders:
            transaction.on_commit(partial(shutil.rmtree, folder, ignore_errors=True))
    logger.info("workspace purged workspace=%s", workspace_id)


def rows_purge(workspace_id: uuid.UUID) -> None:
    """Delete a workspace's rows and graph, and keep its files.

    The application may delete no single event: a function of the tables' owner deletes them with
    everything else.
    """
    with access.in_workspace(workspace_id):
        graph_store().drop(workspace_id)
        run_sql(sql.PURGE, [workspace_id])


def _purge_if_due(workspace_id: uuid.UUID) -> bool:
    """Purge unless an owner has restored it meanwhile."""
    with transaction.atomic():
        rows = Workspace.objects.select_for_update().filter(pk=workspace_id)
        if not rows.filter(purge_at__lt=timezone.now()).exists():
            return False
        workspace_purge(workspace_id)
    return True


def _record(action: AuditAction, workspace: Workspace, user: User | None) -> None:
    target = Target("workspace", workspace.pk, workspace.name)
    until = workspace.purge_at.isoformat() if workspace.purge_at else None
    audit.record(action, workspace=workspace, user=user, target=target, after={"purge_at": until})
