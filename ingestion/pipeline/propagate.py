"""Propagate changed decisions: resolve affected documents again and update what follows.

Rows, degrees and projection change in the caller's transaction. Descriptions, topics, reports and
the tree follow in a refresh, and so does the walk's snapshot if it cannot be renewed immediately.
Take ``ingestion.history.recording.lock`` first.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Final

from ingestion.models import WalkSnapshot
from ingestion.pipeline import runner
from ingestion.stages import graph, snapshot
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.resolve import pairs
from kb_project.graph.stores import graph_store
from kb_project.sql import bulk_plans

QUICK: Final = 0.3
"""Seconds that a person may have to wait for a new snapshot."""


def read_anew(workspace_id: uuid.UUID, keys: Iterable[str]) -> None:
    """Resolve again every document that names an entity with one of the keys, then ``settle``.

    ``keys`` are those of the entities before and after the change.
    """
    pairs.reread(workspace_id, keys)
    settle(workspace_id)


def settle(workspace_id: uuid.UUID) -> None:
    """Update what is marked as changed and what people edited."""
    with bulk_plans():
        recompute_rows(workspace_id)
    graph.project(workspace_id, graph_store(), graph.LOOK)
    runner.request_refresh(workspace_id)
    renew_snapshot_if_quick(workspace_id)


def renew_snapshot_if_quick(workspace_id: uuid.UUID) -> None:
    snapshots = WalkSnapshot.objects.in_workspace(workspace_id)
    last = snapshots.order_by("-number").values_list("seconds", flat=True).first()
    if last is None or last > QUICK:
        return
    started = time.monotonic()
    index = snapshot.read(workspace_id)
    snapshot.save(workspace_id, index, index.to_bytes(), seconds=time.monotonic() - started)
