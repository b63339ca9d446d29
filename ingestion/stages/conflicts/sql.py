"""Hand-written SQL of finding conflicts."""

from __future__ import annotations

from typing import Final, LiteralString

# What is looked at: entities that changed, and those from which a changed relationship leads.
CHANGED: Final[LiteralString] = """
SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND (is_changed OR %(every)s)
UNION
SELECT source_id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
"""

# Passages that name one of the entities, if another one does too. Symbols of source code assert
# nothing.
PASSAGES: Final[LiteralString] = """
WITH passage AS MATERIALIZED (
    SELECT id, document_id, ordinal, start, text, regions FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
           SELECT chunk_id FROM ingestion_mention
            WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(
                  SELECT id FROM ingestion_entity
                   WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[])
                     AND chunk_count > 1 AND type <> ALL(%(silent)s::text[])))))
)
SELECT c.id, c.document_id, c.start, c.text, c.regions
  FROM passage AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
   AND d.id = ANY (ARRAY(SELECT document_id FROM passage))
 ORDER BY d.created_at, d.id, c.ordinal
"""
NAMES: Final[LiteralString] = """
SELECT m.chunk_id, m.entity_id, m.start, m."end", e.key, e.type
  FROM ingestion_mention AS m
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = m.entity_id
   AND e.id = ANY (ARRAY(
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])))
 WHERE m.workspace_id = %(workspace)s AND m.chunk_id = ANY(%(chunks)s::uuid[])
"""

# Names that passages mention together.
TOGETHER: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT e.key, m.chunk_id FROM ingestion_entity AS e
      JOIN ingestion_mention AS m ON m.workspace_id = %(workspace)s AND m.entity_id = e.id
       AND m.entity_id = ANY (ARRAY(
           SELECT id FROM ingestion_entity
            WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s::text[])))
     WHERE e.workspace_id = %(workspace)s AND e.key = ANY(%(keys)s::text[])
)
SELECT DISTINCT one.key, other.key FROM named AS one
  JOIN named AS other ON other.chunk_id = one.chunk_id AND one.key < other.key
"""

CLAIMS: Final[LiteralString] = """
SELECT k.subject_id, k.type, coalesce(o.key, ''), k.description, k.status, k.period_start,
       k.period_end, k.chunk_id, k.document_id, k.start, k."end"
  FROM ingestion_claim AS k
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = k.document_id
  LEFT JOIN ingestion_entity AS o ON o.workspace_id = %(workspace)s AND o.id = k.object_id
 WHERE k.workspace_id = %(workspace)s AND k.subject_id = ANY(%(entities)s::uuid[])
   AND k.status IN ('true', 'false')
 ORDER BY d.created_at, d.id, k.start, k.id
"""

# Contradictions that a model noted when it described an entity or a relationship.
NOTES: Final[LiteralString] = """
SELECT id, conflicts FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[]) AND conflicts <> '[]'
 UNION ALL
SELECT source_id, conflicts FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND source_id = ANY(%(entities)s::uuid[]) AND conflicts <> '[]'
"""
# Notes on entities whose notes were joined, not summarised, if they are from several documents.
NOTES_OF_SEVERAL: Final[LiteralString] = """
SELECT e.id, e.name, f.text, f.chunk_id, f.document_id, f.start, f."end"
  FROM ingestion_entity AS e
  JOIN ingestion_fragment AS f ON f.workspace_id = %(workspace)s AND f.entity_id = e.id
 WHERE e.workspace_id = %(workspace)s AND e.id = ANY(%(entities)s::uuid[])
   AND e.chunk_count > 1 AND 'joined' IN (e.written_by, e.proposed ->> 'written_by')
"""
PLACES: Final[LiteralString] = """
SELECT c.id, c.document_id, c.start, c."end", c.text, d.created_at, c.ordinal
  FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
 WHERE c.workspace_id = %(workspace)s AND c.id = ANY(%(chunks)s::uuid[])
"""

# --- saving ---------------------------------------------------------------------------------------
# Entities may be deleted meanwhile: those that remain are locked until the transaction ends.
HOLD: Final[LiteralString] = """
SELECT id, key, sense FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[])
 ORDER BY id FOR KEY SHARE
"""
HOLD_PASSAGES: Final[LiteralString] = """
SELECT id FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND id = ANY(%(chunks)s::uuid[])
 ORDER BY id FOR KEY SHARE
"""
FORGET: Final[LiteralString] = """
DELETE FROM ingestion_conflict
 WHERE workspace_id = %(workspace)s AND subject_id = ANY(%(entities)s::uuid[])
   AND NOT (kind = 'note' AND subject_id = ANY(%(unheard)s::uuid[]))
   AND (subject_id, about) NOT IN (
       SELECT * FROM unnest(%(subjects)s::uuid[], %(abouts)s::text[]) AS t (subject, about))
"""
FIND: Final[LiteralString] = """
INSERT INTO ingestion_conflict AS c
       (workspace_id, id, subject_id, kind, about, topic, state, holds, found_at)
SELECT %(workspace)s, t.id, t.subject, t.kind, t.about, t.topic, 'open', '', now()
  FROM unnest(%(ids)s::uuid[], %(subjects)s::uuid[], %(kinds)s::text[], %(abouts)s::text[],
              %(topics)s::text[]) AS t (id, subject, kind, about, topic)
 ORDER BY t.id
ON CONFLICT (workspace_id, subject_id, about) DO UPDATE SET topic = excluded.topic
 WHERE c.topic <> excluded.topic
"""
CONFLICTS: Final[LiteralString] = """
SELECT id, subject_id, about FROM ingestion_conflict
 WHERE workspace_id = %(workspace)s AND subject_id = ANY(%(subjects)s::uuid[])
"""
