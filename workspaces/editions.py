"""Editions: what a workspace is for people who may not see all of its collections.

People from whom the same restricted collections are hidden are an audience. Each audience has an
edition: a workspace of its own with copies of the documents that it may see
(``ingestion.editions``), from which everything else is derived as in any workspace. So nothing that
an audience reads, counts or ranks can depend on what is hidden from it, and the two locks between
workspaces also stand between a person and what is hidden.

What people make in an edition outlives it: it follows them where they may see everything it may
rest on, and is kept in a store, an edition that nobody reads, where they may not.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django_q.tasks import async_task

from kb_project.errors import UnavailableError
from kb_project.sql import run_sql
from workspaces import sql
from workspaces.models import Capability, Membership, Workspace

SYNC: Final = "ingestion.tasks.sync_editions"


@dataclass(frozen=True, slots=True)
class Grants:
    """What a member may do with the restricted collections of a workspace."""

    seen: tuple[uuid.UUID, ...] = ()
    unseen: tuple[uuid.UUID, ...] = ()
    unchangeable: tuple[uuid.UUID, ...] = ()
    """Those not seen, and those seen without the right to change their documents."""


def grants_of(membership: Membership) -> Grants:
    """Read a member's grants, in the workspace's scope. Who administers may do everything."""
    rows = run_sql(sql.GRANTS, {"workspace": membership.workspace_id, "membership": membership.pk})
    if membership.may(Capability.ADMINISTER):
        return Grants(seen=tuple(row[0] for row in rows))
    return Grants(
        seen=tuple(one for one, may_edit in rows if may_edit is not None),
        unseen=tuple(one for one, may_edit in rows if may_edit is None),
        unchangeable=tuple(one for one, may_edit in rows if not may_edit),
    )


def edition_for(source: Workspace, hidden: Sequence[uuid.UUID]) -> Workspace:
    """Return the edition without these collections, under the source's name and address.

    Raises UnavailableError while it is being prepared.
    """
    rows = Workspace.objects.filter(source=source, hidden=sorted(hidden), is_store=False)
    edition = rows.first()
    if edition is None or not edition.is_current:
        raise UnavailableError(
            f"Your view of {source.name} is being prepared.",
            code="edition_preparing",
            kept="Nothing was changed.",
            next_step="Try again in a minute: what you may see of it has changed.",
        )
    # Not saved: links lead back through the gate.
    edition.name, edition.slug = source.name, source.slug
    return edition


def source_id(workspace_id: uuid.UUID) -> uuid.UUID:
    """Return the workspace that an edition is made from; any other workspace's own id.

    Models, prices, budgets and members are the source's.
    """
    return _source_id(workspace_id) or workspace_id


@lru_cache(maxsize=10_000)
def _source_id(workspace_id: uuid.UUID) -> uuid.UUID | None:
    # A workspace never becomes an edition, nor the edition of another source.
    rows = Workspace.objects.filter(pk=workspace_id)
    return rows.values_list("source_id", flat=True).first()


def request_sync(workspace_id: uuid.UUID, *, audiences_changed: bool = False) -> None:
    """Have the editions of a workspace brought up to date, if it has any.

    Where ``audiences_changed``, it may need its first one.
    """
    if audiences_changed or Workspace.objects.filter(source=workspace_id).exists():
        async_task(SYNC, str(workspace_id), cluster="main")


def follow(workspace_id: uuid.UUID, *, is_hidden: bool = False) -> None:
    """Have the editions follow a change; at once, by closing them, if it hides documents."""
    if is_hidden:
        close(workspace_id)
    request_sync(workspace_id)


def close(workspace_id: uuid.UUID) -> None:
    """Close the editions of a workspace until they are synced.

    Call it in the transaction that hides documents: nobody reads them once it has committed.
    """
    Workspace.objects.filter(source=workspace_id).update(is_current=False)
