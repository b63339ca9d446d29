"""Creates workspaces, members and accounts."""

from __future__ import annotations

import logging
from itertools import chain, count
from typing import Final

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access, audit, limits, sql
from workspaces.models import AuditAction, Membership, Role, User, Workspace

logger = logging.getLogger(__name__)

NAME_LENGTH: Final = 120
SLUG_LENGTH: Final = 60


@transaction.atomic
def workspace_create(
    *,
    name: str,
    owner: User | None,
    slug: str = "",
    is_demo: bool = False,
) -> Workspace:
    """Create a workspace; its creator becomes its owner.

    Without ``slug`` the address is made from the name, with a number if that is taken: ``demo-2``.
    Raises ConflictError for a taken slug, InputError for an invalid name, and QuotaError if the
    person has created as many as allowed.
    """
    limits.check_workspaces(owner)
    name, wanted = name_of(name), slugify(slug or name)[:SLUG_LENGTH] or "workspace"
    slug = exact_slug(wanted) if slug else free_slug(wanted)
    workspace = Workspace.objects.create(name=name, slug=slug, created_by=owner, is_demo=is_demo)
    if owner is not None:
        member_add(workspace=workspace, user=owner, role=Role.OWNER)
    audit.record(
        AuditAction.WORKSPACE_CREATED, workspace=workspace, user=owner, after={"name": name}
    )
    logger.info("workspace created workspace=%s", workspace.pk)
    return workspace


def name_of(name: str) -> str:
    """Return a workspace's name, tidied. Raises InputError."""
    name = " ".join(name.split())
    if not name or len(name) > NAME_LENGTH:
        raise InputError(
            f"A workspace needs a name of 1 to {NAME_LENGTH} characters.",
            next_step="Choose another name.",
        )
    return name


def free_slug(wanted: str, *, of: Workspace | None = None) -> str:
    """Return the address, with a number if another workspace has it or had it before.

    It stays free until the open transaction ends.
    """
    run_sql(sql.LOCK, {"name": "addresses of workspaces"})
    others = Workspace.objects.exclude(pk=of.pk) if of else Workspace.objects.all()
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    slugs = (f"{wanted[: SLUG_LENGTH - len(suffix)]}{suffix}" for suffix in suffixes)
    return next(
        slug
        for slug in slugs
        if not others.filter(Q(slug=slug) | Q(former_slugs__contains=[slug])).exists()
    )


def exact_slug(wanted: str, *, of: Workspace | None = None) -> str:
    """Return the address. Raises ConflictError if another workspace has it or had it before."""
    if free_slug(wanted, of=of) != wanted:
        raise ConflictError(
            f"The address '{wanted}' is taken by another workspace.",
            code="slug_taken",
            kept="Nothing was changed.",
            next_step="Choose another name or address.",
        )
    return wanted


def member_add(*, workspace: Workspace, user: User, role: Role) -> Membership:
    """Give a user a role; an existing member's role is replaced."""
    with access.in_workspace(workspace.pk):
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
