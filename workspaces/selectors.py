"""Reads of who is where."""

from __future__ import annotations

from workspaces import access
from workspaces.models import Membership, User, Workspace


def workspaces_of(*, user: User) -> list[Workspace]:
    """The person's workspaces by name, each with the person's ``membership``."""
    with access.as_person(user):
        memberships = list(
            Membership.objects.filter(user=user)
            .select_related("workspace")
            .order_by("workspace__name")
        )
    for membership in memberships:
        membership.workspace.membership = membership
    return [membership.workspace for membership in memberships]


def members_of(*, workspace: Workspace) -> list[Membership]:
    return list(
        Membership.objects.in_workspace(workspace)
        .select_related("user")
        .order_by("user__name", "user__email")
    )
