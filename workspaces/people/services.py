"""Creates workspaces, members and accounts."""

from __future__ import annotations

import logging

from allauth.account.models import EmailAddress
from django.db import transaction
from django.utils.text import slugify

from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access, quotas, sql
from workspaces.audit import services as audit
from workspaces.models import AuditAction, Membership, Role, User, Workspace
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)


@transaction.atomic
def workspace_create(
    *, name: str, owner: User | None, slug: str = "", is_demo: bool = False
) -> Workspace:
    """Create a workspace; its creator becomes its owner.

    Raises InputError for an invalid name, ConflictError if the slug is taken, QuotaError if the
    person has created as many as allowed.
    """
    quotas.check_workspaces(owner)
    name = " ".join(name.split())
    slug = slugify(slug or name)[:60] or "workspace"
    if not name or len(name) > 120:
        raise InputError(
            "A workspace needs a name of 1 to 120 characters.", next_step="Choose another name."
        )
    if Workspace.objects.filter(slug=slug).exists():
        raise ConflictError(
            f"The address '{slug}' is taken by another workspace.",
            code="slug_taken",
            kept="Nothing was changed.",
            next_step="Choose another name or address.",
        )
    workspace = Workspace.objects.create(name=name, slug=slug, created_by=owner, is_demo=is_demo)
    if owner is not None:
        member_add(workspace=workspace, user=owner, role=Role.OWNER)
    audit.record(
        AuditAction.WORKSPACE_CREATED, workspace=workspace, user=owner, after={"name": name}
    )
    logger.info("workspace created workspace=%s", workspace.pk)
    return workspace


def workspace_purge(*, workspace: Workspace) -> None:
    """Delete a workspace's rows and its graph for good, its history too. Its files stay.

    The application may delete no single event: a function of the tables' owner deletes them with
    everything else.
    """
    with access.in_workspace(workspace.pk):
        ports_for(workspace.pk).graph.drop(workspace.pk)
        [(rows,)] = run_sql(sql.PURGE, [workspace.pk])
    logger.info("workspace purged workspace=%s rows=%s", workspace.pk, rows)


def member_add(*, workspace: Workspace, user: User, role: Role) -> Membership:
    """Give a user a role; an existing member's role is replaced."""
    with access.in_workspace(workspace.pk, user_id=user.pk):
        membership, _ = Membership.objects.update_or_create(
            workspace=workspace,
            user=user,
            defaults={"role": role, "capabilities": role.capabilities},
        )
    logger.info("member added workspace=%s user=%s role=%s", workspace.pk, user.pk, role)
    return membership


@transaction.atomic
def person_add(*, email: str, password: str, name: str = "") -> User:
    """Create an account with a confirmed address. Raises ConflictError if it is taken."""
    if User.objects.filter(email=email.lower()).exists():
        raise ConflictError(
            f"There is an account for {email} already.",
            code="email_taken",
            kept="Nothing was changed.",
        )
    user = User.objects.create_user(email, password, name=name)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    logger.info("person added user=%s", user.pk)
    return user
