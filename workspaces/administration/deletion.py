"""Delete a workspace: closed at once, restorable for some days, then purged.

While it is closed the gate refuses it to everyone, work on its documents pauses with everything
kept (``workspaces.ports``), and answers that are being written stop.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from kb_project.errors import InputError, NotFoundError
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from workspaces import access, sql
from workspaces.administration import exports
from workspaces.audit import services as audit
from workspaces.audit.services import Target
from workspaces.language_models.services import QUEUE, RESUME
from workspaces.models import AuditAction, User, Workspace

logger = logging.getLogger(__name__)


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
        folders = Path(default_storage.path(str(workspace_id))), exports.folder_of(workspace_id)
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
