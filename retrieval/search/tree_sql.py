"""SQL to read the trees of summaries. ``%(documents)s`` is the scope, NULL for all.

Vectors of a model other than the question's are never compared with it.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Summaries and passages together, nearest first: (id, whether a passage, cosine, tokens, text of a
# summary). Summaries above several documents are returned whatever the scope.
NEAREST_OF_ALL: Final[LiteralString] = """
WITH nodes AS MATERIALIZED (
    SELECT id, -(vector <#> %(vector)s::halfvec) AS cosine, tokens, text
    FROM ingestion_summarynode
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND (%(documents)s::uuid[] IS NULL OR document_id IS NULL
           OR document_id = ANY(%(documents)s::uuid[]))
    ORDER BY cosine DESC, id LIMIT %(nodes)s
), chunks AS MATERIALIZED (
    SELECT chunk_id AS id, -(vector <#> %(vector)s::halfvec) AS cosine
    FROM ingestion_chunkembedding
    WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
      AND (%(documents)s::uuid[] IS NULL OR chunk_id IN (
          SELECT id FROM ingestion_chunk
          WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
    ORDER BY cosine DESC, id LIMIT %(chunks)s
)
SELECT id, false, cosine, tokens, text FROM nodes
UNION ALL
SELECT f.id, true, f.cosine, c.tokens, ''
FROM chunks f JOIN ingestion_chunk c ON c.id = f.id
WHERE c.workspace_id = %(workspace)s AND c.id = ANY(ARRAY(SELECT id FROM chunks))
ORDER BY 3 DESC, 2, 1
"""

# The passages below some summaries, nearest first, and whether all of them are in the scope.
LEAVES: Final[LiteralString] = """
WITH RECURSIVE below AS (
    SELECT id AS top, id AS node FROM unnest(%(nodes)s::uuid[]) AS t(id)
    UNION
    SELECT b.top, e.node_id
    FROM below b
    JOIN ingestion_summaryedge e ON e.workspace_id = %(workspace)s AND e.parent_id = b.node
    WHERE e.node_id IS NOT NULL
), leaves AS MATERIALIZED (
    SELECT DISTINCT b.top, e.chunk_id
    FROM below b
    JOIN ingestion_summaryedge e ON e.workspace_id = %(workspace)s AND e.parent_id = b.node
    WHERE e.chunk_id IS NOT NULL
)
SELECT l.top,
       array_agg(l.chunk_id
                 ORDER BY v.vector <#> %(vector)s::halfvec NULLS LAST, l.chunk_id),
       coalesce(bool_and(
           %(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[])), false)
FROM leaves l
JOIN ingestion_chunk c ON c.workspace_id = %(workspace)s AND c.id = l.chunk_id
LEFT JOIN ingestion_chunkembedding v
  ON v.workspace_id = %(workspace)s AND v.chunk_id = l.chunk_id
 AND v.fingerprint = %(fingerprint)s
GROUP BY l.top
"""

# Where a descent begins: the root above all documents, else the roots of single documents.
ROOTS: Final[LiteralString] = """
SELECT t.root_id, t.document_id IS NULL
FROM ingestion_summarytree t
WHERE t.workspace_id = %(workspace)s AND t.fingerprint = %(fingerprint)s
ORDER BY t.document_id IS NULL DESC, t.root_id
"""

# The summaries above any passage of the scope.
OVER_THE_SCOPE: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT e.parent_id AS node FROM ingestion_summaryedge e
    WHERE e.workspace_id = %(workspace)s AND e.chunk_id = ANY(ARRAY(
        SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
    UNION
    SELECT e.parent_id
    FROM above a
    JOIN ingestion_summaryedge e ON e.workspace_id = %(workspace)s AND e.node_id = a.node
)
SELECT node FROM above
"""

NODES: Final[LiteralString] = """
SELECT id, false, -(vector <#> %(vector)s::halfvec), tokens, text
FROM ingestion_summarynode
WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
  AND id = ANY(%(nodes)s::uuid[])
ORDER BY 3 DESC, id
"""

# The children of some summaries, in the same form as NEAREST_OF_ALL.
CHILDREN: Final[LiteralString] = """
WITH edges AS MATERIALIZED (
    SELECT DISTINCT node_id, chunk_id FROM ingestion_summaryedge
    WHERE workspace_id = %(workspace)s AND parent_id = ANY(%(nodes)s::uuid[])
)
SELECT n.id, false, -(n.vector <#> %(vector)s::halfvec) AS cosine, n.tokens, n.text
FROM ingestion_summarynode n
WHERE n.workspace_id = %(workspace)s AND n.fingerprint = %(fingerprint)s
  AND n.id = ANY(ARRAY(SELECT node_id FROM edges WHERE node_id IS NOT NULL))
UNION ALL
SELECT c.id, true, -(v.vector <#> %(vector)s::halfvec) AS cosine, c.tokens, ''
FROM ingestion_chunk c
JOIN ingestion_chunkembedding v ON v.chunk_id = c.id
WHERE c.workspace_id = %(workspace)s AND v.workspace_id = %(workspace)s
  AND v.fingerprint = %(fingerprint)s
  AND c.id = ANY(ARRAY(SELECT chunk_id FROM edges WHERE chunk_id IS NOT NULL))
  AND (%(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[]))
ORDER BY 3 DESC, 2, 1
"""
