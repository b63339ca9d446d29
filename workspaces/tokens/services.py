"""Create, list and revoke API tokens."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from kb_project.errors import ConflictError, ForbiddenError, InputError, found
from workspaces import access, audit
from workspaces.audit import Target
from workspaces.models import ApiToken, AuditAction, Capability, Membership, User, Workspace
from workspaces.models.people import TenantQuerySet
from workspaces.models.tokens import LONGEST_NAME
from workspaces.tokens import authentication


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


logger = logging.getLogger(__name__)

MOST_TOKENS: Final = 50
"""Live tokens of one member."""
DEFAULT_DAYS: Final = 90
MOST_DAYS: Final = 3650


@transaction.atomic
def token_create(
    *,
    workspace: Workspace,
    member: User,
    name: str,
    capabilities: Collection[str],
    days: int | None = DEFAULT_DAYS,
    by: User | None,
) -> tuple[ApiToken, str]:
    """Create a token of a member; return it with its text, which cannot be read again.

    It may always read. It ends after so many days; None: it does not expire. Raises InputError for
    an unusable name or capability, NotFoundError if the user is no member, ForbiddenError if the
    request itself is signed in with a token, ConflictError if the member has very many.
    """
    if by is not None and by.token is not None:
        raise ForbiddenError(
            "A token cannot create tokens.",
            code="token_lacks_capability",
            kept="No token was created.",
            next_step="Sign in as a person to create one.",
        )
    name = _checked_name(name)
    with access.within(workspace.pk):
        memberships = Membership.objects.in_workspace(workspace).select_related("user")
        membership = found(memberships.filter(user=member).first(), "member")
        allowed = _checked_capabilities(membership, capabilities)
        _check_number(workspace, member)
        new = authentication.new_token(workspace.pk)
        token = ApiToken.objects.create(
            workspace=workspace,
            membership=membership,
            name=name,
            prefix=new.prefix,
            digest=new.digest,
            capabilities=allowed,
            expires_at=timezone.now() + timedelta(days=days) if days is not None else None,
        )
        audit.record(
            AuditAction.TOKEN_CREATED,
            workspace=workspace,
            user=by,
            target=Target("token", token.pk, str(token)),
            after={
                "member": str(member),
                "capabilities": allowed,
                "expires_at": token.expires_at and token.expires_at.isoformat(),
            },
        )
    logger.info("token created workspace=%s token=%s", workspace.pk, token.pk)
    return token, new.text


@transaction.atomic
def token_revoke(*, workspace: Workspace, user: User, token_id: UUID) -> ApiToken:
    """End a token at once; a token that was revoked before is left as it is.

    People revoke their own tokens, and who administers the workspace revokes all. A token revokes
    itself, and others only if it may administer. Raises NotFoundError, also for a token that the
    user may not see, and ForbiddenError.
    """
    token = token_get(workspace=workspace, user=user, token_id=token_id)
    is_other = user.token is not None and user.token.pk != token.pk
    if is_other and not workspace.may(Capability.ADMINISTER):
        raise ForbiddenError(
            f"The token {user.token} may revoke only itself.",
            code="token_lacks_capability",
            kept="Nothing was changed.",
            next_step="Sign in as a person to revoke others.",
        )
    live, now = ApiToken.objects.in_workspace(workspace).filter(revoked_at=None), timezone.now()
    if live.filter(pk=token.pk).update(revoked_at=now):
        token.revoked_at = now
        audit.record(
            AuditAction.TOKEN_REVOKED,
            workspace=workspace,
            user=user,
            target=Target("token", token.pk, str(token)),
            before={"member": str(token.membership.user)},
        )
        logger.info("token revoked workspace=%s token=%s", workspace.pk, token.pk)
    return token


def _checked_name(name: str) -> str:
    name = " ".join("".join(one if one.isprintable() else " " for one in name).split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise InputError(
            f"A token needs a name of 1 to {LONGEST_NAME} characters.",
            kept="No token was created.",
            next_step="Name it after the program that uses it.",
        )
    return name


def _checked_capabilities(membership: Membership, wanted: Collection[str]) -> list[str]:
    """Return the capabilities in their order, with reading. Raises InputError."""
    asked = {Capability.READ.value, *wanted}
    lacking = sorted(asked - set(membership.capabilities))
    if lacking:
        raise InputError(
            f"{membership.user} does not have the capability '{lacking[0]}' in this workspace.",
            code="capability_not_held",
            kept="No token was created.",
            next_step="Choose among: " + ", ".join(membership.capabilities) + ".",
        )
    return [one.value for one in Capability if one.value in asked]


def _check_number(workspace: Workspace, member: User) -> None:
    tokens = tokens_of(workspace=workspace, user=member)
    if sum(token.is_live for token in tokens) >= MOST_TOKENS:
        raise ConflictError(
            f"{member} has {MOST_TOKENS} tokens in this workspace, as many as allowed.",
            code="too_many_tokens",
            kept="No token was created.",
            next_step="Revoke one that is no longer used.",
        )
