"""Archiving what was read of documents, and restoring it.

Documents that are disabled or in the trash have no rows in the searched tables: results and
statistics are as if the documents had never been added, and no search needs a filter. Their
passages, words, vectors and extractions wait in the archive under their ids, so that nothing is
read or embedded again when they come back. Resolution then derives their facts again; summaries and
reports follow in the refresh.

Call inside a transaction that began with ``ingestion.history.recording.lock``, after updating the
document rows: a running stage checks them before it writes.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Json

from ingestion.changes import invalidation
from ingestion.documents import archive_sql as sql
from ingestion.knowledge.corpus import CORPUS_CHANGED
from ingestion.models import Chunk, IngestionJob
from ingestion.pipeline import batching, propagate, runner, transitions
from ingestion.stages.resolve.applying import resolve_documents
from ingestion.stages.resolve.saving import forget
from ingestion.vectors import chunks
from kb_project.errors import Problem
from kb_project.ports import build_ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count

PUT_AWAY: Final = Problem(
    code="put_away",
    happened="Work on this document stopped when it was archived.",
    kept="Everything read so far is kept.",
    next_step="It continues where it stopped once the document is enabled or restored.",
)


def put(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> int:
    """Archive documents, stop the work on them, and propagate; returns the number of passages."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    stop_work(workspace_id, documents)
    with bulk_plans():
        passages = run_sql_count(sql.PUT_CHUNKS, values)
        for statement in (
            sql.PUT_EXTRACTIONS,
            sql.PUT_VECTORS,
            sql.PUT_SENTENCES,
            sql.PUT_POSTINGS,
        ):
            run_sql(statement, values)
    clear(workspace_id, documents)
    propagate.settle(workspace_id)
    return passages


def remove(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Remove documents that will not come back, then propagate."""
    stop_work(workspace_id, documents)
    clear(workspace_id, documents)
    propagate.settle(workspace_id)


def clear(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Delete the documents' searchable rows and what derives from them. Propagate afterwards."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    passages = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents)
    with bulk_plans():
        invalidation.forget(workspace_id, list(passages.values_list("pk", flat=True)), documents)
    forget(workspace_id, documents)
    run_sql(sql.DELETE_CHUNKS, values)
    run_sql(CORPUS_CHANGED, values)


def take(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Restore documents under their old ids, resume stopped work, then propagate."""
    kept = chunks.kept(workspace_id, build_ports().embedder)
    values = {"workspace": workspace_id, "documents": list(documents), "kept": kept}
    run_sql(chunks.HOLD_WITH_OTHERS, values)
    with bulk_plans():
        for statement in (
            sql.TAKE_CHUNKS,
            sql.TAKE_EXTRACTIONS,
            sql.TAKE_VECTORS,
            sql.TAKE_SENTENCES,
            sql.TAKE_POSTINGS,
            sql.CLEAR_SHELF,
        ):
            run_sql(statement, values)
    resolve_documents(workspace_id, dict(run_sql(sql.VERSIONS, values)))
    run_sql(CORPUS_CHANGED, values)
    _go_on(workspace_id, documents)
    _embed_again(workspace_id, values)
    propagate.settle(workspace_id)


def stop_work(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Stop all work on the documents: a worker that continues finds its lease gone."""
    values = {
        "workspace": workspace_id,
        "documents": list(documents),
        "problem": Json(PUT_AWAY),
    }
    run_sql(sql.STOP_STAGES, values)
    run_sql(sql.STOP_JOBS, values)


def _go_on(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    values = {"workspace": workspace_id, "documents": list(documents), "code": PUT_AWAY["code"]}
    stopped = [job_id for (job_id,) in run_sql(sql.STOPPED_JOBS, values)]
    jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk(stopped)
    for job_id in stopped:
        transitions.reopen(jobs[job_id])
    batching.call_for(workspace_id, stopped, *runner.LANES)


def _embed_again(workspace_id: uuid.UUID, values: dict[str, object]) -> None:
    """Queue the embed stage where the embedding model has changed since the documents were
    archived.
    """
    wanting = [job_id for (job_id,) in run_sql(sql.WITHOUT_VECTORS, values)]
    for job in IngestionJob.objects.in_workspace(workspace_id).filter(pk__in=wanting):
        transitions.repeat(job, ["embed"])
        runner.wake(workspace_id, job.pk, runner.EMBEDDING)
