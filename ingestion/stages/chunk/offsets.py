"""Shift everything that has offsets into a text along with the passages it belongs to."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any, Final, LiteralString

from ingestion.extractors import Extraction
from kb_project.sql import run_sql

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
    for question, saving in IN_JSON:
        _shift_json(values, by_name, question, saving)
    _shift_extractions(values, deltas)


def _shift_json(
    values: Mapping[str, Any],
    deltas: Mapping[str, int],
    question: LiteralString,
    saving: LiteralString,
) -> None:
    changed = []
    for row_id, places, conflicts in run_sql(question, values):
        before = json.loads(places), json.loads(conflicts)
        disagreeing = [
            one | {"statements": shifted(one.get("statements", []), deltas)} for one in before[1]
        ]
        after = shifted(before[0], deltas), disagreeing
        if after != before:
            changed.append((row_id, *map(json.dumps, after)))
    if changed:
        ids, placed, disputed = zip(*changed, strict=True)
        columns = {"ids": list(ids), "places": list(placed), "conflicts": list(disputed)}
        run_sql(saving, {"workspace": values["workspace"], **columns})


def shifted(places: Places, deltas: Mapping[str, int]) -> Places:
    """
    >>> shifted([{"chunk": "a", "start": 4, "end": 6}], {"a": 3})
    [{'chunk': 'a', 'start': 7, 'end': 9}]
    """
    return [_moved(place, deltas.get(str(place.get("chunk")), 0)) for place in places]


def _moved(place: dict[str, Any], delta: int) -> dict[str, Any]:
    if not delta:
        return place
    return place | {"start": place["start"] + delta, "end": place["end"] + delta}


def _shift_extractions(values: Mapping[str, Any], deltas: Mapping[uuid.UUID, int]) -> None:
    found = run_sql(EXTRACTIONS, values)
    if found:
        payloads = [
            json.dumps(Extraction.from_json(json.loads(payload)).shifted(deltas[chunk]).as_json())
            for chunk, payload in found
        ]
        ids = [chunk for chunk, _ in found]
        run_sql(
            SAVE_EXTRACTIONS,
            {"workspace": values["workspace"], "ids": ids, "payloads": payloads},
        )
