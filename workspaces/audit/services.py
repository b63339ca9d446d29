"""Record who did what in a workspace, in the transaction of the action."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from structlog.contextvars import get_contextvars

from workspaces import access
from workspaces.models import AuditAction, AuditEvent, User, Workspace

logger = logging.getLogger(__name__)

NOBODY: Final = "The server"
"""Who does what a command or a job does."""


@dataclass(frozen=True, slots=True)
class Target:
    """What an action was done to, such as a member or a token, with its name at the time."""

    kind: str
    id: object = ""
    name: str = ""


def acting(workspace: Workspace) -> User | None:
    """Return the user who passed the gate of this workspace; None for a command or a job."""
    return workspace.membership.user if workspace.membership else None


def record(
    action: AuditAction,
    *,
    workspace: Workspace,
    user: User | None,
    target: Target | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Add an event. Call it last in the transaction of the action; never pass a secret.

    The request's id, its token and its way in (page, api, command) are those bound to the log.
    """
    context = get_contextvars()
    target = target or Target("")
    with access.within(workspace.pk):
        AuditEvent.objects.create(
            workspace=workspace,
            action=action,
            user=user,
            actor=str(user or NOBODY)[:200],
            token=str(context.get("token", ""))[:120],
            via=str(context.get("via", "page" if user else "command"))[:12],
            object_kind=target.kind,
            object_id=str(target.id)[:64],
            object_name=target.name[:300],
            before=dict(before or {}),
            after=dict(after or {}),
            request_id=str(context.get("request_id", ""))[:64],
        )
    logger.info("recorded action=%s workspace=%s", action, workspace.pk)
