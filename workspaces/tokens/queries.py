"""Reads the tokens of a workspace."""

from __future__ import annotations

from uuid import UUID

from kb_project.errors import found
from workspaces.models import ApiToken, Capability, User, Workspace
from workspaces.models.people import TenantQuerySet


def tokens_of(*, workspace: Workspace, user: User) -> list[ApiToken]:
    """Return the member's tokens, newest first, ended ones too."""
    return list(_tokens(workspace).filter(membership__user=user))


def tokens_in(*, workspace: Workspace) -> list[ApiToken]:
    """Return all members' tokens, newest first: for those who administer the workspace."""
    return list(_tokens(workspace))


def token_get(*, workspace: Workspace, user: User, token_id: UUID) -> ApiToken:
    """Return a token of the user's, or any for those who administer the workspace.

    Raises NotFoundError.
    """
    tokens = _tokens(workspace).filter(pk=token_id)
    if not workspace.may(Capability.ADMINISTER):
        tokens = tokens.filter(membership__user=user)
    return found(tokens.first(), "token")


def _tokens(workspace: Workspace) -> TenantQuerySet[ApiToken]:
    return ApiToken.objects.in_workspace(workspace).select_related("membership__user")
