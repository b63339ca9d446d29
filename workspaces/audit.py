"""Record who did what in a workspace, in the transaction of the action, and say it for people."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from structlog.contextvars import get_contextvars

from workspaces import access
from workspaces.models import AuditAction, AuditEvent, User, Workspace

logger = logging.getLogger(__name__)

NOBODY: Final = "Concordance"
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


# What was done, after the name of the actor. An action without a line here shows its label.
_PHRASES: Final = {
    "workspace_created": "created the workspace",
    "workspace_changed": "changed the workspace’s settings",
    "workspace_deleted": "deleted the workspace",
    "workspace_restored": "restored the workspace",
    "workspace_backed_up": "backed up the workspace to a file",
    "workspace_read_back": "restored the workspace from a file",
    "export_requested": "requested an export",
    "export_downloaded": "downloaded an export",
    "questions_exported": "exported the questions of {object}",
    "results_exported": "exported the results of a run of {object}",
    "graph_exported": "exported the graph",
    "audit_exported": "exported the audit log",
    "set_deleted": "deleted the question set {object}",
    "models_changed": "changed the models",
    "reranker_changed": "changed the reranker",
    "embedding_changed": "began to change the embedding model",
    "embedding_kept": "cancelled the change of the embedding model",
    "prices_changed": "changed the prices of models",
    "budget_changed": "changed the budget",
    "entity_types_changed": "changed the entity types",
    "cache_cleared": "cleared the cache of replies",
    "member_invited": "invited {object}",
    "invitation_resent": "renewed the invitation of {object}",
    "invitation_revoked": "revoked the invitation of {object}",
    "invitation_declined": "declined an invitation",
    "member_joined": "joined the workspace",
    "role_changed": "changed the role of {object}",
    "member_removed": "removed {object}",
    "member_left": "left the workspace",
    "ownership_transferred": "transferred ownership to {object}",
    "token_created": "created the API token {object}",
    "token_revoked": "revoked the API token {object}",
    "group_created": "created the group {object}",
    "group_changed": "changed the group {object}",
    "group_deleted": "deleted the group {object}",
    "collection_restricted": "restricted the collection {object}",
    "collection_opened": "opened the collection {object} to all members",
    "grant_given": "granted access to the collection {object}",
    "grant_taken": "removed access to the collection {object}",
    "installation_model_set": "allowed or withheld the installation’s model",
    "opened_by_operator": "opened the workspace in the administration",
}
_OF_LINKS: Final = {
    "member_invited": "created an invitation link",
    "invitation_resent": "renewed an invitation link",
    "invitation_revoked": "revoked an invitation link",
}


def sentence(event: AuditEvent) -> str:
    """Say who did what: "Ana changed the role of “Ben”."."""
    named = f"“{event.object_name}”" if event.object_name else "something"
    is_link = (event.object_kind, event.object_name) == ("invitation", "link")
    phrase = (_OF_LINKS if is_link else _PHRASES).get(event.action, _PHRASES.get(event.action))
    if phrase is not None:
        return f"{event.actor} {phrase.format(object=named)}."
    about = f" {named}" if event.object_name else ""
    return f"{event.actor}: {label(event.action)}{about}."


def label(action: str) -> str:
    """
    >>> label("workspace_created"), label("made_up")
    ('Workspace created', 'Made up')
    """
    labels = dict(AuditAction.choices)
    return str(labels.get(action, action.replace("_", " ").capitalize()))
