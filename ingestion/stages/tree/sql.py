"""Statements of the tree stage: which trees are due, what they are made from, and what is kept."""

from __future__ import annotations

from typing import Final, LiteralString

# Documents of several chunks, all with a vector, whose tree is missing or was made from other
# chunks, contexts or another model's vectors. Chunks that were replaced, whatever their ids, have
# lost their edges. The writer is ignored if none is given, or if the document has not been read
# again since: a change of model alone costs nothing.
STALE_DOCUMENTS: Final[LiteralString] = """
WITH several AS MATERIALIZED (
    SELECT document_id FROM ingestion_chunk WHERE workspace_id = %(workspace)s
     GROUP BY document_id HAVING count(*) > 1
), leaves AS (
    SELECT c.document_id, count(*) AS chunks, count(v.chunk_id) AS vectors,
           count(e.chunk_id) AS linked,
           encode(sha256(convert_to(
               string_agg(c.id::text || md5(c.context), ',' ORDER BY c.ordinal, c.id)
               || %(fingerprint)s::text, 'UTF8')), 'hex') AS digest
      FROM ingestion_chunk AS c
      LEFT JOIN ingestion_chunkembedding AS v
        ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id
       AND v.fingerprint = %(fingerprint)s::text
      LEFT JOIN (SELECT DISTINCT chunk_id FROM ingestion_summaryedge
                  WHERE workspace_id = %(workspace)s AND chunk_id IS NOT NULL) AS e
        ON e.chunk_id = c.id
     WHERE c.workspace_id = %(workspace)s
       AND c.document_id = ANY (ARRAY(SELECT document_id FROM several))
     GROUP BY c.document_id)
SELECT leaves.document_id, leaves.digest, leaves.chunks
  FROM leaves
  LEFT JOIN ingestion_summarytree AS t
    ON t.workspace_id = %(workspace)s AND t.document_id = leaves.document_id
 WHERE leaves.vectors = leaves.chunks
   AND (t.digest IS DISTINCT FROM leaves.digest OR leaves.linked < leaves.chunks
        OR t.writer <> %(writer)s::text AND NOT EXISTS (
            SELECT FROM ingestion_ingestionjob AS j
              JOIN ingestion_stagerun AS r
                ON r.workspace_id = %(workspace)s AND r.job_id = j.id AND r.stage = 'resolve'
             WHERE j.workspace_id = %(workspace)s AND j.document_id = leaves.document_id
               AND j.kind = 'document' AND r.finished_at <= t.built_at))
 ORDER BY leaves.document_id
"""

# The root of each document: the top of its tree, or its only chunk.
ROOTS: Final[LiteralString] = """
SELECT id, is_chunk, identity FROM (
SELECT t.root_id AS id, false AS is_chunk, t.root_id::text AS identity, d.title, d.created_at
  FROM ingestion_summarytree AS t
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = t.document_id
 WHERE t.workspace_id = %(workspace)s AND t.fingerprint = %(fingerprint)s
UNION ALL
SELECT c.id, true, c.id::text || md5(c.context), d.title, d.created_at
  FROM ingestion_chunk AS c
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = c.document_id
  JOIN ingestion_chunkembedding AS v
    ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id AND v.fingerprint = %(fingerprint)s
 WHERE c.workspace_id = %(workspace)s AND NOT EXISTS (
       SELECT FROM ingestion_chunk AS other
        WHERE other.workspace_id = %(workspace)s AND other.document_id = c.document_id
          AND other.id <> c.id)) AS root
 ORDER BY title, created_at, identity
"""

COLLECTION: Final[LiteralString] = """
SELECT t.digest, t.writer, (
       SELECT count(DISTINCT coalesce(e.chunk_id, e.node_id))
         FROM ingestion_summarynode AS n
         JOIN ingestion_summaryedge AS e ON e.workspace_id = %(workspace)s AND e.parent_id = n.id
        WHERE n.workspace_id = %(workspace)s AND n.document_id IS NULL AND n.layer = 1)
  FROM ingestion_summarytree AS t
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NULL
"""

CHUNKS: Final[LiteralString] = """
SELECT c.document_id, c.id, c.text, c.tokens, c.start, c.regions, halfvec_send(v.vector)
  FROM ingestion_chunk AS c
  JOIN ingestion_chunkembedding AS v
    ON v.workspace_id = %(workspace)s AND v.chunk_id = c.id AND v.fingerprint = %(fingerprint)s
 WHERE c.workspace_id = %(workspace)s
   AND (c.document_id = ANY (%(documents)s::uuid[]) OR c.id = ANY (%(chunks)s::uuid[]))
 ORDER BY c.document_id, c.ordinal, c.id
"""

# Passages that are the only ones of their documents, without their texts: of a hundred thousand, a
# refresh summarises a few again.
LEAVES: Final[LiteralString] = """
SELECT id, left(encode(sha256(convert_to(text, 'UTF8')), 'hex'), %(length)s), tokens
  FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND id = ANY (%(chunks)s::uuid[])
"""
VECTORS: Final[LiteralString] = """
SELECT chunk_id, halfvec_send(vector) FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
   AND chunk_id = ANY (%(chunks)s::uuid[])
"""

# The passages whose vectors have the largest products with one, %(most)s or all (null), down to a
# least one.
ALIKE: Final[LiteralString] = """
SELECT chunk_id FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
   AND (vector <#> %(vector)s::halfvec) + 0 <= - %(least)s::float8
 ORDER BY (vector <#> %(vector)s::halfvec) + 0 LIMIT %(most)s::bigint
"""

