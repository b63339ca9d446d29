"""Snapshot: pack mentions into the sparse matrix that the walk runs on.

In: the workspace's chunks, entities and mentions.  Out: one WalkSnapshot, replacing the last.
Safe to repeat: the new snapshot gets the next number, and older ones are deleted with it.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Final, LiteralString

from django.utils import timezone

from ingestion.extractors import GENERIC_TYPES
from ingestion.extractors.titles import naming_key
from ingestion.models import IngestionJob, WalkSnapshot
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
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

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
    scope = {"workspace": workspace_id}
    return build(
        chunks=[
            ChunkRow(chunk_id, naming_key(title))
            for chunk_id, title in run_sql(CHUNKS_TO_WALK, scope)
        ],
        entities=[
            EntityRow(entity_id, key, is_generic=kind in GENERIC_TYPES, is_common=name.islower())
            for entity_id, key, kind, name in run_sql(ENTITIES_TO_WALK, scope)
        ],
        mentions=[MentionRow(*row) for row in run_sql(MENTIONS_TO_WALK, scope)],
        aliases=[AliasRow(*row) for row in run_sql(ALIASES_TO_WALK, scope)],
    )


def save(workspace_id: uuid.UUID, index: WalkIndex, payload: bytes, *, seconds: float) -> None:
    run_sql(LOCK_SNAPSHOTS, {"workspace": workspace_id})
    [(number,)] = run_sql(NEXT_SNAPSHOT, {"workspace": workspace_id})
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


CHUNKS_TO_WALK: Final[LiteralString] = """
SELECT c.id, d.title FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
 WHERE c.workspace_id = %(workspace)s
 ORDER BY d.title, c.document_id, c.ordinal
"""


ENTITIES_TO_WALK: Final[LiteralString] = """
SELECT id, key, type, name FROM ingestion_entity
 WHERE workspace_id = %(workspace)s ORDER BY key, sense
"""


ALIASES_TO_WALK: Final[LiteralString] = """
SELECT DISTINCT a.key, a.entity_id
  FROM ingestion_alias AS a
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = a.entity_id
 WHERE a.workspace_id = %(workspace)s AND a.key <> e.key
 ORDER BY a.key, a.entity_id
"""


MENTIONS_TO_WALK: Final[LiteralString] = """
SELECT chunk_id, entity_id, count(*) FROM ingestion_mention
 WHERE workspace_id = %(workspace)s GROUP BY chunk_id, entity_id
"""


# The workspace's row serialises concurrent builders; numbers only grow. Two statements, because the
# second must see what the builder that held the lock has committed.
LOCK_SNAPSHOTS: Final[LiteralString] = """
SELECT FROM workspaces_workspace WHERE id = %(workspace)s FOR NO KEY UPDATE
"""


NEXT_SNAPSHOT: Final[LiteralString] = """
SELECT coalesce(max(number), 0) + 1 FROM ingestion_walksnapshot WHERE workspace_id = %(workspace)s
"""
