"""Archive what was read of documents, and restore it.

Documents that are disabled or in the trash have no rows in the searched tables: results and
statistics are as if the documents had never been added, and no search needs a filter. Their
passages, words, vectors and extractions wait in the archive under their ids, so that nothing is
read or embedded again when they come back. Resolution then derives their facts again, in a worker
if there are very many documents; summaries and reports follow in the refresh.

Call inside a transaction that began with ``ingestion.history.recording.lock``, after updating the
document rows: a running stage checks them before it writes. Rows are locked in the order in which
workers lock them: stage runs, jobs, documents, chunks.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, LiteralString

from django.db.models import Model
from psycopg import sql
from psycopg.types.json import Json

from ingestion.changes import invalidation
from ingestion.knowledge.corpus import CORPUS_CHANGED
from ingestion.models import (
    ArchivedChunk,
    ArchivedExtraction,
    ArchivedPosting,
    ArchivedSentenceVector,
    ArchivedVector,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Document,
    IngestionJob,
    Posting,
    SentenceVector,
)
from ingestion.pipeline import batching, runner, transitions
from ingestion.pipeline.propagate import propagate
from ingestion.stages.resolve.applying import forget
from ingestion.vectors import chunks
from kb_project.errors import Problem
from kb_project.ports import build_ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count

STOPPED_BY_ARCHIVING: Final = Problem(
    code="put_away",
    happened="Work on this document stopped when it was archived.",
    kept="Everything read so far is kept.",
    next_step="It continues where it stopped once the document is enabled or restored.",
)


# Live and archived rows of each kind; both tables have the same columns. Chunks come first, because
# the other rows refer to them.
PAIRS: Final[tuple[tuple[type[Model], type[Model]], ...]] = (
    (Chunk, ArchivedChunk),
    (ChunkExtraction, ArchivedExtraction),
    (ChunkEmbedding, ArchivedVector),
    (SentenceVector, ArchivedSentenceVector),
    (Posting, ArchivedPosting),
)

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


def put(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> int:
    """Archive documents, stop the work on them, and propagate; returns the number of passages."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    stop_work(workspace_id, documents)
    with bulk_plans():
        passages, *_ = [
            run_sql_count(_copied(live, archived, Chunk), values) for live, archived in PAIRS
        ]
    clear(workspace_id, documents)
    propagate(workspace_id)
    return passages


def remove(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Remove documents that will not come back, then propagate."""
    stop_work(workspace_id, documents)
    clear(workspace_id, documents)
    propagate(workspace_id)


def clear(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Delete the documents' searchable rows and what derives from them. Propagate afterwards."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    passages = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents)
    with bulk_plans():
        invalidation.forget(workspace_id, list(passages.values_list("pk", flat=True)), documents)
    forget(workspace_id, documents)
    passages.delete()
    run_sql(CORPUS_CHANGED, values)


def restore(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> bool:
    """Restore documents under their old ids, resume stopped work, then propagate.

    Their passages are searched from then on. Returns whether a worker restores their names and
    facts, because there are very many documents.
    """
    kept = chunks.kept(workspace_id, build_ports().embedder)
    values = {"workspace": workspace_id, "documents": list(documents), "kept": kept}
    run_sql(chunks.HOLD_WITH_OTHERS, values)
    with bulk_plans():
        for live, archived in PAIRS:
            copied = _copied(archived, live, ArchivedChunk)
            if live is ChunkEmbedding:
                # Vectors of a model that is no longer in use are left behind.
                copied += sql.SQL(" AND fingerprint = ANY(%(kept)s::text[])")
            run_sql(copied, values)
        archived_chunks = ArchivedChunk.objects.in_workspace(workspace_id)
        archived_chunks.filter(document_id__in=documents).delete()
    run_sql(CORPUS_CHANGED, values)
    _resume_work(workspace_id, documents)
    # The embedding model may have changed since the documents were archived.
    wanting = [job_id for (job_id,) in run_sql(WITHOUT_VECTORS, values)]
    for job in IngestionJob.objects.in_workspace(workspace_id).filter(pk__in=wanting):
        transitions.repeat(job, ["embed"])
        runner.wake(workspace_id, job.pk, runner.EMBEDDING)
    # In the order in which they were added, so that the same documents give the same names.
    rows = Document.objects.in_workspace(workspace_id).filter(pk__in=documents)
    added = list(rows.order_by("created_at", "pk").values_list("pk", flat=True))
    return propagate(workspace_id, documents=added, may_wait=True)


def stop_work(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Stop all work on the documents: a worker that continues finds its lease gone."""
    values = {
        "workspace": workspace_id,
        "documents": list(documents),
        "problem": Json(STOPPED_BY_ARCHIVING),
    }
    run_sql(STOP_STAGES, values)
    run_sql(STOP_JOBS, values)


def _resume_work(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    values = {
        "workspace": workspace_id,
        "documents": list(documents),
        "code": STOPPED_BY_ARCHIVING["code"],
    }
    stopped = [job_id for (job_id,) in run_sql(STOPPED_JOBS, values)]
    jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk(stopped)
    for job_id in stopped:
        transitions.reopen(jobs[job_id])
    batching.call_for(workspace_id, stopped, *runner.DOCUMENT_LANES)


def _copied(source: type[Model], target: type[Model], chunks: type[Model]) -> sql.Composed:
    """Copy all columns of the documents' rows; ``chunks`` is the source's table of chunks."""
    columns = sql.SQL(", ").join(
        sql.Identifier(field.column) for field in source._meta.concrete_fields
    )
    key = sql.Identifier("id" if source is chunks else "chunk_id")
    return sql.SQL("""
INSERT INTO {target} ({columns})
SELECT {columns} FROM {source}
 WHERE workspace_id = %(workspace)s AND {key} = ANY (ARRAY(
       SELECT id FROM {chunks}
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])))
""").format(
        target=sql.Identifier(target._meta.db_table),
        source=sql.Identifier(source._meta.db_table),
        chunks=sql.Identifier(chunks._meta.db_table),
        columns=columns,
        key=key,
    )
