"""Keep the editions of a workspace: one for each audience, with the documents it may see."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from django.db import transaction

from ingestion.editions import copying, sql, user_content
from ingestion.history import recording
from ingestion.models import Document, DocumentState
from ingestion.pipeline.propagate import propagate
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration.services import rows_purge
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


Hidden = tuple[uuid.UUID, ...]
"""The restricted collections that are hidden from an audience, in order."""


class _Step(NamedTuple):
    """One transaction's part in a sync."""

    is_last: bool
    version: str = ""
    """Of the edition's row before its documents were read; '' if it may not be opened yet."""


def sync(workspace_id: uuid.UUID) -> int:
    """Make the editions that a workspace's members need, and bring all up to date.

    What people made in them follows to where they read now. Safe to repeat, and to run beside
    itself. Returns the number of editions.
    """
    editions = _planned(workspace_id)
    for edition in editions:
        _sync(edition)
    if Workspace.objects.filter(source=workspace_id).exists():
        _follow(workspace_id)
        _clear_stores(workspace_id)
    elif not _restricted(workspace_id):
        _rest(workspace_id)
    return len(editions)


def sync_all() -> int:
    """Sync every workspace that has editions or may need some; for the schedule."""
    needing = Workspace.objects.filter(needs_sync=True, purge_at=None).order_by("pk")
    return sum(sync(pk) for pk in list(needing.values_list("pk", flat=True)))


def _planned(workspace_id: uuid.UUID) -> list[Workspace]:
    """Make missing editions, out of those without an audience if there are any; drop these."""
    with transaction.atomic():
        run_sql(sql.HOLD, {"workspace": workspace_id})
        needed = set(_hidden_by_reader(workspace_id).values()) - {()}
        rows = Workspace.objects.filter(source=workspace_id, is_store=False)
        there = {tuple(one.hidden): one for one in rows}
        missing = needed - there.keys()
        for hidden in sorted(there.keys() - needed):
            if not _emptied_of_content(there[hidden]):
                continue
            edition = there.pop(hidden)
            if missing:
                # Most of its documents are those of another audience too.
                closest = min(missing, key=lambda one: (len(set(one) ^ set(hidden)), one))
                missing.remove(closest)
                Workspace.objects.filter(pk=edition.pk).update(hidden=closest)
                there[closest] = edition
            else:
                _drop(edition)
        for hidden in missing:
            there[hidden] = _make(workspace_id, hidden)
    return [there[hidden] for hidden in needed]


def _hidden_by_reader(workspace_id: uuid.UUID) -> dict[int, Hidden]:
    """Return what is hidden from each member, by user."""
    with access.in_workspace(workspace_id):
        rows = run_sql(sql.HIDDEN_BY_READER, {"workspace": workspace_id})
    return {user: tuple(hidden) for user, hidden in rows}


def _restricted(workspace_id: uuid.UUID) -> list[uuid.UUID]:
    with access.in_workspace(workspace_id):
        return [pk for (pk,) in run_sql(sql.RESTRICTED, {"workspace": workspace_id})]


def _rest(workspace_id: uuid.UUID) -> None:
    """Note that the workspace needs no sync, unless a collection is restricted at this moment."""
    with transaction.atomic():
        row = Workspace.objects.filter(pk=workspace_id)
        # Waits for whoever restricts a collection: they note the need in the same row.
        row.update(needs_sync=False)
        row.update(needs_sync=bool(_restricted(workspace_id)))


def _make(workspace_id: uuid.UUID, hidden: Hidden, *, is_store: bool = False) -> Workspace:
    Workspace.objects.filter(pk=workspace_id).update(needs_sync=True)
    source = Workspace.objects.get(pk=workspace_id)
    made = Workspace.objects.create(
        name=source.name,
        slug=f"edition-{uuid.uuid4().hex}",
        source=source,
        hidden=list(hidden),
        is_store=is_store,
        is_current=False,
    )
    logger.info("edition made workspace=%s edition=%s", workspace_id, made.pk)
    return made


def _drop(edition: Workspace) -> None:
    # Its files are those of its source.
    rows_purge(edition.pk)
    logger.info("edition dropped workspace=%s edition=%s", edition.source_id, edition.pk)


# --- what people made -----------------------------------------------------------------------------
def _emptied_of_content(edition: Workspace) -> bool:
    """Close an edition and store what people made in it; false while that is being worked on."""
    run_sql(sql.HOLD, {"workspace": edition.pk})
    Workspace.objects.filter(pk=edition.pk).update(is_current=False)
    items = user_content.items_of(edition.pk)
    if user_content.is_busy(items):
        return False
    _store(edition, items)
    return True


def _store(edition: Workspace, items: user_content.Items) -> None:
    """Move items to where they are kept until someone may see all that they rest on."""
    source = edition.source_id
    if not items or source is None:
        return
    stores = Workspace.objects.filter(source=source, hidden=edition.hidden, is_store=True)
    store = stores.first() or _make(source, tuple(edition.hidden), is_store=True)
    named = user_content.documents_of(edition.pk, items)
    user_content.stand_in(store.pk, set().union(*named.values()))
    user_content.move(edition.pk, store.pk, items)


