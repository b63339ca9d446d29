"""SQL to read the graph: entities, relationships, claims and reports, within a scope.

``%(documents)s`` is the scope, NULL for the whole workspace. Ids are passed as arrays: the planner
has few statistics on a newly filled workspace, and would join whole tables row by row.
"""

from __future__ import annotations

from typing import Final, LiteralString

# The passages nearest to each of several vectors, by position from 1, best first.
NEAREST_TO_EACH: Final[LiteralString] = """
WITH asked AS MATERIALIZED (
    SELECT place, vector::halfvec AS vector
    FROM unnest(%(vectors)s::text[]) WITH ORDINALITY AS t(vector, place)
)
SELECT a.place, near.chunk_id, near.cosine
FROM asked a
CROSS JOIN LATERAL (
    SELECT e.chunk_id, -(e.vector <#> a.vector) AS cosine
    FROM ingestion_chunkembedding e
    WHERE e.workspace_id = %(workspace)s AND e.fingerprint = %(fingerprint)s
      AND (%(documents)s::uuid[] IS NULL OR e.chunk_id IN (
          SELECT id FROM ingestion_chunk
          WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
    ORDER BY cosine DESC, e.chunk_id LIMIT %(count)s
) AS near
ORDER BY a.place, near.cosine DESC, near.chunk_id
"""

ENTITIES: Final[LiteralString] = """
SELECT id, name, type, description, description_sources, degree
FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[])
"""

# The relationships of some entities: those between two of them, then the strongest.
LINKS_OF: Final[LiteralString] = """
SELECT id, source_id, target_id, description, keywords, weight FROM ingestion_relationship r
WHERE workspace_id = %(workspace)s
  AND (source_id = ANY(%(entities)s::uuid[]) OR target_id = ANY(%(entities)s::uuid[]))
  AND source_id <> ALL(%(exclude)s::uuid[]) AND target_id <> ALL(%(exclude)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR EXISTS (
      SELECT FROM ingestion_evidence e
      WHERE e.workspace_id = %(workspace)s AND e.relationship_id = r.id
        AND e.document_id = ANY(%(documents)s::uuid[])))
ORDER BY source_id = ANY(%(entities)s::uuid[]) AND target_id = ANY(%(entities)s::uuid[]) DESC,
         weight DESC, id
LIMIT %(count)s
"""

# The relationships that some passages are evidence of.
EVIDENCE_IN: Final[LiteralString] = """
SELECT relationship_id, chunk_id, kind = 'stated' FROM ingestion_evidence
WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
"""

LINKS: Final[LiteralString] = """
SELECT id, source_id, target_id, description, keywords, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s AND id = ANY(%(relationships)s::uuid[])
  AND source_id <> ALL(%(exclude)s::uuid[]) AND target_id <> ALL(%(exclude)s::uuid[])
"""

# The evidence of relationships in the scope, strongest first.
EVIDENCE_OF: Final[LiteralString] = """
SELECT relationship_id, chunk_id, start, "end", predicate, kind = 'stated', description
FROM ingestion_evidence
WHERE workspace_id = %(workspace)s AND relationship_id = ANY(%(relationships)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
ORDER BY relationship_id, strength DESC, chunk_id, start
"""

# The passages in the scope that state relationships, each once.
CHUNKS_STATING: Final[LiteralString] = """
SELECT DISTINCT chunk_id FROM ingestion_evidence
WHERE workspace_id = %(workspace)s AND relationship_id = ANY(%(relationships)s::uuid[])
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
"""

CLAIMS_OF: Final[LiteralString] = """
SELECT id, subject_id, type, status, period_start, period_end, description, chunk_id
FROM ingestion_claim
WHERE workspace_id = %(workspace)s AND subject_id = ANY(%(entities)s::uuid[])
  AND (object_id IS NULL OR object_id <> ALL(%(exclude)s::uuid[]))
  AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
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
  AND document_id = ANY(%(documents)s::uuid[])
ORDER BY entity_id, chunk_id, start, id
"""

# The reports on some entities: those covering most of them first, then by rating.
REPORTS_ON: Final[LiteralString] = """
WITH named AS MATERIALIZED (
    SELECT community_id, array_agg(entity_id) AS members FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(entities)s::uuid[])
    GROUP BY community_id
)
SELECT r.id, r.title, r.summary, r.rating, n.members
FROM ingestion_communityreport r JOIN named n USING (community_id)
WHERE r.workspace_id = %(workspace)s
  AND r.community_id = ANY(ARRAY(SELECT community_id FROM named))
ORDER BY cardinality(n.members) DESC, r.rating DESC, r.id
LIMIT %(count)s
"""

# The findings of reports, with each one's passages and whether they are all in the scope.
FINDINGS_OF: Final[LiteralString] = """
SELECT f.report_id, f.part, f.summary, f.explanation,
       coalesce(array_agg(e.chunk_id ORDER BY e.id) FILTER (WHERE e.id IS NOT NULL), '{}'),
       coalesce(bool_and(
           %(documents)s::uuid[] IS NULL OR e.document_id = ANY(%(documents)s::uuid[])),
           %(documents)s::uuid[] IS NULL)
FROM ingestion_finding f
LEFT JOIN ingestion_findingevidence e
  ON e.workspace_id = %(workspace)s AND e.finding_id = f.id
WHERE f.workspace_id = %(workspace)s AND f.report_id = ANY(%(reports)s::uuid[])
GROUP BY f.id, f.report_id, f.part, f.summary, f.explanation, f.ordinal
ORDER BY f.report_id, f.part = 'finding', f.ordinal, f.id
"""
