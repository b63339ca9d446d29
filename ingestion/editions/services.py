"""Keep the editions of a workspace: one for each audience, with the documents it may see."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime
from typing import Final, NamedTuple

from django.db import transaction

from ingestion.editions import copying, decisions, sql
from ingestion.history import recording
from ingestion.models import DocumentState
from ingestion.pipeline.propagate import propagate
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration import deletion
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

READ: Final = (DocumentState.READY, DocumentState.ATTENTION)
"""States in which a document's passages are not about to change."""
MOST: Final = 200
"""Documents copied in one transaction."""


class _Row(NamedTuple):
    """A document's state, and whatever changes when it has to be copied again."""

    state: str
    updated_at: datetime
    collection_id: uuid.UUID | None
    vectors: int | None
    models: list[str] | None


Documents = dict[uuid.UUID, _Row]


def sync(workspace_id: uuid.UUID) -> int:
    """Make the editions that a workspace's members need, and bring all up to date.

    Safe to repeat, and to run beside itself. Returns the number of editions.
    """
    editions = _planned(workspace_id)
    for edition in editions:
        _sync(edition)
    return len(editions)


def sync_all() -> int:
    """Sync every workspace that has editions or needs some; for the schedule."""
    sources = Workspace.objects.filter(source=None).order_by("pk")
    return sum(sync(pk) for pk in list(sources.values_list("pk", flat=True)))


def _planned(workspace_id: uuid.UUID) -> list[Workspace]:
    """Make missing editions, and drop those without an audience."""
    with transaction.atomic():
        run_sql(sql.HOLD, {"workspace": workspace_id})
        with access.in_workspace(workspace_id):
            values = {"workspace": workspace_id}
            restricted = {pk for (pk,) in run_sql(sql.RESTRICTED, values)}
            audiences = [set(seen) for (seen,) in run_sql(sql.AUDIENCES, values)]
        needed = {tuple(sorted(seen)) for seen in audiences if seen != restricted}
        there = {tuple(one.audience): one for one in Workspace.objects.filter(source=workspace_id)}
        for audience in there.keys() - needed:
            _drop(there.pop(audience))
        for audience in needed - there.keys():
            there[audience] = _make(workspace_id, audience)
    return list(there.values())


def _make(workspace_id: uuid.UUID, audience: tuple[uuid.UUID, ...]) -> Workspace:
    source = Workspace.objects.get(pk=workspace_id)
    made = Workspace.objects.create(
        name=source.name,
        slug=f"edition-{uuid.uuid4().hex}",
        source=source,
        audience=list(audience),
        is_current=False,
    )
    logger.info("edition made workspace=%s edition=%s", workspace_id, made.pk)
    return made


def _drop(edition: Workspace) -> None:
    # Its files are those of its source.
    deletion.rows_purge(edition.pk)
    logger.info("edition dropped workspace=%s edition=%s", edition.source_id, edition.pk)


def _sync(edition: Workspace) -> None:
    while _copied_some(edition.pk):
        pass
    Workspace.objects.filter(pk=edition.pk, is_current=False).update(is_current=True)


def _copied_some(edition_id: uuid.UUID) -> bool:
    """Bring a part of an edition up to date, in one transaction; false if nothing was left."""
    with transaction.atomic():
        run_sql(sql.HOLD, {"workspace": edition_id})
        edition = Workspace.objects.select_related("source").filter(pk=edition_id).first()
        if edition is None or edition.source is None:
            return False
        source = edition.source.pk
        with access.in_workspace(source):
            restricted = [pk for (pk,) in run_sql(sql.RESTRICTED, {"workspace": source})]
            hidden = [pk for pk in restricted if pk not in edition.audience]
            wanted = _documents(source, hidden)
        with access.in_workspace(edition_id):
            recording.lock(edition)
            there = _documents(edition_id, [])
        gone = sorted(there.keys() - wanted.keys())
        read, listed = _outdated(wanted, there)
        with access.in_workspace(edition_id):
            if gone:
                copying.remove_documents(edition_id, gone)
        copying.copy_collections(source, edition_id, hidden)
        copying.copy_documents(source, edition_id, listed[:MOST], passages=False)
        copying.copy_documents(source, edition_id, read[:MOST], passages=True)
        names = decisions.copy_decisions(source, edition_id, wanted.keys())
        if gone or read or names:
            with access.in_workspace(edition_id):
                propagate(edition_id, names)
    logger.info("edition synced edition=%s removed=%s read=%s", edition_id, len(gone), len(read))
    return bool(len(read) > MOST or len(listed) > MOST)


def _outdated(wanted: Documents, there: Documents) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    """Return the documents to copy with their passages, and those to list only.

    While a new version is being read, the passages of the one before stay.
    """
    changed = sorted(pk for pk, row in wanted.items() if row != there.get(pk))
    read = [pk for pk in changed if wanted[pk].state in READ]
    listed = [pk for pk in changed if wanted[pk].state not in READ]
    return read, [pk for pk in listed if pk not in there or not there[pk].vectors]


def _documents(workspace_id: uuid.UUID, hidden: list[uuid.UUID]) -> Documents:
    rows = run_sql(sql.DOCUMENTS, {"workspace": workspace_id, "hidden": hidden})
    return {pk: _Row(*values) for pk, *values in rows}
