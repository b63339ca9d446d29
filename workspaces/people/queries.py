"""Queries for people, workspaces and memberships."""

from __future__ import annotations

import uuid

from kb_project.errors import ConflictError, NotFoundError
from workspaces import access
from workspaces.models import Capability, Membership, User, Workspace


def workspaces_of(*, user: User) -> list[Workspace]:
    """Return the user's workspaces by name, each with the user's ``membership``.

    With a token, there is only the token's workspace.
    Deleted ones are left out, but for their owners, who can restore them: see ``is_deleted``.
    """
    with access.as_person(user):
        memberships = list(
            Membership.objects.filter(user=user)
            .select_related("workspace")
            .order_by("workspace__name")
        )
    for membership in memberships:
        if user.token is not None:
            membership.narrow_to(user.token)
        membership.workspace.membership = membership
    workspaces = [membership.workspace for membership in memberships]
    return [one for one in workspaces if not one.is_deleted or one.may(Capability.OWN)]


def members_of(*, workspace: Workspace) -> list[Membership]:
    """Return the members by the name that is shown of them."""
    found = Membership.objects.in_workspace(workspace).select_related("user")
    return sorted(found, key=lambda one: (str(one.user).casefold(), one.user.email))


def member(*, workspace: Workspace, member_id: uuid.UUID) -> Membership:
    """Return a member with the person. Raises NotFoundError."""
    rows = Membership.objects.in_workspace(workspace).select_related("user")
    found = rows.filter(pk=member_id).first()
    if found is None:
        raise NotFoundError(
            "There is no such member in this workspace.",
            kept="Nothing was changed.",
            next_step="They may have left meanwhile.",
        )
    return found


def workspace_at(*, slug: str) -> Workspace:
    """Return the workspace with this slug, or a former one, for commands: who can run them may see
    every workspace.

    Raises NotFoundError, ConflictError if it was deleted.
    """
    found = Workspace.id_at(slug)
    workspace = Workspace.objects.get(pk=found) if found else None
    if workspace is not None and workspace.is_deleted:
        raise ConflictError(
            f"The workspace '{slug}' was deleted.",
            code="workspace_deleted",
            kept="It is kept for some days.",
            next_step="An owner can restore it, or use another address.",
        )
    if workspace is None:
        raise NotFoundError(
            f"There is no workspace '{slug}'.",
            next_step="`manage.py createworkspace NAME --slug SLUG` makes one.",
        )
    return workspace


def person(*, email: str) -> User:
    """Return the user with this e-mail address. Raises NotFoundError."""
    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        raise NotFoundError(
            f"There is no account for {email}.",
            next_step="Let the person sign up first, or name another one.",
        )
    return user


def only_person() -> User | None:
    """Return the server's account if there is only one: a command's new workspace belongs to it."""
    people = list(User.objects.filter(is_active=True).order_by("pk")[:2])
    return people[0] if len(people) == 1 else None
