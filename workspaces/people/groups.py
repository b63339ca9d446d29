"""Groups of members, to whom access is granted together."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db import IntegrityError, transaction

from kb_project.errors import ConflictError, InputError, found
from workspaces import access, audit, editions
from workspaces.audit import Target
from workspaces.models import AuditAction, Group, GroupMember, Membership, User, Workspace

NAME_LENGTH: Final = 120


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
    if not cleaned or len(cleaned) > NAME_LENGTH:
        raise InputError(
            f"A group needs a name of 1 to {NAME_LENGTH} characters.", kept="Nothing was changed."
        )
    return cleaned


def _taken(name: str) -> ConflictError:
    return ConflictError(
        f"There is a group called '{name}' already.",
        code="group_name_taken",
        kept="Nothing was changed.",
        next_step="Choose another name.",
    )
