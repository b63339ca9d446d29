"""The SQL statements of the queue."""

from __future__ import annotations

from typing import Final, LiteralString

# Where each of these entities is named, with the text around the name: one mention per document
# first.
QUOTES: Final[LiteralString] = """
WITH named AS (
    SELECT m.entity_id, m.document_id, m.chunk_id, m.start, m."end",
           row_number() OVER (PARTITION BY m.entity_id, m.document_id
                              ORDER BY m.start, m."end") AS place
      FROM ingestion_mention AS m
     WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY (%(entities)s::uuid[])
), chosen AS (
    SELECT *, row_number() OVER (PARTITION BY entity_id
                                 ORDER BY place, document_id, start) AS number
      FROM named
)
SELECT n.entity_id, n.document_id, d.title, n.chunk_id, n.start, n."end",
       substr(c.text, greatest(1, n.start - c.start + 1 - %(around)s),
              least(n.start - c.start, %(around)s)),
       substr(c.text, n.start - c.start + 1, n."end" - n.start),
       substr(c.text, n."end" - c.start + 1, %(around)s),
       c.page_first, c.heading_path
  FROM chosen AS n
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = n.chunk_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = n.document_id
 WHERE n.number <= %(most)s
 ORDER BY n.entity_id, n.number
"""

FACTS: Final[LiteralString] = """
SELECT ends.id, count(DISTINCT r.id)
  FROM unnest(%(entities)s::uuid[]) AS ends (id)
  JOIN ingestion_relationship AS r ON r.workspace_id = %(workspace)s
       AND (r.source_id = ends.id OR r.target_id = ends.id)
 GROUP BY ends.id
"""
DOCUMENTS: Final[LiteralString] = """
SELECT entity_id, count(DISTINCT document_id) FROM ingestion_mention
 WHERE workspace_id = %(workspace)s AND entity_id = ANY (%(entities)s::uuid[])
 GROUP BY entity_id
"""
SKIP: Final[LiteralString] = """
INSERT INTO ingestion_suggestionskip (workspace_id, id, user_id, "case", skipped_at)
VALUES (%(workspace)s, gen_random_uuid(), %(user)s, %(case)s, now())
ON CONFLICT (workspace_id, user_id, "case") DO UPDATE SET skipped_at = now()
"""
# Decided cases keep their skip, because nothing reports the decision: old skips are deleted.
FORGET_SKIPS: Final[LiteralString] = """
DELETE FROM ingestion_suggestionskip
 WHERE workspace_id = %(workspace)s AND user_id = %(user)s
   AND skipped_at < now() - interval '90 days'
"""
