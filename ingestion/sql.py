"""Hand-written SQL of ingestion, each statement named by the question it answers.

Every statement names its workspace although row-level security would: the explicit condition is
what lets the planner use the indexes and prune partitions.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Arrays in one statement: faster than COPY through a temporary table for a document's few hundred
# rows, and row-level security refuses COPY itself.
ADD_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_posting (workspace_id, term, chunk_id, frequency)
SELECT %(workspace)s, t.term, t.chunk, t.frequency
  FROM unnest(%(terms)s::text[], %(chunks)s::uuid[], %(frequencies)s::int2[])
       AS t (term, chunk, frequency)
"""

# Those that are still there: what was put away or cut anew meanwhile is not.
SITUATE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c SET context = t.context, terms = t.terms
  FROM unnest(%(chunks)s::uuid[], %(contexts)s::text[], %(lengths)s::int4[])
       AS t (chunk, context, terms)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.chunk
RETURNING c.id
"""

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

# The workspace's row serialises two builders; numbers only ever grow. Two statements: the second
# must see what the builder that held the lock has committed.
LOCK_SNAPSHOTS: Final[LiteralString] = """
SELECT FROM workspaces_workspace WHERE id = %(workspace)s FOR NO KEY UPDATE
"""
NEXT_SNAPSHOT: Final[LiteralString] = """
SELECT coalesce(max(number), 0) + 1 FROM ingestion_walksnapshot WHERE workspace_id = %(workspace)s
"""

# No row while anything is under way or waits, or where nothing ever was.
CORPUS_VERSION: Final[LiteralString] = """
SELECT v.number FROM ingestion_corpusversion AS v
 WHERE v.workspace_id = %(workspace)s
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state IN ('pending', 'running'))
   AND NOT EXISTS (SELECT FROM ingestion_ingestionjob
                    WHERE workspace_id = %(workspace)s AND state = 'paused')
"""

# What is found is another thing from now on.
CORPUS_CHANGED: Final[LiteralString] = """
INSERT INTO ingestion_corpusversion AS v (workspace_id, number) VALUES (%(workspace)s, 1)
    ON CONFLICT (workspace_id) DO UPDATE SET number = v.number + 1
"""
