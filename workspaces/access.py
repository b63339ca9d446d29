"""The gate: which workspace a request is about, and what its person may do there.

Every view starts with one of the ``workspace_for_…`` functions. They answer 404 to a stranger,
whether or not the workspace exists, and 403 to a member who lacks the capability, naming the
people who can grant it. Passing the gate sets the workspace in the database transaction, which is
what row-level security reads.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import transaction

from kb_project.errors import ForbiddenError, NotFoundError
from kb_project.sql import run_sql
from workspaces import sql
from workspaces.models import Capability, Membership, User, Workspace

_is_repeatable: ContextVar[bool] = ContextVar("_is_repeatable", default=False)


@contextmanager
def repeatable_work() -> Iterator[None]:
    """Transactions inside need not wait for the disk: what a crash of the server forgets is redone.

    For the pipeline, whose stages are safe to repeat; never for what a person was told is kept.
    """
    with _repeatable(is_so=True):
        yield


@contextmanager
def lasting_work() -> Iterator[None]:
    """Transactions inside wait for the disk, also within repeatable work: they are about money."""
    with _repeatable(is_so=False):
        yield


@contextmanager
def _repeatable(*, is_so: bool) -> Iterator[None]:
    token = _is_repeatable.set(is_so)
    try:
        yield
    finally:
        _is_repeatable.reset(token)


def set_scope(*, workspace_id: uuid.UUID | None, user_id: int | None = None) -> None:
    """Set whose rows this transaction sees. Needs a transaction: the setting ends with it."""
    _write_scope(str(workspace_id or ""), str(user_id or ""))


_inside: ContextVar[uuid.UUID | None] = ContextVar("_inside", default=None)


@contextmanager
def in_workspace(workspace_id: uuid.UUID, *, user_id: int | None = None) -> Iterator[None]:
    """A transaction that sees one workspace's rows; inside another, the scope before is put back.

    Inside a block for the same workspace it is that block's own transaction, not a new one.
    """
    if _inside.get() == workspace_id and user_id is None:
        yield
        return
    # The settings of an outermost transaction end with it: there is nothing to put back.
    is_nested = transaction.get_connection().in_atomic_block
    token = _inside.set(workspace_id)
    try:
        with transaction.atomic():
            before = _read_scope() if is_nested else None
            set_scope(workspace_id=workspace_id, user_id=user_id)
            yield
            if before is not None:
                _write_scope(*before)
    finally:
        _inside.reset(token)


@contextmanager
def as_person(user: User) -> Iterator[None]:
    """A transaction that sees the person's own memberships, whatever the workspace."""
    with transaction.atomic():
        before = _read_scope()
        _write_scope(before[0], str(user.pk))
        yield
        _write_scope(*before)


def workspace_for_reading(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return _workspace_with(Capability.READ, user=user, workspace_id=workspace_id)


def workspace_for_writing(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return _workspace_with(Capability.EDIT, user=user, workspace_id=workspace_id)


def workspace_for_curating(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return _workspace_with(Capability.CURATE, user=user, workspace_id=workspace_id)


def workspace_for_administering(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return _workspace_with(Capability.ADMINISTER, user=user, workspace_id=workspace_id)


def _workspace_with(
    capability: Capability, *, user: Any, workspace_id: str | uuid.UUID
) -> Workspace:
    workspace = _find(workspace_id)
    membership = _membership(user, workspace) if workspace and user.is_authenticated else None
    if workspace is None or membership is None:
        raise NotFoundError("There is no such workspace, or you are not a member of it.")
    if not membership.may(capability):
        raise ForbiddenError(
            f"In {workspace.name} you are {membership.get_role_display().lower()} and may not"
            f" {capability.label}.",
            kept="Nothing was changed.",
            next_step=who_can_grant(workspace),
        )
    workspace.membership = membership
    return workspace


def _find(workspace_id: str | uuid.UUID) -> Workspace | None:
    try:
        wanted = {"pk": uuid.UUID(str(workspace_id))}
    except ValueError:
        return Workspace.objects.filter(slug=str(workspace_id)).first()
    return Workspace.objects.filter(**wanted).first()


def _membership(user: User, workspace: Workspace) -> Membership | None:
    set_scope(workspace_id=workspace.pk, user_id=user.pk)
    membership = Membership.objects.in_workspace(workspace).filter(user=user).first()
    if membership is None:
        set_scope(workspace_id=None)
    return membership


def who_can_grant(workspace: Workspace) -> str:
    """Whom to ask for a right, as a sentence; '' where nobody can grant it."""
    admins = (
        Membership.objects.in_workspace(workspace)
        .filter(capabilities__contains=[Capability.ADMINISTER.value])
        .select_related("user")[:3]
    )
    names = " or ".join(str(membership.user) for membership in admins)
    return f"Ask {names}." if names else ""


def _read_scope() -> tuple[str, str]:
    [(workspace_id, user_id)] = run_sql(sql.READ_SCOPE)
    return workspace_id, user_id


def _write_scope(workspace_id: str, user_id: str) -> None:
    statement = sql.SET_SCOPE_OF_REPEATABLE_WORK if _is_repeatable.get() else sql.SET_SCOPE
    run_sql(statement, {"workspace": workspace_id, "user": user_id})
