"""Write the rows of published chunks: add, move and remove them, and shift offsets into them.

Offsets count characters of a version's text. If another version keeps a passage, its text may begin
elsewhere, and everything with offsets into it moves by the same amount.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, LiteralString

from django.db.models import F

from ingestion.changes import version_changes
from ingestion.extractors import Extraction
from ingestion.models import Chunk
from kb_project.sql import run_sql

BATCH: Final = 500


# --- adding, moving and removing chunks -----------------------------------------------------------
ADD_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_chunk (workspace_id, id, document_id, version_id, ordinal, start, "end",
       text, context, tokens, page_first, page_last, heading_path, regions)
SELECT %(workspace)s, t.id, t.document, t.version, t.ordinal, t.first, t.last, t.text, '', t.tokens,
       t.page_first, t.page_last, ARRAY(SELECT jsonb_array_elements_text(t.path)), t.regions
  FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(versions)s::uuid[], %(ordinals)s::int4[],
              %(starts)s::int4[], %(ends)s::int4[], %(texts)s::text[], %(tokens)s::int4[],
              %(firsts)s::int4[], %(lasts)s::int4[], %(paths)s::jsonb[], %(regions)s::jsonb[])
       AS t (id, document, version, ordinal, first, last, text, tokens, page_first, page_last, path,
             regions)
"""
LOCK_DOCUMENTS: Final[LiteralString] = """
SELECT id FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
 ORDER BY id FOR NO KEY UPDATE
"""

# Jobs cancelled meanwhile no longer publish anything.
STANDING_JOBS: Final[LiteralString] = """
SELECT j.id FROM ingestion_ingestionjob AS j
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = j.document_id
 WHERE j.workspace_id = %(workspace)s AND j.id = ANY(%(jobs)s::uuid[])
   AND j.state NOT IN ('cancelled', 'failed')
   AND d.disabled_at IS NULL AND d.trashed_at IS NULL
"""

# Entities mentioned in passages that go or move, locked in the order that all writers use.
LOCK_ENTITIES: Final[LiteralString] = """
SELECT id FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))
 ORDER BY id FOR NO KEY UPDATE
"""
LOCK_RELATIONSHIPS: Final[LiteralString] = """
SELECT id FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT relationship_id FROM ingestion_evidence
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))
 ORDER BY id FOR NO KEY UPDATE
"""

MOVE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c
   SET version_id = t.version, ordinal = t.ordinal, start = t.first, "end" = t.last,
       tokens = t.tokens, page_first = t.page_first, page_last = t.page_last,
       heading_path = ARRAY(SELECT jsonb_array_elements_text(t.path)), regions = t.regions
  FROM unnest(%(ids)s::uuid[], %(versions)s::uuid[], %(ordinals)s::int4[], %(starts)s::int4[],
              %(ends)s::int4[], %(tokens)s::int4[], %(firsts)s::int4[], %(lasts)s::int4[],
              %(paths)s::jsonb[], %(regions)s::jsonb[])
       AS t (id, version, ordinal, first, last, tokens, page_first, page_last, path, regions)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.id
"""

GO_LIVE: Final[LiteralString] = """
UPDATE ingestion_document AS d
   SET live_number = t.number, title = t.title, name = t.name, media_type = t.media_type,
       size = t.size, sha256 = t.sha256, updated_at = now()
  FROM unnest(%(ids)s::uuid[], %(numbers)s::int4[], %(titles)s::text[], %(names)s::text[],
              %(types)s::text[], %(sizes)s::int8[], %(digests)s::text[])
       AS t (id, number, title, name, media_type, size, sha256)
 WHERE d.workspace_id = %(workspace)s AND d.id = t.id
"""

# Stopped work on earlier versions must not be resumed.
SET_ASIDE: Final[LiteralString] = """
UPDATE ingestion_ingestionjob AS old SET state = 'cancelled', problem = NULL, finished_at = now()
  FROM ingestion_ingestionjob AS job
 WHERE job.workspace_id = %(workspace)s AND job.id = ANY(%(jobs)s::uuid[])
   AND old.workspace_id = %(workspace)s AND old.document_id = job.document_id
   AND old.kind = 'document' AND old.created_at < job.created_at
   AND old.state IN ('failed', 'paused', 'cancelled')
