"""Hand-written SQL for overviews, each statement named after what it reads.

``%(documents)s`` is the scope, NULL for the whole workspace. Disabled and trashed documents have no
passages here, so they are never read.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Names and headings of the documents that contain the prefixes of all the words asked for.
CALLED: Final[LiteralString] = """
SELECT d.id, d.title, d.name, v.headings::text
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
 WHERE d.workspace_id = %(workspace)s AND d.disabled_at IS NULL AND d.trashed_at IS NULL
   AND (%(documents)s::uuid[] IS NULL OR d.id = ANY(%(documents)s::uuid[]))
   AND (d.title || ' ' || d.name || ' ' || v.headings::text) ILIKE ALL(%(patterns)s::text[])
 ORDER BY d.title, d.id
 LIMIT %(count)s
"""

# The longest documents, and how many there are.
LONGEST: Final[LiteralString] = """
SELECT d.id, d.title, count(*) OVER ()
  FROM ingestion_document AS d
  JOIN (SELECT document_id, max(ordinal) AS last FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s
           AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s::uuid[]))
         GROUP BY document_id) AS c ON c.document_id = d.id
 WHERE d.workspace_id = %(workspace)s AND d.disabled_at IS NULL AND d.trashed_at IS NULL
 ORDER BY c.last DESC, d.title, d.id
 LIMIT %(count)s
"""

# Facts about some documents.
FACTS: Final[LiteralString] = """
SELECT d.id, d.title, d.name, d.dated, v.parser, jsonb_array_length(v.pages), length(v.text),
       v.headings::text, v.regions::text, v.metadata::text
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
 WHERE d.workspace_id = %(workspace)s AND d.id = ANY(%(documents)s::uuid[])
"""

# The most frequent names in each of some documents, of some types: names mentioned more than once,
# terms in at least three passages.
NAMED_MOST: Final[LiteralString] = """
WITH counted AS MATERIALIZED (
    SELECT document_id, entity_id, count(*) AS often, count(DISTINCT chunk_id) AS passages
      FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
     GROUP BY document_id, entity_id HAVING count(*) > 1
), ranked AS (
    SELECT c.document_id, e.name, e.type, c.often,
           row_number() OVER (PARTITION BY c.document_id, lower(e.type) = ANY(%(terms)s::text[])
                              ORDER BY c.often DESC, e.rank DESC, e.id) AS place
      FROM counted AS c
      JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = c.entity_id
     WHERE lower(e.type) = ANY(%(names)s::text[])
        OR lower(e.type) = ANY(%(terms)s::text[]) AND c.passages > 2
)
SELECT document_id, name, lower(type) = ANY(%(terms)s::text[]) FROM ranked
 WHERE place <= %(count)s
 ORDER BY document_id, place
"""

# The passage at a document's offset, and the next one.
PASSAGE_AT: Final[LiteralString] = """
SELECT id, start, text, regions::text FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND document_id = %(document)s AND "end" > %(start)s
 ORDER BY ordinal LIMIT 2
"""
