"""Snapshot: pack mentions into the sparse matrix that the walk runs on.

In: the workspace's chunks, entities and mentions.  Out: one WalkSnapshot, replacing the last.
Safe to repeat: the new snapshot gets the next number, and older ones are deleted with it.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from functools import lru_cache
from typing import Final, LiteralString

import numpy as np
from django.db.models import Max
from django.utils import timezone

from ingestion.extractors import GENERIC_TYPES
from ingestion.extractors.titles import naming_key
from ingestion.models import Alias, Chunk, Entity, IngestionJob, WalkSnapshot
from ingestion.stage import Progress, StageOutcome
from kb_project.graph.walk_index import (
    AliasRow,
    ChunkRow,
    Entities,
    Mentions,
    WalkIndex,
    build,
)
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql
from workspaces import access
from workspaces.models import Workspace

# Columns of packed ids: a million rows would be two million objects.
ENTITIES: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), ''),
       coalesce(array_agg(key), '{}'), coalesce(array_agg(type), '{}'),
       coalesce(array_agg(name), '{}')
FROM (SELECT id, key, type, name FROM ingestion_entity WHERE workspace_id = %(workspace)s
      ORDER BY key, sense, id) AS entities
"""
MENTIONS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(chunk_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(entity_id), ''::bytea), ''),
       coalesce(string_agg(int4send(times), ''::bytea), '')
FROM (SELECT chunk_id, entity_id, count(*)::int4 AS times FROM ingestion_mention
      WHERE workspace_id = %(workspace)s GROUP BY chunk_id, entity_id) AS counted
"""

# During a burst of work, a snapshot is renewed once the last one is older than this, and older than
# this many times its build time: freshness costs at most a twentieth of the work.
FRESH = timedelta(seconds=5)
COST_SHARE = 20


KEPT_TITLES: Final = 1 << 17

# A document has one title and many chunks, and most titles stay from one time to the next.
_key_of = lru_cache(KEPT_TITLES)(naming_key)


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
    # A difference rather than a join, which compares each with all others where the planner knows
    # nothing of the workspace yet.
    own_keys = Entity.objects.in_workspace(workspace_id).values_list("key", "id")
    aliases = Alias.objects.in_workspace(workspace_id).values_list("key", "entity_id")
    return build(
        chunks=[
            ChunkRow(chunk_id, _key_of(title))
            for chunk_id, title in chunks.values_list("id", "document__title")
        ],
        entities=_entities(workspace_id),
        mentions=_mentions(workspace_id),
        aliases=[
            AliasRow(*row) for row in aliases.difference(own_keys).order_by("key", "entity_id")
        ],
    )


def _entities(workspace_id: uuid.UUID) -> Entities:
    [(ids, keys, types, names)] = run_sql(ENTITIES, {"workspace": workspace_id})
    return Entities(
        bytes(ids), keys, [kind in GENERIC_TYPES for kind in types], [*map(str.islower, names)]
    )


def _mentions(workspace_id: uuid.UUID) -> Mentions:
    [(chunks, entities, times)] = run_sql(MENTIONS, {"workspace": workspace_id})
    return Mentions(bytes(chunks), bytes(entities), np.frombuffer(times, ">i4"))


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