# Nodes of some documents, of the tree over all documents, or by id.
NODES: Final[LiteralString] = """
SELECT n.document_id, n.id, n.digest, n.text, n.tokens, n.written_by, halfvec_send(n.vector)
  FROM ingestion_summarynode AS n
 WHERE n.workspace_id = %(workspace)s AND n.fingerprint = %(fingerprint)s
   AND (n.document_id = ANY (%(documents)s::uuid[]) OR n.id = ANY (%(nodes)s::uuid[])
        OR (%(collection)s AND n.document_id IS NULL))
"""

# The quotes of summaries, except those of deleted chunks.
SOURCES: Final[LiteralString] = """
SELECT n.id, c.id, s.start, s."end", substr(c.text, s.start - c.start + 1, s."end" - s.start)
  FROM ingestion_summarynode AS n
 CROSS JOIN LATERAL jsonb_to_recordset(n.sources) AS s (chunk uuid, start int, "end" int)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = s.chunk
 WHERE n.workspace_id = %(workspace)s AND n.id = ANY (%(nodes)s::uuid[])
"""

# Trees of documents that now have one chunk or none.
FORGET_SINGLE: Final[LiteralString] = """
DELETE FROM ingestion_summarynode AS n USING ingestion_summarytree AS t
 WHERE t.workspace_id = %(workspace)s AND t.document_id IS NOT NULL AND (
       SELECT count(*) FROM (
              SELECT FROM ingestion_chunk AS c
               WHERE c.workspace_id = %(workspace)s AND c.document_id = t.document_id
               LIMIT 2) AS first_two) < 2
   AND n.workspace_id = %(workspace)s AND n.document_id = t.document_id
"""
FORGET_COLLECTION: Final[LiteralString] = """
DELETE FROM ingestion_summarynode WHERE workspace_id = %(workspace)s AND document_id IS NULL
"""

# Locks leaves until the tree is saved; the count shows whether any is gone.
HOLD_CHUNKS: Final[LiteralString] = """
SELECT count(*) FROM (
    SELECT FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
     ORDER BY id FOR KEY SHARE) AS held
"""
HOLD_NODES: Final[LiteralString] = """
SELECT count(*) FROM (
    SELECT FROM ingestion_summarynode
     WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
     ORDER BY id FOR KEY SHARE) AS held
"""
COUNT_CHUNKS: Final[LiteralString] = """
SELECT count(*) FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""
COUNT_NODES: Final[LiteralString] = """
SELECT count(*) FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""
# What each node of a tree summarises, as ``_digest_of_edges`` has it.
EDGES: Final[LiteralString] = """
SELECT parent_id, sha256(string_agg(uuid_send(below) || float8send(probability), ''::bytea
                                    ORDER BY below))
  FROM (SELECT e.parent_id, coalesce(e.chunk_id, e.node_id) AS below, e.probability
          FROM ingestion_summarynode AS n
          JOIN ingestion_summaryedge AS e
            ON e.workspace_id = %(workspace)s AND e.parent_id = n.id
         WHERE n.workspace_id = %(workspace)s
           AND n.document_id IS NOT DISTINCT FROM %(document)s::uuid) AS edge
 GROUP BY parent_id
"""
FORGET_EDGES: Final[LiteralString] = """
DELETE FROM ingestion_summaryedge
 WHERE workspace_id = %(workspace)s AND parent_id = ANY (%(nodes)s::uuid[])
"""
FORGET_NODES: Final[LiteralString] = """
DELETE FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
   AND id <> ALL (%(kept)s::uuid[])
"""
FORGET_TREE: Final[LiteralString] = """
DELETE FROM ingestion_summarytree
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

# Nodes of a tree that is not complete: the old one has them as well until then.
COUNT_MORE: Final[LiteralString] = """
UPDATE ingestion_summarytree SET nodes = nodes + %(number)s
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

LAYOUTS: Final[LiteralString] = """
SELECT document_id, layout FROM ingestion_summarylayout
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
   AND (document_id = ANY (%(documents)s::uuid[]) OR (%(collection)s AND document_id IS NULL))
"""
FORGET_LAYOUT: Final[LiteralString] = """
DELETE FROM ingestion_summarylayout
 WHERE workspace_id = %(workspace)s AND document_id IS NOT DISTINCT FROM %(document)s::uuid
"""

VECTORS_ARE_COMING: Final[LiteralString] = """
SELECT EXISTS (
    SELECT FROM ingestion_stagerun AS r
      JOIN ingestion_ingestionjob AS j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
     WHERE r.workspace_id = %(workspace)s AND r.stage = 'embed'
       AND r.state IN ('pending', 'running')
       AND j.kind = 'document' AND j.state IN ('pending', 'running'))
"""

# A failed refresh is not restarted automatically; a running one may be past this already.
# Not while a refresh has yet to come to its trees: it will build them.
MAY_REFRESH: Final[LiteralString] = """
SELECT coalesce((SELECT job.state = 'done' OR job.state = 'running' AND NOT EXISTS (
                        SELECT FROM ingestion_stagerun AS run
                         WHERE run.workspace_id = %(workspace)s AND run.job_id = job.id
                           AND run.stage = 'tree' AND run.state = 'pending')
                   FROM ingestion_ingestionjob AS job
                  WHERE job.workspace_id = %(workspace)s AND job.kind = 'workspace'
                  ORDER BY job.created_at DESC LIMIT 1), true)
"""
