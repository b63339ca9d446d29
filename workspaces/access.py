"""The gate: finds a request's workspace and checks what its user may do there.

Every page of a workspace is a ``workspaces.pages.workspace_page`` and every operation of the API a
``workspaces.api.Operation``: both call ``workspace_with``. It raises 404 for a non-member, whether
or not the workspace exists, and 403 for a member without the capability, naming the people who can
grant it. A user who signed in with a token is a member of the token's workspace only, with the
capabilities that membership and token share. Passing the gate sets the workspace in the database
transaction, where row-level security reads it.

A member who may not see all collections reads in an edition (``workspaces.editions``). They change
documents in the workspace itself, where the database hides what they may not change. Corrections of
entities rest on all documents, so they need somebody who sees all of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, LiteralString

from django.db import DEFAULT_DB_ALIAS, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from kb_project.errors import ForbiddenError, NotFoundError
from kb_project.sql import run_sql
from workspaces import editions, sql
from workspaces.models import Capability, Membership, Right, User, Workspace

# The columns of ``sql.MEMBERSHIP``, named and ordered as in the models.
MEMBERSHIP: Final = ("id", "workspace_id", "user_id", "role", "capabilities", "created_at")
WORKSPACE: Final = (
    *("id", "name", "slug", "is_demo", "created_by_id", "created_at"),
    *("source_id", "hidden", "is_current", "is_store", "needs_sync", "former_slugs"),
    *("document_language", "editors_invite", "editors_delete", "viewers_export", "purge_at"),
)


# Whether a job with the row ``r`` is to stop: when asked, when its workspace was deleted, or when
# its edition was closed, since the job may rest on what is hidden now.
WANTS_STOP: Final[LiteralString] = """(r.wants_stop OR EXISTS (
    SELECT FROM workspaces_workspace AS w
      LEFT JOIN workspaces_workspace AS s ON s.id = w.source_id
     WHERE w.id = r.workspace_id
       AND (coalesce(s.purge_at, w.purge_at) IS NOT NULL
            OR w.source_id IS NOT NULL AND NOT w.is_current)))"""


class DeletedError(NotFoundError):
    """The workspace was deleted, and its owner, who asks, may still restore it."""

    default_code = "workspace_deleted"


_is_repeatable: ContextVar[bool] = ContextVar("_is_repeatable", default=False)


@contextmanager
def repeatable_work() -> Iterator[None]:
    """Commit without waiting for the disk: what a server crash loses is redone.

    For the pipeline, whose stages are safe to repeat; never after a user was shown that
    something is saved.
    """
    with _repeatable(is_so=True):
        yield


@contextmanager
def lasting_work() -> Iterator[None]:
    """Commit only once on disk, even within repeatable work: for transactions about money."""
    with _repeatable(is_so=False):
        yield


@contextmanager
def _repeatable(*, is_so: bool) -> Iterator[None]:
    token = _is_repeatable.set(is_so)
    try:
        yield
    finally:
        _is_repeatable.reset(token)


# Of the workspace that the request's user may change: the collections hidden from them.
_hidden: ContextVar[tuple[uuid.UUID, str] | None] = ContextVar("_hidden", default=None)


def forget_hidden(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: what the gate hides from a request's user ends with the request."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        token = _hidden.set(None)
        try:
            return get_response(request)
        finally:
            _hidden.reset(token)

    return respond


def set_scope(*, workspace_id: uuid.UUID | None) -> None:
    """Set whose rows this transaction sees. Needs a transaction: the setting ends with it.

    No one sees their memberships in other workspaces here: a restored copy's have the same ids.
    """
    of, collections = _hidden.get() or (None, "")
    hidden = collections if of == workspace_id else ""
    _write_scope(str(workspace_id or ""), "", hidden)


_inside: ContextVar[uuid.UUID | None] = ContextVar("_inside", default=None)


@contextmanager
def in_workspace(workspace_id: uuid.UUID) -> Iterator[None]:
    """Run in a transaction that sees one workspace's rows; if nested, restore the previous scope.

    Inside a block for the same workspace, it continues that block's transaction.
    """
    if _inside.get() == workspace_id:
        yield
        return
    # An outermost transaction's settings end with it, so there is nothing to restore.
    is_nested = transaction.get_connection().in_atomic_block
    token = _inside.set(workspace_id)
    try:
        with transaction.atomic():
            before = _read_scope() if is_nested else None
            set_scope(workspace_id=workspace_id)
            yield
            if before is not None:
                _write_scope(*before)
    finally:
        _inside.reset(token)


@contextmanager
def within(workspace_id: uuid.UUID) -> Iterator[None]:
    """Use the open transaction if the gate set it to this workspace, else start a new one.

    Unlike ``in_workspace`` it opens no savepoint: for code whose writes are a single final
    statement.
    """
    if transaction.get_connection().in_atomic_block and _read_scope()[0] == str(workspace_id):
        token = _inside.set(workspace_id)
        try:
            yield
        finally:
            _inside.reset(token)
    else:
        with in_workspace(workspace_id):
            yield


@contextmanager
def as_person(user: User) -> Iterator[None]:
    """Run in a transaction that sees the user's own memberships in every workspace.

    With a token it sees those of the token's workspace, and no other's.
    """
    with transaction.atomic():
        before = _read_scope()
        if user.token is None:
            _write_scope(before[0], str(user.pk), before[2])
        else:
            _write_scope(str(user.token.workspace_id), "", "")
        yield
        _write_scope(*before)


def workspace_for_reading(
    *, user: Any, workspace_id: str | uuid.UUID, at_source: bool | None = None
) -> Workspace:
    return workspace_with(
        Capability.READ, user=user, workspace_id=workspace_id, at_source=at_source
    )


def workspace_for_writing(
    *, user: Any, workspace_id: str | uuid.UUID, at_source: bool | None = None
) -> Workspace:
    return workspace_with(
        Capability.EDIT, user=user, workspace_id=workspace_id, at_source=at_source
    )


def workspace_for_curating(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return workspace_with(Capability.CURATE, user=user, workspace_id=workspace_id)


def workspace_for_administering(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    return workspace_with(Capability.ADMINISTER, user=user, workspace_id=workspace_id)


def workspace_with(
    capability: Capability,
    *,
    user: Any,
    workspace_id: str | uuid.UUID,
    at_source: bool | None = None,
) -> Workspace:
    """Return the workspace in which the user may do this, and open its scope.

    Reading happens ``at_source`` only where it is asked for, and all else unless it is asked not
    to: reading what the workspace is, not what its documents say, and writing what is one's own.

    Raises NotFoundError, ForbiddenError, and UnavailableError while an edition is being prepared.
    """
    membership, has_restricted = _membership(user, workspace_id)
    workspace = membership.workspace
    if workspace.is_deleted:
        set_scope(workspace_id=None)
        raise _deleted(workspace) if membership.may(Capability.OWN) else _no_workspace()
    if not membership.may(capability):
        raise ForbiddenError(
            f"In {workspace.name} you are {membership.role_with_article} and may not"
            f" {capability.label}.",
            kept="Nothing was changed.",
            next_step=who_can_grant(workspace),
        )
    if has_restricted:
        workspace = _within_grants(membership, capability, at_source=at_source)
    if user.token is not None:
        membership.narrow_to(user.token)
        _check_token(membership, capability)
    workspace.membership = membership
    return workspace


def _within_grants(
    membership: Membership, capability: Capability, *, at_source: bool | None
) -> Workspace:
    workspace, grants = membership.workspace, editions.grants_of(membership)
    is_reading = capability == Capability.READ
    if at_source or (at_source is None and not is_reading):
        if capability == Capability.CURATE and grants.unseen:
            raise ForbiddenError(
                "Correcting what was found in all documents needs access to all collections.",
                code="needs_all_collections",
                kept="Nothing was changed.",
                next_step=who_can_grant(workspace),
            )
        _hide(membership, grants.unseen if is_reading else grants.unchangeable)
        return workspace
    if not grants.unseen:
        return workspace
    edition = editions.edition_for(workspace, grants.unseen)
    set_scope(workspace_id=edition.pk)
    return edition


def _hide(membership: Membership, collections: Sequence[uuid.UUID]) -> None:
    _hidden.set((membership.workspace_id, ",".join(map(str, collections))))
    set_scope(workspace_id=membership.workspace_id)


def _check_token(membership: Membership, capability: Capability) -> None:
    """Raise ForbiddenError if the member has the capability, and the token used does not."""
    if capability in membership.lost_to_token:
        raise ForbiddenError(
            f"The token {membership.token} may not {capability.label}.",
            code="token_lacks_capability",
            kept="Nothing was changed.",
            next_step=f"Use a token with the capability '{capability.value}'.",
        )


def deleted_workspace(*, user: Any, workspace_id: str | uuid.UUID) -> Workspace:
    """Return a deleted workspace to its owner. Raises NotFoundError for anyone or anything else."""
    membership, _ = _membership(user, workspace_id)
    workspace = membership.workspace
    if not (workspace.is_deleted and membership.may(Capability.OWN)):
        set_scope(workspace_id=None)
        raise _no_workspace()
    workspace.membership = membership
    return workspace


def check_right(workspace: Workspace, right: Right) -> None:
    """Raise ForbiddenError if the settings do not give the user who passed the gate the right."""
    if not workspace.allows(right):
        if workspace.membership is not None:
            _check_token(workspace.membership, workspace.needed_for(right))
        raise ForbiddenError(
            f"In {workspace.name} you may not {right.label}.",
            kept="Nothing was changed.",
            next_step=who_can_grant(workspace),
        )


def _no_workspace() -> NotFoundError:
    return NotFoundError("There is no such workspace, or you are not a member of it.")


def _deleted(workspace: Workspace) -> DeletedError:
    day = timezone.localtime(workspace.purge_at)
    return DeletedError(
        f"{workspace.name} was deleted.",
        kept=f"Everything in it is kept until {day.day} {day:%B %Y}.",
        next_step="Restore it to use it again.",
    )


def _membership(user: Any, workspace_id: str | uuid.UUID) -> tuple[Membership, bool]:
    """Load the user's membership with its workspace, and whether a collection is restricted.

    The scope is set before access is confirmed, to read that one row, and cleared if there is none:
    raises NotFoundError.
    """
    wanted = _id_of(workspace_id) if user.is_authenticated else None
    if wanted is None or (user.token is not None and user.token.workspace_id != wanted):
        raise _no_workspace()
    _hidden.set(None)
    set_scope(workspace_id=wanted)
    rows = run_sql(sql.MEMBERSHIP, {"workspace": wanted, "user": user.pk})
    if not rows:
        set_scope(workspace_id=None)
        raise _no_workspace()
    row = rows[0]
    membership = Membership.from_db(DEFAULT_DB_ALIAS, MEMBERSHIP, row[: len(MEMBERSHIP)])
    membership.workspace = Workspace.from_db(DEFAULT_DB_ALIAS, WORKSPACE, row[len(MEMBERSHIP) : -1])
    return membership, row[-1]


def _id_of(workspace_id: str | uuid.UUID) -> uuid.UUID | None:
    """Return the id of a workspace given by its id, an edition's id, its slug or a former one; None
    for an unknown slug.
    """
    try:
        return editions.source_id(uuid.UUID(str(workspace_id)))
    except ValueError:
        return Workspace.id_at(str(workspace_id))


def who_can_grant(workspace: Workspace) -> str:
    """Say whom to ask for a right; '' if no one can grant it."""
    # The members of an edition are its source's.
    source = workspace.source_id or workspace.pk
    with within(source):
        admins = (
            Membership.objects.in_workspace(source)
            .filter(capabilities__contains=[Capability.ADMINISTER.value])
            .select_related("user")[:3]
        )
        names = " or ".join(str(membership.user) for membership in admins)
    return f"Ask {names}." if names else ""


def _read_scope() -> tuple[str, str, str]:
    [(workspace_id, user_id, hidden)] = run_sql(sql.READ_SCOPE)
    return workspace_id, user_id, hidden


def _write_scope(workspace_id: str, user_id: str, hidden: str) -> None:
    statement = sql.SET_SCOPE_OF_REPEATABLE_WORK if _is_repeatable.get() else sql.SET_SCOPE
    run_sql(statement, {"workspace": workspace_id, "user": user_id, "hidden": hidden})
