"""Change a workspace's settings; delete a workspace, restore or purge it.

A deleted one is closed at once, can be restored for some days, and is then purged. While it is
closed the gate refuses it to everyone, work on its documents pauses with everything kept
(``workspaces.ports``), and answers that are being written stop.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django_q.tasks import async_task

from kb_project.errors import InputError, NotFoundError
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from kb_project.text.languages import LANGUAGES
from workspaces import access, audit, sql
from workspaces.administration import exports
from workspaces.audit import Target
from workspaces.language_models.services import QUEUE, RESUME
from workspaces.models import AuditAction, User, Workspace
from workspaces.people import services as people_services

logger = logging.getLogger(__name__)

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
