"""Restrict collections, and grant members and groups access to them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Literal, cast

from django.db import IntegrityError, transaction

from ingestion.models import Collection, CollectionGrant
from kb_project.errors import ConflictError, InputError, NotFoundError, found
from workspaces import access, audit, editions
from workspaces.audit import Target
from workspaces.models import AuditAction, Group, Membership, User, Workspace


@dataclass(frozen=True, slots=True)
class GrantView:
    """Who was granted access to a collection, and whether they may change its documents."""

    id: uuid.UUID
    kind: Literal["member", "group"]
    subject_id: uuid.UUID
    name: str
    may_edit: bool


def grants_of(*, workspace: Workspace, collection: Collection) -> list[GrantView]:
    """Return who has access to a collection, groups first, then by name."""
    rows = CollectionGrant.objects.in_workspace(workspace).filter(collection=collection)
    views = [_view(row) for row in rows.select_related("group", "membership__user")]
    return sorted(views, key=lambda view: (view.kind, view.name.lower()))


def collection_restrict(
    *, workspace: Workspace, user: User, collection_id: uuid.UUID, is_restricted: bool
) -> Collection:
    """Restrict a collection to those with a grant, or open it to all members.

    Members who may no longer see it read nothing until their editions are without it. Raises
    NotFoundError, and ConflictError if another restricted collection has its name.
    """
    with access.in_workspace(workspace.pk):
        collection = _locked(workspace, collection_id)
        if collection.is_restricted == is_restricted:
            return collection
        collection.is_restricted = is_restricted
        try:
            with transaction.atomic():
                collection.save(update_fields=["is_restricted"])
        except IntegrityError as error:
            raise ConflictError(
                f"Another collection is called '{collection.name}' too.",
                code="collection_name_taken",
                kept="Nothing was changed.",
                next_step="Rename one of the two first.",
            ) from error
        audit.record(
            AuditAction.COLLECTION_RESTRICTED if is_restricted else AuditAction.COLLECTION_OPENED,
            workspace=workspace,
            user=user,
            target=_target(collection),
        )
        if is_restricted:
            editions.close(workspace.pk)
        editions.request_sync(workspace.pk, audiences_changed=True)
    return collection


def grant_give(
    *,
    workspace: Workspace,
    user: User,
    collection_id: uuid.UUID,
    group_id: uuid.UUID | None = None,
    membership_id: uuid.UUID | None = None,
    may_edit: bool = False,
) -> GrantView:
    """Grant a group or a member access to a collection, or change what they were granted.

    Raises NotFoundError, and InputError unless it names one group or one member.
    """
    if (group_id is None) == (membership_id is None):
        raise InputError(
            "Choose one group or one member.",
            code="grant_to_nobody",
            kept="Nothing was changed.",
        )
    with access.in_workspace(workspace.pk):
        collection = _locked(workspace, collection_id)
        group = _group(workspace, group_id)
        membership = _membership(workspace, membership_id)
        row, _ = CollectionGrant.objects.update_or_create(
            workspace=workspace,
            collection=collection,
            group=group,
            membership=membership,
            defaults={"may_edit": may_edit},
        )
        view = _view(row)
        audit.record(
            AuditAction.GRANT_GIVEN,
            workspace=workspace,
            user=user,
            target=_target(collection),
            after={"to": view.name, "may_edit": may_edit},
        )
        editions.request_sync(workspace.pk, audiences_changed=True)
    return view


def grant_take(
    *, workspace: Workspace, user: User, collection_id: uuid.UUID, grant_id: uuid.UUID
) -> None:
    """Take a grant back. Raises NotFoundError if it is gone already."""
    with access.in_workspace(workspace.pk):
        collection = _locked(workspace, collection_id)
        rows = CollectionGrant.objects.in_workspace(workspace).filter(collection=collection)
        row = rows.select_related("group", "membership__user").filter(pk=grant_id).first()
        if row is None:
            raise NotFoundError("This access was removed already.", kept="Nothing was changed.")
        view = _view(row)
        rows.filter(pk=grant_id).delete()
        audit.record(
            AuditAction.GRANT_TAKEN,
            workspace=workspace,
            user=user,
            target=_target(collection),
            before={"to": view.name, "may_edit": view.may_edit},
        )
        editions.request_sync(workspace.pk, audiences_changed=True)


def _locked(workspace: Workspace, collection_id: uuid.UUID) -> Collection:
    rows = Collection.objects.in_workspace(workspace).select_for_update()
    return found(rows.filter(pk=collection_id).first(), "collection")


def _group(workspace: Workspace, group_id: uuid.UUID | None) -> Group | None:
    if group_id is None:
        return None
    return found(Group.objects.in_workspace(workspace).filter(pk=group_id).first(), "group")


def _membership(workspace: Workspace, membership_id: uuid.UUID | None) -> Membership | None:
    if membership_id is None:
        return None
    rows = Membership.objects.in_workspace(workspace).filter(pk=membership_id)
    return found(rows.first(), "member")


def _target(collection: Collection) -> Target:
    return Target("collection", collection.pk, collection.name)


def _view(row: CollectionGrant) -> GrantView:
    if row.group is not None:
        return GrantView(row.pk, "group", row.group.pk, row.group.name, row.may_edit)
    member = cast(Membership, row.membership)
    return GrantView(row.pk, "member", member.pk, str(member.user), row.may_edit)
