"""Propagate changed decisions: resolve affected documents again and update what follows.

Rows and degrees change in the caller's transaction. Descriptions, the projection, topics, reports
and the tree follow in a refresh, and so does the walk's snapshot if it cannot be renewed
immediately.
Take ``ingestion.history.recording.lock`` first.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Final

from ingestion.models import WalkSnapshot
from ingestion.pipeline import runner
from ingestion.resolution.overrides import NameResolution
from ingestion.stages import graph, snapshot
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.resolve.applying import resolve_names_again
from kb_project.sql import bulk_plans

QUICK: Final = 0.3
"""Seconds that a person may have to wait for a new snapshot."""


def propagate(
    workspace_id: uuid.UUID, keys: Iterable[str] = (), resolution: NameResolution | None = None
) -> None:
    """Update everything that follows from changed decisions, edits and documents.

    ``keys`` are those of the entities before and after the change: documents that name one of them
    are resolved again. ``resolution`` is how names resolve now, if the caller knows.
    """
    resolve_names_again(workspace_id, keys)
    with bulk_plans():
        recompute_rows(workspace_id, resolution)
    graph.recount(workspace_id)
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