def _store_hidden(edition: Workspace, hidden: Collection[uuid.UUID]) -> bool:
    """Store what names hidden documents; false while any of it is being worked on."""
    items = user_content.items_of(edition.pk)
    if not items:
        return True
    named = user_content.documents_of(edition.pk, items)
    resting = {pk for pk, documents in named.items() if not documents.isdisjoint(hidden)}
    chosen = user_content.only(items, resting)
    if user_content.is_busy(items):
        return False
    _store(edition, chosen)
    return True


def _follow(workspace_id: uuid.UUID) -> None:
    """Move what members made to where they read now, if nothing that it may rest on is hidden."""
    readers = _hidden_by_reader(workspace_id)
    rows = Workspace.objects.filter(source=workspace_id)
    targets: dict[Hidden, uuid.UUID] = {(): workspace_id}
    targets |= {tuple(one.hidden): one.pk for one in rows if not one.is_store and one.is_current}
    for place in rows:
        with transaction.atomic():
            run_sql(sql.HOLD, {"workspace": workspace_id})
            run_sql(sql.HOLD, {"workspace": place.pk})
            wanted: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
            items = user_content.items_of(place.pk)
            for item in chain.from_iterable(items.values()):
                hidden = readers.get(item.owner) if item.owner else None
                target = targets.get(hidden) if hidden is not None else None
                if target is None or target == place.pk or item.is_busy:
                    continue
                if set(hidden or ()) <= set(place.hidden):
                    wanted[target].add(item.id)
            for target, ids in wanted.items():
                _move_seen(workspace_id, place.pk, target, user_content.only(items, ids))


def _move_seen(
    source: uuid.UUID, place: uuid.UUID, target: uuid.UUID, items: user_content.Items
) -> None:
    """Move the items all of whose documents the target has, or that nobody has any more."""
    named = user_content.documents_of(place, items)
    every = set().union(*named.values())
    missing = _existing(source, every) - _existing(target, every)
    ids = {item.id for several in items.values() for item in several}
    seen = {pk for pk in ids if named[pk].isdisjoint(missing)}
    user_content.move(place, target, user_content.only(items, seen))


def _existing(workspace_id: uuid.UUID, documents: Collection[uuid.UUID]) -> set[uuid.UUID]:
    with access.in_workspace(workspace_id):
        rows = Document.objects.in_workspace(workspace_id).filter(pk__in=documents)
        return set(rows.values_list("pk", flat=True))


def _clear_stores(workspace_id: uuid.UUID) -> None:
    """Remove stores without items, and from others what stands for documents no longer needed.

    A document that was deleted for good takes along what was quoted from it, here too.
    """
    for store in Workspace.objects.filter(source=workspace_id, is_store=True):
        with transaction.atomic():
            run_sql(sql.HOLD, {"workspace": workspace_id})
            run_sql(sql.HOLD, {"workspace": store.pk})
            items = user_content.items_of(store.pk)
            if not items:
                _drop(store)
                continue
            named = set().union(*user_content.documents_of(store.pk, items).values())
            with access.in_workspace(store.pk):
                rows = Document.objects.in_workspace(store.pk)
                there = set(rows.values_list("pk", flat=True))
            gone = there - (named & _existing(workspace_id, there))
            if gone:
                with access.in_workspace(store.pk):
                    copying.delete_documents(store.pk, sorted(gone))


# --- documents ------------------------------------------------------------------------------------
def _sync(edition: Workspace) -> None:
    while not (step := _copied_some(edition.pk)).is_last:
        pass
    run_sql(sql.OPEN, {"edition": edition.pk, "version": step.version})


def _copied_some(edition_id: uuid.UUID) -> _Step:
    """Bring a part of an edition up to date, in one transaction."""
    with transaction.atomic():
        run_sql(sql.HOLD, {"workspace": edition_id})
        [version] = run_sql(sql.VERSION, {"edition": edition_id}) or [("",)]
        edition = Workspace.objects.select_related("source").filter(pk=edition_id).first()
        if edition is None or edition.source is None:
            return _Step(is_last=True)
        source, hidden = edition.source.pk, edition.hidden
        with access.in_workspace(source):
            wanted = _documents(source, hidden)
        with access.in_workspace(edition_id):
            recording.lock(edition)
            there = _documents(edition_id, [])
        gone = sorted(there.keys() - wanted.keys())
        is_clear = True
        if gone or not edition.is_current:
            is_clear = _store_hidden(edition, _in_collections(source, hidden))
        read, listed = _outdated(wanted, there)
        with access.in_workspace(edition_id):
            if gone:
                copying.remove_documents(edition_id, gone)
        copying.copy_collections(source, edition_id, hidden)
        copying.copy_documents(source, edition_id, listed[:MOST], passages=False)
        copying.copy_documents(source, edition_id, read[:MOST], passages=True)
        names = copying.copy_decisions(source, edition_id, wanted.keys())
        if gone or read or names:
            with access.in_workspace(edition_id):
                propagate(edition_id, names)
    logger.info("edition synced edition=%s removed=%s read=%s", edition_id, len(gone), len(read))
    is_last = len(read) <= MOST and len(listed) <= MOST
    return _Step(is_last, version[0] if is_clear else "")


def _in_collections(workspace_id: uuid.UUID, collections: list[uuid.UUID]) -> set[uuid.UUID]:
    with access.in_workspace(workspace_id):
        rows = Document.objects.in_workspace(workspace_id).filter(collection__in=collections)
        return set(rows.values_list("pk", flat=True))


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
