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
from ingestion.models import Chunk, IngestionJob, WalkSnapshot
from ingestion.stage import Progress, StageOutcome
from kb_project.graph.compact import ID, ID_BYTES, Ids, texts_of
from kb_project.graph.walk_index import (
    Aliases,
    ChunkRow,
    Entities,
    Mentions,
    WalkIndex,
    build,
)
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, packed_sql
from workspaces import access
from workspaces.models import Workspace

# Columns of packed ids, and of lines: a million rows would be two million objects. Each comes from
# an index alone, which has it in order. Only what may be spelled in lower case has its name.
ENTITIES: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), ''),
       coalesce(string_agg(key, E'\n'), '')
FROM (SELECT id, key FROM ingestion_entity WHERE workspace_id = %(workspace)s
      ORDER BY key, sense) AS entities
"""
GENERIC: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), '') FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND type = ANY (%(generic)s::text[])
"""
IN_LOWER_CASE: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(id), ''::bytea), ''),
       coalesce(string_agg(replace(name, E'\n', ' '), E'\n'), '')
FROM ingestion_entity WHERE workspace_id = %(workspace)s AND lower(name) = name
"""
# Most entities have their own key alone.
ALIASES: Final[LiteralString] = """
SELECT coalesce(string_agg(alias.key, E'\n'), ''),
       coalesce(string_agg(uuid_send(entity_id), ''::bytea), '')
FROM ingestion_alias AS alias
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = entity_id AND entity.key <> alias.key
WHERE alias.workspace_id = %(workspace)s
"""
MENTIONS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(chunk_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(entity_id), ''::bytea), '')
FROM ingestion_mention WHERE workspace_id = %(workspace)s
"""

# During a burst of work, a snapshot is renewed once the last one is older than this, and older than
# this many times its build time: freshness costs at most a twentieth of the work.
FRESH = timedelta(seconds=5)
COST_SHARE = 20


KEPT_TITLES: Final = 1 << 17

# A document has one title and many chunks, and most titles stay from one time to the next.
_key_of = lru_cache(KEPT_TITLES)(naming_key)


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    return StageOutcome(written=renew(job.workspace_id))


def renew(workspace_id: uuid.UUID) -> int:
    """Build and store the matrix for the current graph; return the number of its passages."""
    started = time.monotonic()
    with access.in_workspace(workspace_id), bulk_plans():
        made = packed(workspace_id)
    with access.in_workspace(workspace_id):
        save(made, seconds=time.monotonic() - started)
    return made.chunks


def packed(workspace_id: uuid.UUID) -> WalkSnapshot:
    """A snapshot to ``save``: of the matrix itself, nothing is left then."""
    index = read(workspace_id)
    return WalkSnapshot(
        workspace_id=workspace_id,
        chunks=len(index.chunk_ids),
        entities=len(index.entity_ids),
        payload=index.to_bytes(),
    )


def read(workspace_id: uuid.UUID) -> WalkIndex:
    chunks = Chunk.objects.in_workspace(workspace_id).order_by(
        "document__title", "document_id", "ordinal"
    )
    return build(
        chunks=[
            ChunkRow(chunk_id, _key_of(title))
            for chunk_id, title in chunks.values_list("id", "document__title")
        ],
        entities=_entities(workspace_id),
        mentions=_mentions(workspace_id),
        aliases=_aliases(workspace_id),
    )


def _entities(workspace_id: uuid.UUID) -> Entities:
    values = {"workspace": workspace_id, "generic": sorted(GENERIC_TYPES)}
    [(ids, keys)] = packed_sql(ENTITIES, values)
    [(generic,)] = packed_sql(GENERIC, values)
    [(lower, names)] = packed_sql(IN_LOWER_CASE, values)
    are_common = np.array([*map(str.islower, texts_of(names, lower))], np.bool_)
    entities = Ids.of_bytes(bytes(ids))
    return Entities(
        bytes(ids),
        texts_of(keys, ids),
        # Any of these may have been added since.
        entities.mask_packed(bytes(generic)),
        entities.mask_packed(np.frombuffer(lower, ID)[are_common].tobytes()),
    )


def _aliases(workspace_id: uuid.UUID) -> Aliases:
    [(keys, entities)] = packed_sql(ALIASES, {"workspace": workspace_id})
    return Aliases(texts_of(keys, entities), bytes(entities))


def _mentions(workspace_id: uuid.UUID) -> Mentions:
    [(chunks, entities)] = packed_sql(MENTIONS, {"workspace": workspace_id})
    return Mentions(bytes(chunks), bytes(entities), np.ones(len(chunks) // ID_BYTES, np.int32))


def save(made: WalkSnapshot, *, seconds: float) -> None:
    # The workspace's row serialises concurrent builders, so that numbers only grow.
    Workspace.objects.select_for_update(no_key=True).get(pk=made.workspace_id)
    snapshots = WalkSnapshot.objects.in_workspace(made.workspace_id)
    made.number = (snapshots.aggregate(last=Max("number"))["last"] or 0) + 1
    made.seconds = seconds
    snapshots.delete()
    made.save(force_insert=True)


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
