"""Snapshot: pack mentions into the sparse matrix that the walk runs on.

In: the workspace's chunks, entities and mentions.  Out: one WalkSnapshot in place of the last.
Safe to repeat: the new snapshot has the next number, older ones are deleted with it.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

from django.utils import timezone

from ingestion import sql
from ingestion.extractors import GENERIC_TYPES
from ingestion.extractors.titles import naming_key
from ingestion.models import IngestionJob, WalkSnapshot
from ingestion.outcome import Progress, StageOutcome
from kb_project.graph.walk_index import (
    AliasRow,
    ChunkRow,
    EntityRow,
    MentionRow,
    WalkIndex,
    build,
)
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

# In the middle of a burst a snapshot is renewed when the last one is this old, and older than
# this many times what building it took: freshness never costs more than a twentieth of the work.
FRESH = timedelta(seconds=5)
COST_SHARE = 20


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    index = renew(job.workspace_id)
    return StageOutcome(written=len(index.chunk_ids))


def renew(workspace_id: uuid.UUID) -> WalkIndex:
    """Build and store the matrix of what is known now."""
    started = time.monotonic()
    with access.in_workspace(workspace_id), bulk_plans():
        index = read(workspace_id)
    payload = index.to_bytes()
    with access.in_workspace(workspace_id):
        save(workspace_id, index, payload, seconds=time.monotonic() - started)
    return index


def read(workspace_id: uuid.UUID) -> WalkIndex:
    scope = {"workspace": workspace_id}
    return build(
        chunks=[
            ChunkRow(chunk_id, naming_key(title))
            for chunk_id, title in run_sql(sql.CHUNKS_TO_WALK, scope)
        ],
        entities=[
            EntityRow(entity_id, key, is_generic=kind in GENERIC_TYPES, is_common=name.islower())
            for entity_id, key, kind, name in run_sql(sql.ENTITIES_TO_WALK, scope)
        ],
        mentions=[MentionRow(*row) for row in run_sql(sql.MENTIONS_TO_WALK, scope)],
        aliases=[AliasRow(*row) for row in run_sql(sql.ALIASES_TO_WALK, scope)],
    )


def save(workspace_id: uuid.UUID, index: WalkIndex, payload: bytes, *, seconds: float) -> None:
    run_sql(sql.LOCK_SNAPSHOTS, {"workspace": workspace_id})
    [(number,)] = run_sql(sql.NEXT_SNAPSHOT, {"workspace": workspace_id})
    WalkSnapshot.objects.in_workspace(workspace_id).filter(number__lt=number).delete()
    WalkSnapshot.objects.create(
        workspace_id=workspace_id,
        number=number,
        chunks=len(index.chunk_ids),
        entities=len(index.entity_ids),
        seconds=seconds,
        payload=payload,
    )


def is_due(workspace_id: uuid.UUID) -> bool:
    """Whether a burst under way should make its first results walkable now."""
    with access.in_workspace(workspace_id):
        last = (
            WalkSnapshot.objects.in_workspace(workspace_id)
            .order_by("-number")
            .values_list("built_at", "seconds")
            .first()
        )
    if last is None:
        return True
    built_at, seconds = last
    return timezone.now() - built_at > max(FRESH, timedelta(seconds=COST_SHARE * seconds))
