"""The SQL of reading documents again, each statement named by the question it answers."""

from __future__ import annotations

from typing import Final, LiteralString

# Which documents were read by another method than this one, and are not being read? With whether
# their passages are to be situated anew: where a model said where they stand and now none would,
# or the other way round. That takes their vectors away, so it waits until they have been made.
# And with whether their files are to be read anew: where nothing tells prose from furniture and no
# sentence has a vector, though there is more text than a label's. Null documents: all.
READ_OTHERWISE: Final[LiteralString] = """
WITH unmarked AS MATERIALIZED (
    SELECT v.id FROM ingestion_documentversion AS v
     WHERE v.workspace_id = %(workspace)s AND v.regions = '[]'::jsonb
       AND (%(documents)s::uuid[] IS NULL OR v.document_id = ANY(%(documents)s::uuid[]))
       AND pg_column_size(v.text) >= %(least_text)s
       AND NOT EXISTS (
           SELECT FROM ingestion_chunk AS c
             JOIN ingestion_sentencevector AS s
               ON s.workspace_id = %(workspace)s AND s.chunk_id = c.id
            WHERE c.workspace_id = %(workspace)s AND c.version_id = v.id)
), otherwise AS MATERIALIZED (
    SELECT c.document_id, c.version_id, bool_or(c.ordinal > 0) AS has_several
      FROM ingestion_chunk AS c
     WHERE c.workspace_id = %(workspace)s
       AND (%(documents)s::uuid[] IS NULL OR c.document_id = ANY(%(documents)s::uuid[]))
       AND c.version_id IN (
           SELECT id FROM unmarked
           UNION ALL
           SELECT of.version_id FROM ingestion_chunkextraction AS e
             JOIN ingestion_chunk AS of ON of.workspace_id = %(workspace)s AND of.id = e.chunk_id
            WHERE e.workspace_id = %(workspace)s AND e.method <> %(method)s)
     GROUP BY c.document_id, c.version_id
), idle AS MATERIALIZED (
    SELECT DISTINCT ON (o.document_id) j.id, o.document_id, v.created_at,
           o.has_several AND (v.situated_by <> '') <> %(uses_model)s AS situates,
           EXISTS (SELECT FROM unmarked AS u WHERE u.id = v.id) AS parses
      FROM otherwise AS o
      JOIN ingestion_documentversion AS v
        ON v.workspace_id = %(workspace)s AND v.id = o.version_id
      JOIN ingestion_ingestionjob AS j
        ON j.workspace_id = %(workspace)s AND j.document_id = o.document_id
       AND j.version_id = o.version_id AND j.kind = 'document'
       AND j.state IN ('done', 'running', 'pending') AND NOT j.cancel_requested
     ORDER BY o.document_id, j.created_at DESC
), busy AS MATERIALIZED (
    SELECT job_id, bool_or(stage <> 'embed') AS reads FROM ingestion_stagerun
     WHERE workspace_id = %(workspace)s AND state <> 'done'
       AND job_id = ANY (ARRAY(SELECT id FROM idle))
     GROUP BY job_id
)
SELECT idle.id, idle.document_id, idle.situates, idle.parses
  FROM idle LEFT JOIN busy ON busy.job_id = idle.id
 WHERE busy.job_id IS NULL OR NOT (busy.reads OR idle.situates OR idle.parses)
 ORDER BY idle.created_at, idle.id
"""

# Like ``record.repeat``, for any number of jobs.
REPEAT_STAGES: Final[LiteralString] = """
WITH again AS (
    UPDATE ingestion_stagerun
       SET state = 'pending', attempts = 0, units_done = 0, problem = NULL, leased_until = NULL,
           leased_by = ''
     WHERE workspace_id = %(workspace)s
       AND (job_id = ANY(%(jobs)s::uuid[]) AND stage = ANY(%(stages)s::text[])
            OR job_id = ANY(%(situated)s::uuid[]) AND stage = ANY(%(stages_of_situated)s::text[])
            OR job_id = ANY(%(parsed)s::uuid[]) AND stage = ANY(%(stages_of_parsed)s::text[]))
), reopened AS (
    UPDATE ingestion_ingestionjob
       SET state = 'pending', problem = NULL, finished_at = NULL
     WHERE workspace_id = %(workspace)s AND id = ANY(%(jobs)s::uuid[])
    RETURNING document_id
)
UPDATE ingestion_document SET state = 'queued', updated_at = now()
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT document_id FROM reopened))
"""

# What was said of a reading is told anew after the next one.
FORGET_WARNINGS: Final[LiteralString] = """
UPDATE ingestion_documentversion
   SET warnings = ARRAY(SELECT said FROM unnest(warnings) WITH ORDINALITY AS w (said, place)
                         WHERE NOT said LIKE ANY(%(patterns)s::text[]) ORDER BY place)
 WHERE workspace_id = %(workspace)s AND cardinality(warnings) > 0
   AND id = ANY (ARRAY(SELECT version_id FROM ingestion_ingestionjob
                        WHERE workspace_id = %(workspace)s AND id = ANY(%(jobs)s::uuid[])))
"""
