"""Snapshot: pack mentions into the sparse matrix that the walk runs on.

In: the workspace's chunks, entities and mentions.  Out: one WalkSnapshot, replacing the last.
Safe to repeat: the new snapshot gets the next number, and older ones are deleted with it.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

from django.db.models import Count, F, Max
from django.utils import timezone

from ingestion.extractors import GENERIC_TYPES
from ingestion.extractors.titles import naming_key
from ingestion.models import Alias, Chunk, Entity, IngestionJob, Mention, WalkSnapshot
from ingestion.stage import Progress, StageOutcome
from kb_project.graph.walk_index import (
    AliasRow,
    ChunkRow,
    EntityRow,
    MentionRow,
    WalkIndex,
    build,
)
from kb_project.ports import Ports
from kb_project.sql import bulk_plans
from workspaces import access
from workspaces.models import Workspace

# During a burst of work, a snapshot is renewed once the last one is older than this, and older than
# this many times its build time: freshness costs at most a twentieth of the work.
FRESH = timedelta(seconds=5)
COST_SHARE = 20


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    index = renew(job.workspace_id)
    return StageOutcome(written=len(index.chunk_ids))


def renew(workspace_id: uuid.UUID) -> WalkIndex:
    """Build and store the matrix for the current graph."""
    started = time.monotonic()
    with access.in_workspace(workspace_id), bulk_plans():
        index = read(workspace_id)
    payload = index.to_bytes()
    with access.in_workspace(workspace_id):
        save(workspace_id, index, payload, seconds=time.monotonic() - started)
    return index


def read(workspace_id: uuid.UUID) -> WalkIndex:
    chunks = Chunk.objects.in_workspace(workspace_id).order_by(
        "document__title", "document_id", "ordinal"
    )
    entities = Entity.objects.in_workspace(workspace_id).order_by("key", "sense")
    mentions = Mention.objects.in_workspace(workspace_id).order_by()
    aliases = Alias.objects.in_workspace(workspace_id).exclude(key=F("entity__key"))
    return build(
        chunks=[
            ChunkRow(chunk_id, naming_key(title))
            for chunk_id, title in chunks.values_list("id", "document__title")
        ],
        entities=[
            EntityRow(entity_id, key, is_generic=kind in GENERIC_TYPES, is_common=name.islower())
            for entity_id, key, kind, name in entities.values_list("id", "key", "type", "name")
        ],
        mentions=[
            MentionRow(*row)
            for row in mentions.values_list("chunk_id", "entity_id").annotate(count=Count("*"))
        ],
        aliases=[
            AliasRow(*row)
            for row in aliases.order_by("key", "entity_id")
            .values_list("key", "entity_id")
            .distinct()
        ],
    )


def save(workspace_id: uuid.UUID, index: WalkIndex, payload: bytes, *, seconds: float) -> None:
    # The workspace's row serialises concurrent builders, so that numbers only grow.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    snapshots = WalkSnapshot.objects.in_workspace(workspace_id)
    number = (snapshots.aggregate(last=Max("number"))["last"] or 0) + 1
    snapshots.delete()
    WalkSnapshot.objects.create(
        workspace_id=workspace_id,
        number=number,
        chunks=len(index.chunk_ids),
        entities=len(index.entity_ids),
        seconds=seconds,
        payload=payload,
    )


def is_due(workspace_id: uuid.UUID) -> bool:
    """Whether a burst in progress should make its first results walkable now."""
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
