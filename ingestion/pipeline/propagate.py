"""Propagate changed decisions: resolve affected documents again and update what follows.

Rows and degrees change in the caller's transaction. Descriptions, the projection, topics, reports
and the tree follow in a refresh, and so does the walk's snapshot if it cannot be renewed
immediately.
Take ``ingestion.history.recording.lock`` first.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ingestion.models import Entity, Relationship, WalkSnapshot
from ingestion.pipeline import runner, workspace_jobs
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.overrides import NameResolution
from ingestion.stages import graph, snapshot
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.resolve.applying import documents_naming, resolve_again
from kb_project.sql import bulk_plans

AT_ONCE: Final = 100
"""Documents resolved again while a person waits: a second's work."""
MOST_COUNTED: Final = 2_000
"""Marked entities, or relationships, that are counted while a person waits."""
QUICK: Final = 0.3
"""Seconds that a person may have to wait for a new snapshot."""


def propagate(
    workspace_id: uuid.UUID,
    keys: Iterable[str] = (),
    resolution: NameResolution | None = None,
    *,
    documents: Sequence[uuid.UUID] | None = None,
    may_wait: bool = False,
) -> bool:
    """Update everything that follows from changed decisions, edits and documents.

    Documents that name an entity with one of the ``keys`` are resolved again, or only those that
    can differ, if the caller knows them. ``resolution`` is how names resolve now, likewise. If the
    change ``may_wait`` and those are more than ``AT_ONCE`` documents, a worker resolves them
    (``ingestion.stages.reresolve``); returns whether that is so.
    """
    names = set(keys)
    concerned = documents
    if concerned is None:
        most = AT_ONCE + 1 if may_wait else None
        concerned = documents_naming(workspace_id, names, most=most)
    waits = may_wait and len(concerned) > AT_ONCE
    if concerned and not waits:
        resolve_again(workspace_id, concerned)
    # In the middle of an ingest, very many rows are marked: the refresh after it counts them.
    counts = not waits and not _much_is_marked(workspace_id)
    with bulk_plans():
        recompute_rows(workspace_id, resolution, counts=counts)
    if counts:
        graph.recount(workspace_id)
    if names:
        _mark_leaving(workspace_id, names, resolution or load_resolution(workspace_id))
    if waits:
        workspace_jobs.change_begin(
            workspace_id=workspace_id, keys=names, documents=documents or ()
        )
    else:
        runner.request_refresh(workspace_id)
        renew_snapshot_if_quick(workspace_id)
    return waits


def _much_is_marked(workspace_id: uuid.UUID) -> bool:
    return any(
        len(rows.filter(is_changed=True).values_list("pk")[: MOST_COUNTED + 1]) > MOST_COUNTED
        for rows in (
            Entity.objects.in_workspace(workspace_id),
            Relationship.objects.in_workspace(workspace_id),
        )
    )


def _mark_leaving(
    workspace_id: uuid.UUID, keys: Collection[str], resolution: NameResolution
) -> None:
    """Mark the entities that the decisions merge into others or delete: they are shown no longer.

    None is left where their documents were resolved at once.
    """
    rows = Entity.objects.in_workspace(workspace_id).filter(key__among=keys)
    refs = {pk: (key, sense) for pk, key, sense in rows.values_list("pk", "key", "sense")}
    leaving = [
        pk
        for pk, ref in refs.items()
        if ref in resolution.deleted or resolution.resolve(ref) != ref
    ]
    rows.filter(pk__among=leaving, is_leaving=False).update(is_leaving=True)
    rows.filter(is_leaving=True).exclude(pk__among=leaving).update(is_leaving=False)


def renew_snapshot_if_quick(workspace_id: uuid.UUID) -> None:
    snapshots = WalkSnapshot.objects.in_workspace(workspace_id)
    last = snapshots.order_by("-number").values_list("seconds", flat=True).first()
    if last is None or last > QUICK:
        return
    started = time.monotonic()
    made = snapshot.packed(workspace_id)
    snapshot.save(made, seconds=time.monotonic() - started)
