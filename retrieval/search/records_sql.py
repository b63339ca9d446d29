"""Hand-written SQL for what the graph says: entities, relationships, claims, and their passages.

Parameters as in ``retrieval.search.sql``.
"""

from __future__ import annotations

from typing import Final, LiteralString

ENTITIES: Final[LiteralString] = """
SELECT id, name, type, description, description_sources
FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[])
"""

# The relationships of some entities: those between two of them, then the strongest. The strongest
# of each entity are read by index, since a hub has tens of thousands. What few documents state is
# found first; in a large scope, what is strong is usually stated.
RELATIONSHIPS_OF: Final[LiteralString] = """
WITH stated AS MATERIALIZED (
    SELECT DISTINCT relationship_id AS id FROM ingestion_evidence
    WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
      AND cardinality(%(documents)s::uuid[]) <= 5000
), listed AS (
    SELECT r.id, r.weight, true AS is_between FROM ingestion_relationship r
    WHERE r.workspace_id = %(workspace)s
      AND r.source_id = ANY(%(entities)s::uuid[]) AND r.target_id = ANY(%(entities)s::uuid[])
      AND r.source_id <> ALL(%(exclude)s::uuid[]) AND r.target_id <> ALL(%(exclude)s::uuid[])
      AND (%(documents)s::uuid[] IS NULL OR r.id IN (SELECT id FROM stated)
           OR cardinality(%(documents)s::uuid[]) > 5000 AND EXISTS (
               SELECT FROM ingestion_evidence e
               WHERE e.workspace_id = %(workspace)s AND e.relationship_id = r.id
                 AND e.document_id = ANY(%(documents)s::uuid[])))
    UNION ALL
    SELECT outgoing.id, outgoing.weight, false
    FROM unnest(%(entities)s::uuid[]) AS entity (id) CROSS JOIN LATERAL (
        SELECT r.id, r.weight FROM ingestion_relationship r
        WHERE r.workspace_id = %(workspace)s AND r.source_id = entity.id
          AND r.target_id <> ALL(%(entities)s::uuid[])
          AND r.source_id <> ALL(%(exclude)s::uuid[]) AND r.target_id <> ALL(%(exclude)s::uuid[])
          AND (%(documents)s::uuid[] IS NULL OR r.id IN (SELECT id FROM stated)
               OR cardinality(%(documents)s::uuid[]) > 5000 AND EXISTS (
                   SELECT FROM ingestion_evidence e
                   WHERE e.workspace_id = %(workspace)s AND e.relationship_id = r.id
                     AND e.document_id = ANY(%(documents)s::uuid[])))
        ORDER BY r.weight DESC, r.id LIMIT %(count)s) AS outgoing
    UNION ALL
    SELECT incoming.id, incoming.weight, false
    FROM unnest(%(entities)s::uuid[]) AS entity (id) CROSS JOIN LATERAL (
        SELECT r.id, r.weight FROM ingestion_relationship r
        WHERE r.workspace_id = %(workspace)s AND r.target_id = entity.id
          AND r.source_id <> ALL(%(entities)s::uuid[])
          AND r.source_id <> ALL(%(exclude)s::uuid[]) AND r.target_id <> ALL(%(exclude)s::uuid[])
          AND (%(documents)s::uuid[] IS NULL OR r.id IN (SELECT id FROM stated)
               OR cardinality(%(documents)s::uuid[]) > 5000 AND EXISTS (
                   SELECT FROM ingestion_evidence e
                   WHERE e.workspace_id = %(workspace)s AND e.relationship_id = r.id
                     AND e.document_id = ANY(%(documents)s::uuid[])))
        ORDER BY r.weight DESC, r.id LIMIT %(count)s) AS incoming
)
SELECT id FROM listed ORDER BY is_between DESC, weight DESC, id LIMIT %(count)s
"""

# The relationships that some passages are evidence of: those in the closest first.
RELATIONSHIPS_NEAR: Final[LiteralString] = """
SELECT e.relationship_id
FROM unnest(%(chunks)s::uuid[], %(closeness)s::float8[]) AS near (chunk_id, closeness)
CROSS JOIN LATERAL (
    SELECT relationship_id, kind FROM ingestion_evidence
    WHERE workspace_id = %(workspace)s AND chunk_id = near.chunk_id OFFSET 0) AS e
GROUP BY e.relationship_id
ORDER BY max(
    near.closeness * CASE WHEN e.kind = 'stated' THEN 1 ELSE %(together)s::float8 END) DESC,
    e.relationship_id
LIMIT %(count)s
"""

