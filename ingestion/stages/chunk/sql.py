"""The SQL for adding, moving and removing chunks, each statement named for what it does.

Offsets count characters of a version's text. If another version keeps a passage, its text may begin
elsewhere, and everything with offsets into it moves by the same amount.
"""

from __future__ import annotations

from typing import Final, LiteralString

ADD_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_chunk (workspace_id, id, document_id, version_id, ordinal, start, "end",
       text, context, tokens, page_first, page_last, heading_path, regions)
SELECT %(workspace)s, t.id, t.document, t.version, t.ordinal, t.first, t.last, t.text, '', t.tokens,
       t.page_first, t.page_last, ARRAY(SELECT jsonb_array_elements_text(t.path)), t.regions
  FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(versions)s::uuid[], %(ordinals)s::int4[],
              %(starts)s::int4[], %(ends)s::int4[], %(texts)s::text[], %(tokens)s::int4[],
              %(firsts)s::int4[], %(lasts)s::int4[], %(paths)s::jsonb[], %(regions)s::jsonb[])
       AS t (id, document, version, ordinal, first, last, text, tokens, page_first, page_last, path,
             regions)
"""

LOCK_DOCUMENTS: Final[LiteralString] = """
SELECT id FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
 ORDER BY id FOR NO KEY UPDATE
"""
# Jobs cancelled meanwhile no longer publish anything.
STANDING_JOBS: Final[LiteralString] = """
SELECT j.id FROM ingestion_ingestionjob AS j
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = j.document_id
 WHERE j.workspace_id = %(workspace)s AND j.id = ANY(%(jobs)s::uuid[])
   AND j.state NOT IN ('cancelled', 'failed')
   AND d.disabled_at IS NULL AND d.trashed_at IS NULL
"""

# Entities mentioned in passages that go or move, locked in the order that all writers use.
LOCK_ENTITIES: Final[LiteralString] = """
SELECT id FROM ingestion_entity
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))
 ORDER BY id FOR NO KEY UPDATE
"""
LOCK_RELATIONSHIPS: Final[LiteralString] = """
SELECT id FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT relationship_id FROM ingestion_evidence
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[]))
 ORDER BY id FOR NO KEY UPDATE
"""

# Ordinals are unique within a version, checked row by row: rows that move within one step aside.
STEP_ASIDE: Final[LiteralString] = """
UPDATE ingestion_chunk SET ordinal = ordinal + 1000000000
 WHERE workspace_id = %(workspace)s AND id = ANY(%(chunks)s::uuid[])
"""
MOVE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c
   SET version_id = t.version, ordinal = t.ordinal, start = t.first, "end" = t.last,
       tokens = t.tokens, page_first = t.page_first, page_last = t.page_last,
       heading_path = ARRAY(SELECT jsonb_array_elements_text(t.path)), regions = t.regions
  FROM unnest(%(ids)s::uuid[], %(versions)s::uuid[], %(ordinals)s::int4[], %(starts)s::int4[],
              %(ends)s::int4[], %(tokens)s::int4[], %(firsts)s::int4[], %(lasts)s::int4[],
              %(paths)s::jsonb[], %(regions)s::jsonb[])
       AS t (id, version, ordinal, first, last, tokens, page_first, page_last, path, regions)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.id
"""

# No method means to be read again; earlier findings stay until then.
READ_AGAIN: Final[LiteralString] = """
UPDATE ingestion_chunkextraction SET method = ''
 WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
"""

GO_LIVE: Final[LiteralString] = """
UPDATE ingestion_document AS d
   SET live_number = t.number, title = t.title, name = t.name, media_type = t.media_type,
       size = t.size, sha256 = t.sha256, updated_at = now()
  FROM unnest(%(ids)s::uuid[], %(numbers)s::int4[], %(titles)s::text[], %(names)s::text[],
              %(types)s::text[], %(sizes)s::int8[], %(digests)s::text[])
       AS t (id, number, title, name, media_type, size, sha256)
 WHERE d.workspace_id = %(workspace)s AND d.id = t.id
"""
# Stopped work on earlier versions must not be resumed.
SET_ASIDE: Final[LiteralString] = """
UPDATE ingestion_ingestionjob AS old SET state = 'cancelled', problem = NULL, finished_at = now()
  FROM ingestion_ingestionjob AS job
 WHERE job.workspace_id = %(workspace)s AND job.id = ANY(%(jobs)s::uuid[])
   AND old.workspace_id = %(workspace)s AND old.document_id = job.document_id
   AND old.kind = 'document' AND old.created_at < job.created_at
   AND old.state IN ('failed', 'paused', 'cancelled')
"""
