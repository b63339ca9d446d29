"""The SQL of the shelf, each statement named by what it does. ``%(documents)s`` are ids.

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

# Work that was stopped because its document was put away.
STOPPED_JOBS: Final[LiteralString] = """
SELECT id FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
   AND kind = 'document' AND state = 'cancelled' AND problem ->> 'code' = %(code)s
 ORDER BY created_at, id
"""

PUT_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedchunk (workspace_id, id, document_id, version_id, ordinal, start,
       "end", text, context, tokens, terms, page_first, page_last, heading_path)
SELECT workspace_id, id, document_id, version_id, ordinal, start, "end", text, context, tokens,
       terms, page_first, page_last, heading_path
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
PUT_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_shelvedposting (workspace_id, chunk_id, term, frequency)
SELECT workspace_id, chunk_id, term, frequency FROM ingestion_posting
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(
       SELECT id FROM ingestion_chunk
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
"""

TAKE_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_chunk (workspace_id, id, document_id, version_id, ordinal, start, "end",
       text, context, tokens, terms, page_first, page_last, heading_path)
SELECT workspace_id, id, document_id, version_id, ordinal, start, "end", text, context, tokens,
       terms, page_first, page_last, heading_path
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
# Vectors of a model that nobody uses any more stay behind.
TAKE_VECTORS: Final[LiteralString] = """
INSERT INTO ingestion_chunkembedding (workspace_id, chunk_id, fingerprint, vector)
SELECT workspace_id, chunk_id, fingerprint, vector FROM ingestion_shelvedvector
 WHERE workspace_id = %(workspace)s AND fingerprint = ANY(%(kept)s::text[])
   AND chunk_id = ANY (ARRAY(
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

# Statements of reports that rest on nothing else. Their report is told by what remains of its
# summary until it is written anew; one of which nothing remains goes.
FORGET_FINDINGS: Final[LiteralString] = """
WITH put AS MATERIALIZED (
    SELECT id FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), touched AS MATERIALIZED (
    SELECT DISTINCT finding_id AS id FROM ingestion_findingevidence
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY (ARRAY(SELECT id FROM put))
), gone AS (
    DELETE FROM ingestion_finding AS f USING touched
     WHERE f.workspace_id = %(workspace)s AND f.id = touched.id
       AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS e
                        WHERE e.workspace_id = %(workspace)s AND e.finding_id = f.id
                          AND e.chunk_id <> ALL (ARRAY(SELECT id FROM put)))
    RETURNING f.report_id
)
SELECT DISTINCT report_id FROM gone
"""
MEND_REPORTS: Final[LiteralString] = """
UPDATE ingestion_communityreport AS r
   SET digest = '', summary = coalesce((
       SELECT string_agg(f.summary, ' ' ORDER BY f.ordinal) FROM ingestion_finding AS f
        WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id AND f.part = 'summary'), '')
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
"""
MARK_TOPICS: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT community_id FROM ingestion_communityreport
        WHERE workspace_id = %(workspace)s AND id = ANY(%(reports)s::uuid[])))
"""
FORGET_EMPTY_REPORTS: Final[LiteralString] = """
DELETE FROM ingestion_communityreport AS r
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_finding AS f
                    WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id)
"""

# The documents' own summaries, and all that were made of them.
FORGET_SUMMARIES: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT e.parent_id AS id FROM ingestion_summaryedge AS e
     WHERE e.workspace_id = %(workspace)s AND e.chunk_id = ANY (ARRAY(
           SELECT id FROM ingestion_chunk
            WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
    UNION
    SELECT id FROM ingestion_summarynode
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
    UNION
    SELECT e.parent_id FROM above
      JOIN ingestion_summaryedge AS e ON e.workspace_id = %(workspace)s AND e.node_id = above.id
)
DELETE FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM above))
"""

# What belongs to the chunks goes with them.
DELETE_CHUNKS: Final[LiteralString] = """
DELETE FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
"""

# Which version of each document its passages are of.
VERSIONS: Final[LiteralString] = """
SELECT DISTINCT ON (d.id) d.id, v.id
  FROM ingestion_document AS d
  JOIN ingestion_documentversion AS v
    ON v.workspace_id = %(workspace)s AND v.document_id = d.id AND v.number = d.live_number
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.document_id = d.id
 WHERE d.workspace_id = %(workspace)s AND d.id = ANY(%(documents)s::uuid[])
"""

# Whose passages have no vector of a model that is searched by, though all were made before.
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

# What is found is another thing from now on.
CORPUS_CHANGED: Final[LiteralString] = """
INSERT INTO ingestion_corpusversion AS v (workspace_id, number) VALUES (%(workspace)s, 1)
    ON CONFLICT (workspace_id) DO UPDATE SET number = v.number + 1
"""
