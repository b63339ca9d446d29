"""The SQL of what versions of a document say, each statement named by the question it answers.

Passages that are ``looked_at`` are told with their quotations. Null passages: all of the document.
"""

from __future__ import annotations

from typing import Final, LiteralString

# What do these passages of a document state? Links that a sentence states, and claims.
STATED: Final[LiteralString] = """
SELECT 'relationship', s.id, s.name, t.id, t.name, e.predicate, e.description,
       e.chunk_id = ANY(%(looked_at)s::uuid[]), e.start, e."end",
       CASE WHEN e.chunk_id = ANY(%(looked_at)s::uuid[])
            THEN left(substr(c.text, e.start - c.start + 1, e."end" - e.start), %(most)s)
            ELSE '' END
  FROM ingestion_evidence AS e
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = e.chunk_id
  JOIN ingestion_relationship AS r ON r.workspace_id = %(workspace)s AND r.id = e.relationship_id
  JOIN ingestion_entity AS s ON s.workspace_id = %(workspace)s AND s.id = r.source_id
  JOIN ingestion_entity AS t ON t.workspace_id = %(workspace)s AND t.id = r.target_id
 WHERE e.workspace_id = %(workspace)s AND e.document_id = %(document)s AND e.kind = 'stated'
   AND (%(chunks)s::uuid[] IS NULL OR e.chunk_id = ANY(%(chunks)s::uuid[]))
UNION ALL
SELECT 'claim', s.id, s.name, o.id, coalesce(o.name, ''), k.type,
       CASE k.status WHEN 'true' THEN '' ELSE k.status || ': ' END || k.description,
       k.chunk_id = ANY(%(looked_at)s::uuid[]), k.start, k."end",
       CASE WHEN k.chunk_id = ANY(%(looked_at)s::uuid[])
            THEN left(substr(c.text, k.start - c.start + 1, k."end" - k.start), %(most)s)
            ELSE '' END
  FROM ingestion_claim AS k
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = k.chunk_id
  JOIN ingestion_entity AS s ON s.workspace_id = %(workspace)s AND s.id = k.subject_id
  LEFT JOIN ingestion_entity AS o ON o.workspace_id = %(workspace)s AND o.id = k.object_id
 WHERE k.workspace_id = %(workspace)s AND k.document_id = %(document)s
   AND (%(chunks)s::uuid[] IS NULL OR k.chunk_id = ANY(%(chunks)s::uuid[]))
 ORDER BY 9, 10, 3, 5, 6
"""

# Whom do they name, and where first? Once for what is looked at, once for the rest.
NAMED: Final[LiteralString] = """
SELECT id, name, looked_at, start, stop, quote FROM (
    SELECT DISTINCT ON (e.id, looked_at) e.id, e.name, m.start, m."end" AS stop,
           m.chunk_id = ANY(%(looked_at)s::uuid[]) AS looked_at,
           substr(c.text, greatest(m.start - c.start - %(around)s, 0) + 1,
                  m."end" - m.start + 2 * %(around)s) AS quote
      FROM ingestion_mention AS m
      JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = m.entity_id
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = m.chunk_id
     WHERE m.workspace_id = %(workspace)s AND m.document_id = %(document)s
       AND (%(chunks)s::uuid[] IS NULL OR m.chunk_id = ANY(%(chunks)s::uuid[]))
     ORDER BY e.id, looked_at, m.start) AS first
 ORDER BY start, name
"""