"""

# What the chunks mentioned is reconsidered.
MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT relationship_id FROM ingestion_evidence
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
_PLACED: Final = (
    "version_id",
    "ordinal",
    "start",
    "end",
    "tokens",
    "page_first",
    "page_last",
    "heading_path",
    "regions",
)


def add(chunks: Sequence[Chunk]) -> None:
    for first in range(0, len(chunks), BATCH):
        batch = chunks[first : first + BATCH]
        more = {"workspace": batch[0].workspace_id, "texts": [chunk.text for chunk in batch]}
        run_sql(ADD_CHUNKS, _columns(batch) | more)


def move(workspace_id: uuid.UUID, kept: Sequence[tuple[Chunk, Chunk]]) -> None:
    """Move the old chunks' rows to the places of the new ones, where they differ."""
    placed = attrgetter(*_PLACED)
    pairs = [(old, new) for old, new in kept if placed(old) != placed(new)]
    if pairs:
        # Ordinals are unique within a version, checked row by row: rows that move step aside.
        moving = Chunk.objects.in_workspace(workspace_id).filter(
            pk__in=[old.pk for old, _ in pairs]
        )
        moving.update(ordinal=F("ordinal") + 1_000_000_000)
    for first in range(0, len(pairs), BATCH):
        batch = pairs[first : first + BATCH]
        columns = _columns([new for _, new in batch])
        ids = {"ids": [old.pk for old, _ in batch]}
        run_sql(MOVE_CHUNKS, columns | ids | {"workspace": workspace_id})


def _columns(chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "ids": [chunk.pk for chunk in chunks],
        "documents": [chunk.document_id for chunk in chunks],
        "versions": [chunk.version_id for chunk in chunks],
        "ordinals": [chunk.ordinal for chunk in chunks],
        "starts": [chunk.start for chunk in chunks],
        "ends": [chunk.end for chunk in chunks],
        "tokens": [chunk.tokens for chunk in chunks],
        "firsts": [chunk.page_first for chunk in chunks],
        "lasts": [chunk.page_last for chunk in chunks],
        "paths": [json.dumps(chunk.heading_path) for chunk in chunks],
        "regions": [json.dumps(chunk.regions) for chunk in chunks],
    }


def remove(
    workspace_id: uuid.UUID, documents: Sequence[uuid.UUID], chunks: Sequence[uuid.UUID]
) -> None:
    """Remove chunks, and mark what they mentioned as changed.

    Call inside a transaction, with the documents' entities and relationships locked.
    """
    if not chunks:
        return
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "documents": list(documents),
        "chunks": list(chunks),
    }
    run_sql(MARK_ENTITIES, values)
    run_sql(MARK_RELATIONSHIPS, values)
    version_changes.invalidate(workspace_id, chunks)
    Chunk.objects.in_workspace(workspace_id).filter(pk__in=chunks).delete()


# --- shifting offsets -----------------------------------------------------------------------------
# Offsets are unique within a passage, checked row by row: all step aside before taking new ones.
MENTIONS_ASIDE: Final[LiteralString] = """
UPDATE ingestion_mention SET start = start + 1000000000
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
   AND chunk_id = ANY(%(chunks)s::uuid[])
"""
SHIFT_MENTIONS: Final[LiteralString] = """
UPDATE ingestion_mention AS m SET start = m.start - 1000000000 + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.document_id = ANY(%(documents)s::uuid[])
   AND m.chunk_id = t.chunk
"""
EVIDENCE_ASIDE: Final[LiteralString] = """
UPDATE ingestion_evidence SET start = start + 1000000000
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
   AND chunk_id = ANY(%(chunks)s::uuid[])
"""
SHIFT_EVIDENCE: Final[LiteralString] = """
UPDATE ingestion_evidence AS m SET start = m.start - 1000000000 + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.document_id = ANY(%(documents)s::uuid[])
   AND m.chunk_id = t.chunk
"""
SHIFT_FRAGMENTS: Final[LiteralString] = """
UPDATE ingestion_fragment AS m SET start = m.start + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.document_id = ANY(%(documents)s::uuid[])
   AND m.chunk_id = t.chunk
"""
SHIFT_CLAIMS: Final[LiteralString] = """
UPDATE ingestion_claim AS m SET start = m.start + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.document_id = ANY(%(documents)s::uuid[])
   AND m.chunk_id = t.chunk
"""
SHIFT_FINDINGS: Final[LiteralString] = """
UPDATE ingestion_findingevidence AS m SET start = m.start + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.chunk_id = t.chunk
"""
SHIFT_CONFLICTS: Final[LiteralString] = """
UPDATE ingestion_conflictside AS m SET start = m.start + t.delta, "end" = m."end" + t.delta
  FROM unnest(%(chunks)s::uuid[], %(deltas)s::int4[]) AS t (chunk, delta)
 WHERE m.workspace_id = %(workspace)s AND m.chunk_id = t.chunk
"""

