"""Changes of a workspace's members: roles, removal, leaving, transfer of ownership.

One change at a time: each takes a lock on the workspace's members and reads both memberships
again, so that the last owner stays whatever happens at the same time.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from allauth.account.models import EmailAddress
from django.db.models import Q

from kb_project.errors import ConflictError, ForbiddenError, NotFoundError
from kb_project.sql import run_sql
from workspaces import access, audit, editions, sql
from workspaces.audit import Target
from workspaces.models import (
    AuditAction,
    Capability,
    Invitation,
    InvitationState,
    Membership,
    Role,
    User,
    Workspace,
)
from workspaces.people import queries

logger = logging.getLogger(__name__)

UNCHANGED = "Nothing was changed."


@contextmanager
def changing(workspace: Workspace) -> Iterator[None]:
    """Open the workspace's rows for one change of its members; others wait for it to end."""
    with access.in_workspace(workspace.pk):
        run_sql(sql.LOCK, {"name": f"members of {workspace.pk}"})
        yield


def role_set(
    *, workspace: Workspace, user: User | None, member_id: uuid.UUID, role: Role
) -> Membership:
    """Give a member another role. ``user`` is None for commands, which may do everything.

    Raises NotFoundError, ForbiddenError for a role or a member above the user's own,
    ConflictError for the last owner.
    """
    with changing(workspace):
        member = queries.member(workspace=workspace, member_id=member_id)
        _check_rank(workspace, user, member, role)
        before = member.role
        if before == role:
            return member
        if before == Role.OWNER:
            _check_not_last_owner(workspace, member)
        _give(member, role)
        if role.rank < Role(before).rank:
            _revoke(workspace, Q(created_by=member.user_id))
        audit.record(
            AuditAction.ROLE_CHANGED,
            workspace=workspace,
            user=user,
            target=target_of(member),
            before={"role": before},
            after={"role": role.value},
        )
        editions.request_sync(workspace.pk, audiences_changed=True)
    logger.info("role changed workspace=%s user=%s role=%s", workspace.pk, member.user_id, role)
    return member


def member_remove(*, workspace: Workspace, user: User | None, member_id: uuid.UUID) -> Membership:
    """End a membership at once; what the member made stays. A member who removes themself leaves.

    Links that several people can use stop working, since the member may know them, and so do the
    invitations the member sent. Raises NotFoundError, ForbiddenError for a member above the user,
    ConflictError for the last owner.
    """
    with changing(workspace):
        member = queries.member(workspace=workspace, member_id=member_id)
        leaves = user is not None and member.user_id == user.pk
        if not leaves:
            _check_rank(workspace, user, member, Role.VIEWER)
        _check_not_last_owner(workspace, member)
        target, role = target_of(member), member.role
        addresses = list(
            EmailAddress.objects.filter(user=member.user_id).values_list("email", flat=True)
        )
        Membership.objects.in_workspace(workspace).filter(pk=member.pk).delete()
        known = Q(is_reusable=True) | Q(email__in=[one.lower() for one in addresses])
        _revoke(workspace, Q(created_by=member.user_id) | known)
        action = AuditAction.MEMBER_LEFT if leaves else AuditAction.MEMBER_REMOVED
        audit.record(action, workspace=workspace, user=user, target=target, before={"role": role})
        editions.request_sync(workspace.pk, audiences_changed=True)
    logger.info("member removed workspace=%s user=%s", workspace.pk, member.user_id)
    return member


def member_leave(*, workspace: Workspace, user: User) -> None:
    """End the user's own membership. Raises ConflictError for the last owner."""
    with access.in_workspace(workspace.pk):
        own = Membership.objects.in_workspace(workspace).filter(user=user)
        member_id = own.values_list("pk", flat=True).first()
    if member_id is None:
        raise NotFoundError("You are not a member of this workspace.")
    member_remove(workspace=workspace, user=user, member_id=member_id)


def ownership_transfer(*, workspace: Workspace, user: User, member_id: uuid.UUID) -> Membership:
    """Make another member the owner in the user's place; the user becomes an admin.

    Raises NotFoundError, ForbiddenError if the user is no owner, ConflictError for a transfer to
    oneself.
    """
    with changing(workspace):
        member, own = (
            queries.member(workspace=workspace, member_id=member_id),
            _actor(workspace, user),
        )
        if not own.may(Capability.OWN):
            raise _above("Only an owner may transfer the workspace.")
        if member.user_id == user.pk:
            raise ConflictError(
                "You own this workspace already.",
                code="already_owner",
                kept=UNCHANGED,
                next_step="Choose another member.",
            )
        before = member.role
        _give(member, Role.OWNER)
        _give(own, Role.ADMIN)
        _revoke(workspace, Q(created_by=user, role=Role.OWNER))
        audit.record(
            AuditAction.OWNERSHIP_TRANSFERRED,
            workspace=workspace,
            user=user,
            target=target_of(member),
            before={"role": before},
            after={"role": Role.OWNER.value},
        )
    logger.info("ownership transferred workspace=%s to=%s", workspace.pk, member.user_id)
    return member


def rank_of(workspace: Workspace, user: User | None) -> int:
    """Return the rank up to which the user may give roles and change members.

    Read again, in ``changing``. A token's membership counts as what passed the gate.
    """
    if user is None:
        return Role.OWNER.rank
    ranks = [_actor(workspace, user).rank]
    passed = workspace.membership
    if passed is not None and passed.user_id == user.pk:
        ranks.append(passed.rank)
    return min(ranks)


def target_of(member: Membership) -> Target:
    return Target("member", member.pk, str(member.user))


def _actor(workspace: Workspace, user: User) -> Membership:
    member = Membership.objects.in_workspace(workspace).filter(user=user).first()
    if member is None:
        raise _above("You are no longer a member of this workspace.")
    return member


def _check_rank(workspace: Workspace, user: User | None, member: Membership, role: Role) -> None:
    rank = rank_of(workspace, user)
    if rank < Role.ADMIN.rank:
        raise _above("Only admins and owners may change members.")
    if member.rank > rank:
        raise _above(f"{member.user} is {member.role_with_article}: only an owner can change that.")
    if role.rank > rank:
        raise _above(f"You can't give the role {role.label}, which is above your own.")


def _above(happened: str) -> ForbiddenError:
    return ForbiddenError(
        happened, code="above_own_role", kept=UNCHANGED, next_step="Ask an owner of the workspace."
    )


def _check_not_last_owner(workspace: Workspace, member: Membership) -> None:
    owners = Membership.objects.in_workspace(workspace).filter(role=Role.OWNER)
    if member.role == Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise ConflictError(
            f"{member.user} is the only owner, and a workspace needs one.",
            code="last_owner",
            kept=UNCHANGED,
            next_step="Make another member an owner first, or delete the workspace.",
        )


def _give(member: Membership, role: Role) -> None:
    member.role, member.capabilities = role, role.capabilities
    rows = Membership.objects.in_workspace(member.workspace_id).filter(pk=member.pk)
    rows.update(role=role, capabilities=role.capabilities)


def _revoke(workspace: Workspace, which: Q) -> None:
    rows = Invitation.objects.in_workspace(workspace).filter(which, state=InvitationState.OPEN)
    rows.update(state=InvitationState.REVOKED)
