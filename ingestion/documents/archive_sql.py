"""The archive's SQL statements. ``%(documents)s`` are ids.

Rows are locked in the order in which workers lock them: stage runs, jobs, documents, chunks.
"""

from __future__ import annotations

from typing import Final, LiteralString

STOP_STAGES: Final[LiteralString] = """
WITH open AS (
    SELECT r.id FROM ingestion_stagerun AS r
     WHERE r.workspace_id = %(workspace)s AND r.state <> 'done'
       AND r.job_id = ANY (ARRAY(
           SELECT id FROM ingestion_ingestionjob
            WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
              AND kind = 'document' AND state IN ('pending', 'running', 'paused')))
     ORDER BY r.id FOR UPDATE)
UPDATE ingestion_stagerun AS r
   SET state = 'cancelled', leased_by = '', leased_until = NULL, finished_at = now()
  FROM open WHERE r.workspace_id = %(workspace)s AND r.id = open.id
"""
STOP_JOBS: Final[LiteralString] = """
WITH open AS (
    SELECT id FROM ingestion_ingestionjob
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
       AND kind = 'document' AND state IN ('pending', 'running', 'paused')
     ORDER BY id FOR UPDATE
), stopped AS (
    UPDATE ingestion_ingestionjob AS j
       SET state = 'cancelled', problem = %(problem)s::jsonb, finished_at = now()
      FROM open WHERE j.workspace_id = %(workspace)s AND j.id = open.id
    RETURNING j.document_id
)
UPDATE ingestion_document SET state = 'paused', updated_at = now()
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT document_id FROM stopped))
"""

# Work that was stopped because its document was archived.
STOPPED_JOBS: Final[LiteralString] = """
SELECT id FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
   AND kind = 'document' AND state = 'cancelled' AND problem ->> 'code' = %(code)s
 ORDER BY created_at, id
"""

PUT_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedchunk (workspace_id, id, document_id, version_id, ordinal, start,
       "end", text, context, tokens, terms, page_first, page_last, heading_path, regions)
SELECT workspace_id, id, document_id, version_id, ordinal, start, "end", text, context, tokens,
       terms, page_first, page_last, heading_path, regions
  FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""
PUT_EXTRACTIONS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedextraction
       (workspace_id, chunk_id, method, payload, problem, rejected)
SELECT workspace_id, chunk_id, method, payload, problem, rejected
  FROM ingestion_chunkextraction
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
PUT_VECTORS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedvector (workspace_id, chunk_id, fingerprint, vector)
SELECT workspace_id, chunk_id, fingerprint, vector FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
PUT_SENTENCES: Final[LiteralString] = """
INSERT INTO ingestion_shelvedsentencevector
       (workspace_id, chunk_id, start, "end", fingerprint, vector)
SELECT workspace_id, chunk_id, start, "end", fingerprint, vector FROM ingestion_sentencevector
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
PUT_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedposting (workspace_id, chunk_id, term, frequency)
SELECT workspace_id, chunk_id, term, frequency FROM ingestion_posting
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""

TAKE_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_chunk (workspace_id, id, document_id, version_id, ordinal, start, "end",
       text, context, tokens, terms, page_first, page_last, heading_path, regions)
SELECT workspace_id, id, document_id, version_id, ordinal, start, "end", text, context, tokens,
       terms, page_first, page_last, heading_path, regions
  FROM ingestion_shelvedchunk
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""
TAKE_EXTRACTIONS: Final[LiteralString] = """
INSERT INTO ingestion_chunkextraction
       (workspace_id, chunk_id, method, payload, problem, rejected)
SELECT workspace_id, chunk_id, method, payload, problem, rejected
  FROM ingestion_shelvedextraction
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_shelvedchunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
# Vectors of a model that is no longer in use are left behind.
TAKE_VECTORS: Final[LiteralString] = """
INSERT INTO ingestion_chunkembedding (workspace_id, chunk_id, fingerprint, vector)
SELECT workspace_id, chunk_id, fingerprint, vector FROM ingestion_shelvedvector
 WHERE workspace_id = %(workspace)s AND fingerprint = ANY(%(kept)s::text[])
   AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_shelvedchunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
TAKE_SENTENCES: Final[LiteralString] = """
INSERT INTO ingestion_sentencevector (workspace_id, chunk_id, start, "end", fingerprint, vector)
SELECT workspace_id, chunk_id, start, "end", fingerprint, vector
  FROM ingestion_shelvedsentencevector
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_shelvedchunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
TAKE_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_posting (workspace_id, chunk_id, term, frequency)
SELECT workspace_id, chunk_id, term, frequency FROM ingestion_shelvedposting
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_shelvedchunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""
CLEAR_SHELF: Final[LiteralString] = """
DELETE FROM ingestion_shelvedchunk
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""

# Rows that belong to the chunks are deleted with them.
DELETE_CHUNKS: Final[LiteralString] = """
DELETE FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""

# The version each document's passages belong to.
VERSIONS: Final[LiteralString] = """
SELECT DISTINCT ON (d.id) d.id, v.id
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.document_id = d.id
 WHERE d.workspace_id = %(workspace)s AND d.id = ANY(%(documents)s::uuid[])
"""

# Finished jobs of documents with passages that lack a vector of a model in use.
WITHOUT_VECTORS: Final[LiteralString] = """
SELECT DISTINCT j.id
  FROM ingestion_chunk AS c
 CROSS JOIN unnest(%(kept)s::text[]) AS k (fingerprint)
  JOIN ingestion_ingestionjob AS j
    ON j.workspace_id = %(workspace)s AND j.document_id = c.document_id
   AND j.version_id = c.version_id AND j.kind = 'document' AND j.state = 'done'
 WHERE c.workspace_id = %(workspace)s AND c.document_id = ANY(%(documents)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_chunkembedding AS v
                    WHERE v.workspace_id = %(workspace)s AND v.chunk_id = c.id
                      AND v.fingerprint = k.fingerprint)
"""