# Places stored as JSON: the rows that hold them, and the statement that writes them back.
SUMMARIES: Final[LiteralString] = """
SELECT id, sources, '[]'::jsonb FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s
   AND (document_id = ANY(%(documents)s::uuid[]) OR document_id IS NULL)
   AND sources <> '[]'
 ORDER BY id FOR NO KEY UPDATE
"""
SAVE_SUMMARIES: Final[LiteralString] = """
UPDATE ingestion_summarynode AS n SET sources = t.places
  FROM unnest(%(ids)s::uuid[], %(places)s::jsonb[]) AS t (id, places)
 WHERE n.workspace_id = %(workspace)s AND n.id = t.id
"""
ENTITIES: Final[LiteralString] = """
SELECT id, description_sources, conflicts FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND (description_sources <> '[]' OR conflicts <> '[]')
   AND id IN (SELECT entity_id FROM ingestion_mention
               WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
                 AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
SAVE_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity AS e SET description_sources = t.places, conflicts = t.conflicts
  FROM unnest(%(ids)s::uuid[], %(places)s::jsonb[], %(conflicts)s::jsonb[])
       AS t (id, places, conflicts)
 WHERE e.workspace_id = %(workspace)s AND e.id = t.id
"""
RELATIONSHIPS: Final[LiteralString] = """
SELECT id, '[]'::jsonb, conflicts FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND conflicts <> '[]'
   AND id IN (SELECT relationship_id FROM ingestion_evidence
               WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
                 AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
SAVE_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship AS r SET conflicts = t.conflicts
  FROM unnest(%(ids)s::uuid[], %(conflicts)s::jsonb[]) AS t (id, conflicts)
 WHERE r.workspace_id = %(workspace)s AND r.id = t.id
"""
EXTRACTIONS: Final[LiteralString] = """
SELECT chunk_id, payload FROM ingestion_chunkextraction
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
"""
SAVE_EXTRACTIONS: Final[LiteralString] = """
UPDATE ingestion_chunkextraction AS x SET payload = t.payload
  FROM unnest(%(ids)s::uuid[], %(payloads)s::jsonb[]) AS t (id, payload)
 WHERE x.workspace_id = %(workspace)s AND x.chunk_id = t.id
"""
IN_ROWS: Final[tuple[LiteralString, ...]] = (
    MENTIONS_ASIDE,
    SHIFT_MENTIONS,
    EVIDENCE_ASIDE,
    SHIFT_EVIDENCE,
    SHIFT_FRAGMENTS,
    SHIFT_CLAIMS,
    SHIFT_FINDINGS,
    SHIFT_CONFLICTS,
)
IN_JSON: Final[tuple[tuple[LiteralString, LiteralString], ...]] = (
    (SUMMARIES, SAVE_SUMMARIES),
    (ENTITIES, SAVE_ENTITIES),
    (RELATIONSHIPS, SAVE_RELATIONSHIPS),
)
Places = list[dict[str, Any]]


def shift(
    workspace_id: uuid.UUID, documents: Collection[uuid.UUID], deltas: Mapping[uuid.UUID, int]
) -> None:
    """Shift everything in these chunks by ``deltas`` characters. Call inside a transaction."""
    deltas = {chunk: delta for chunk, delta in deltas.items() if delta}
    if not deltas:
        return
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "documents": list(documents),
        "chunks": list(deltas),
        "deltas": list(deltas.values()),
    }
    by_name = {str(chunk): delta for chunk, delta in deltas.items()}
    for statement in IN_ROWS:
        run_sql(statement, values)
    for query, update in IN_JSON:
        _shift_json(values, by_name, query, update)
    _shift_extractions(values, deltas)


def _shift_json(
    values: Mapping[str, Any],
    deltas: Mapping[str, int],
    query: LiteralString,
    update: LiteralString,
) -> None:
    changed = []
    for row_id, *stored in run_sql(query, values):
        places, conflicts = map(json.loads, stored)
        new_places = shifted(places, deltas)
        new_conflicts = [
            one | {"statements": shifted(one.get("statements", []), deltas)} for one in conflicts
        ]
        if (new_places, new_conflicts) != (places, conflicts):
            changed.append((row_id, json.dumps(new_places), json.dumps(new_conflicts)))
    if changed:
        ids, placed, disputed = map(list, zip(*changed, strict=True))
        columns = {"ids": ids, "places": placed, "conflicts": disputed}
        run_sql(update, {"workspace": values["workspace"], **columns})


def shifted(places: Places, deltas: Mapping[str, int]) -> Places:
    """
    >>> shifted([{"chunk": "a", "start": 4, "end": 6}], {"a": 3})
    [{'chunk': 'a', 'start': 7, 'end': 9}]
    """
    return [
        place | {"start": place["start"] + delta, "end": place["end"] + delta}
        if (delta := deltas.get(str(place.get("chunk")), 0))
        else place
        for place in places
    ]


def _shift_extractions(values: Mapping[str, Any], deltas: Mapping[uuid.UUID, int]) -> None:
    payloads = {
        chunk: json.dumps(
            Extraction.from_json(json.loads(payload)).shifted(deltas[chunk]).as_json()
        )
        for chunk, payload in run_sql(EXTRACTIONS, values)
    }
    if payloads:
        columns = {"ids": list(payloads), "payloads": list(payloads.values())}
        run_sql(SAVE_EXTRACTIONS, {"workspace": values["workspace"], **columns})
