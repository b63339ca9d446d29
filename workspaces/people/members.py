"""Changes of a workspace's members and its groups, to whom access is granted together.

One change at a time: each takes a lock on the workspace's members and reads both memberships
again, so that the last owner stays whatever happens at the same time.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from allauth.account.models import EmailAddress
from django.db import IntegrityError, transaction
from django.db.models import Q

from kb_project.errors import ConflictError, ForbiddenError, InputError, NotFoundError, found
from kb_project.sql import run_sql
from workspaces import access, audit, editions, sql
from workspaces.audit import Target
from workspaces.models import (
    AuditAction,
    Capability,
    Group,
    GroupMember,
    Invitation,
    InvitationState,
    Membership,
    Role,
    User,
    Workspace,
)
from workspaces.people import queries

# --- members --------------------------------------------------------------------------------------
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


# --- groups ---------------------------------------------------------------------------------------
GROUP_NAME_LENGTH: Final = 120


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group with its members, by name."""

    group: Group
    members: tuple[Membership, ...]


def groups_of(*, workspace: Workspace) -> list[GroupView]:
    """Return the groups by name."""
    with access.in_workspace(workspace.pk):
        groups = list(Group.objects.in_workspace(workspace).order_by("name"))
        rows = GroupMember.objects.in_workspace(workspace).select_related("membership__user")
        members = [(row.group_id, row.membership) for row in rows]
    members.sort(key=lambda row: str(row[1].user).lower())
    return [
        GroupView(group, tuple(one for group_id, one in members if group_id == group.pk))
        for group in groups
    ]


def group_view(*, workspace: Workspace, group_id: uuid.UUID) -> GroupView:
    """Return one group. Raises NotFoundError."""
    views = groups_of(workspace=workspace)
    return found(next((view for view in views if view.group.pk == group_id), None), "group")


def group_create(*, workspace: Workspace, user: User, name: str) -> Group:
    """Create an empty group. Raises InputError and ConflictError for its name."""
    name = _clean(name)
    with access.in_workspace(workspace.pk):
        try:
            with transaction.atomic():
                group = Group.objects.create(workspace=workspace, name=name)
        except IntegrityError as error:
            raise _taken(name) from error
        audit.record(
            AuditAction.GROUP_CREATED,
            workspace=workspace,
            user=user,
            target=Target("group", group.pk, name),
        )
    return group


def group_change(
    *,
    workspace: Workspace,
    user: User,
    group_id: uuid.UUID,
    name: str | None = None,
    members: Collection[uuid.UUID] | None = None,
) -> GroupView:
    """Rename a group or replace its members, given by membership.

    Who joins or leaves sees other collections from then on. Raises NotFoundError, InputError and
    ConflictError.
    """
    with access.in_workspace(workspace.pk):
        group = _locked(workspace, group_id)
        before = group_view(workspace=workspace, group_id=group_id)
        if name is not None:
            group.name = _clean(name)
            try:
                with transaction.atomic():
                    group.save(update_fields=["name"])
            except IntegrityError as error:
                raise _taken(group.name) from error
        if members is not None:
            _replace_members(group, members)
        after = group_view(workspace=workspace, group_id=group_id)
        audit.record(
            AuditAction.GROUP_CHANGED,
            workspace=workspace,
            user=user,
            target=Target("group", group.pk, group.name),
            before=_told(before),
            after=_told(after),
        )
    return after


def group_delete(*, workspace: Workspace, user: User, group_id: uuid.UUID) -> None:
    """Delete a group with what was granted to it; its members stay. Raises NotFoundError."""
    with access.in_workspace(workspace.pk):
        group = _locked(workspace, group_id)
        before = group_view(workspace=workspace, group_id=group_id)
        Group.objects.in_workspace(workspace).filter(pk=group.pk).delete()
        audit.record(
            AuditAction.GROUP_DELETED,
            workspace=workspace,
            user=user,
            target=Target("group", group.pk, group.name),
            before=_told(before),
        )
        editions.request_sync(workspace.pk, audiences_changed=True)


def _replace_members(group: Group, members: Collection[uuid.UUID]) -> None:
    workspace = group.workspace_id
    known = Membership.objects.in_workspace(workspace).filter(pk__in=members)
    if known.count() != len(set(members)):
        raise InputError(
            "One of these people is no longer a member of the workspace.",
            code="not_a_member",
            kept="The group was not changed.",
            next_step="Open the group again and choose from its present members.",
        )
    rows = GroupMember.objects.in_workspace(workspace).filter(group=group)
    rows.exclude(membership__in=members).delete()
    there = set(rows.values_list("membership_id", flat=True))
    GroupMember.objects.bulk_create(
        GroupMember(workspace_id=workspace, group=group, membership_id=one)
        for one in set(members) - there
    )
    editions.request_sync(workspace, audiences_changed=True)


def _locked(workspace: Workspace, group_id: uuid.UUID) -> Group:
    rows = Group.objects.in_workspace(workspace).select_for_update()
    return found(rows.filter(pk=group_id).first(), "group")


def _told(view: GroupView) -> dict[str, object]:
    return {"name": view.group.name, "members": [str(one.user) for one in view.members]}


def _clean(name: str) -> str:
    cleaned = " ".join(name.replace("\0", "").split())
    if not cleaned or len(cleaned) > GROUP_NAME_LENGTH:
        raise InputError(
            f"A group needs a name of 1 to {GROUP_NAME_LENGTH} characters.",
            kept="Nothing was changed.",
        )
    return cleaned


def _taken(name: str) -> ConflictError:
    return ConflictError(
        f"There is a group called '{name}' already.",
        code="group_name_taken",
        kept="Nothing was changed.",
        next_step="Choose another name.",
    )