RELATIONSHIPS: Final[LiteralString] = """
SELECT id, source_id, target_id, description, keywords, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s AND id = ANY(%(relationships)s::uuid[])
  AND source_id <> ALL(%(exclude)s::uuid[]) AND target_id <> ALL(%(exclude)s::uuid[])
"""

# What weighs relationships: the first predicates of their evidence in the scope, strongest first,
# and the closeness of the closest of its passages.
EVIDENCE_WEIGHED: Final[LiteralString] = """
SELECT e.relationship_id,
       (array_agg(e.predicate ORDER BY e.strength DESC, e.chunk_id, e.start))[:%(sources)s],
       coalesce(max(
           near.closeness * CASE WHEN e.kind = 'stated' THEN 1 ELSE %(together)s::float8 END), 0)
FROM ingestion_evidence e
LEFT JOIN unnest(%(chunks)s::uuid[], %(closeness)s::float8[]) AS near (chunk_id, closeness)
  ON near.chunk_id = e.chunk_id
WHERE e.workspace_id = %(workspace)s AND e.relationship_id = ANY(%(relationships)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR e.document_id = ANY(%(documents)s::uuid[]))
  AND (%(as_of)s = '' OR (
      (e.period_start = '' OR e.period_start COLLATE "C" <= %(as_of)s || '~')
      AND (e.period_end = '' OR (e.period_end || '~') COLLATE "C" >= %(as_of)s)))
GROUP BY e.relationship_id
"""

# The evidence of relationships in the scope, strongest first.
EVIDENCE_OF: Final[LiteralString] = """
SELECT relationship_id, chunk_id, start, "end", predicate, description
FROM ingestion_evidence
WHERE workspace_id = %(workspace)s AND relationship_id = ANY(%(relationships)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
  AND (%(as_of)s = '' OR (
      (period_start = '' OR period_start COLLATE "C" <= %(as_of)s || '~')
      AND (period_end = '' OR (period_end || '~') COLLATE "C" >= %(as_of)s)))
ORDER BY relationship_id, strength DESC, chunk_id, start
"""

# Which of some passages state which relationships in the scope. All evidence of the relationships
# is read, since that is in the index: a passage that names much has hundreds of rows elsewhere.
STATING: Final[LiteralString] = """
SELECT DISTINCT stated.relationship_id, stated.chunk_id
FROM unnest(%(relationships)s::uuid[]) AS one (id) CROSS JOIN LATERAL (
    SELECT relationship_id, chunk_id FROM ingestion_evidence
    WHERE workspace_id = %(workspace)s AND relationship_id = one.id
      AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
      AND (%(as_of)s = '' OR (
          (period_start = '' OR period_start COLLATE "C" <= %(as_of)s || '~')
          AND (period_end = '' OR (period_end || '~') COLLATE "C" >= %(as_of)s)))
    OFFSET 0) AS stated
WHERE stated.chunk_id = ANY(%(chunks)s::uuid[])
"""

CLAIMS_OF: Final[LiteralString] = """
SELECT id, subject_id, type, status, period_start, period_end, description, chunk_id
FROM ingestion_claim
WHERE workspace_id = %(workspace)s AND subject_id = ANY(%(entities)s::uuid[])
  AND (object_id IS NULL OR object_id <> ALL(%(exclude)s::uuid[]))
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
  AND (%(as_of)s = '' OR (
      (period_start = '' OR period_start COLLATE "C" <= %(as_of)s || '~')
      AND (period_end = '' OR (period_end || '~') COLLATE "C" >= %(as_of)s)))
ORDER BY array_position(%(entities)s::uuid[], subject_id), id
LIMIT %(count)s
"""

# Those of some passages that exist in the scope, with their text if wanted.
PLACES: Final[LiteralString] = """
SELECT id, start, CASE WHEN %(wants_text)s THEN text ELSE '' END
FROM ingestion_chunk
WHERE workspace_id = %(workspace)s AND id = ANY(%(chunks)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
"""

# Where passages name some entities, and models' notes on these in the scope.
NAMED_AT: Final[LiteralString] = """
SELECT entity_id, chunk_id, min(start) FROM ingestion_mention
WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
  AND entity_id = ANY(%(entities)s::uuid[])
GROUP BY entity_id, chunk_id
"""
NOTES_ON: Final[LiteralString] = """
SELECT entity_id, chunk_id, text FROM ingestion_fragment
WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
ORDER BY entity_id, chunk_id, start, id
"""
