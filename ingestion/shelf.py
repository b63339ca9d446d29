"""Putting away what was read of documents, and taking it back.

What is disabled or in the trash has no row among those that are searched: so every result and
every statistic is as if it had never been added, and no search needs a filter. Its passages, words,
vectors and what was found in them wait on the shelf, under the ids they had, so that nothing is
read or embedded again when it comes back. What the documents said follows from that by resolving
them anew; summaries and reports follow in the refresh.

Call inside a transaction that began with ``ingestion.history.lock``, after the documents' rows say
what they are now: a stage that is under way looks there before it writes.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from psycopg.types.json import Json

from ingestion import derived, groups, pipeline, record, vectors
from ingestion import shelf_sql as sql
from ingestion.curation import settling
from ingestion.models import Chunk, IngestionJob
from ingestion.record import Problem
from ingestion.sql import CORPUS_CHANGED
from ingestion.stages.resolve.applying import resolve_documents
from ingestion.stages.resolve.saving import forget
from kb_project.ports import build_ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count

PUT_AWAY: Final = Problem(
    code="put_away",
    happened="Work on this document stopped when it was archived.",
    kept="Everything read until then is kept.",
    next_step="It goes on where it stopped when the document comes back.",
)


def put(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> int:
    """Put documents away, then settle; returns how many passages. The work on them stops."""
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
    settling.settle(workspace_id)
    return passages


def remove(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Take documents away that do not come back, then settle."""
    stop_work(workspace_id, documents)
    clear(workspace_id, documents)
    settling.settle(workspace_id)


def clear(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Take away all that is searched of the documents, and what was made of it. Settle after it."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    passages = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents)
    with bulk_plans():
        derived.forget(workspace_id, list(passages.values_list("pk", flat=True)), documents)
    forget(workspace_id, documents)
    run_sql(sql.DELETE_CHUNKS, values)
    run_sql(CORPUS_CHANGED, values)


def take(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Take documents back under the ids they had, then settle. Stopped work goes on."""
    kept = vectors.kept(workspace_id, build_ports().embedder)
    values = {"workspace": workspace_id, "documents": list(documents), "kept": kept}
    run_sql(vectors.HOLD_WITH_OTHERS, values)
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
    settling.settle(workspace_id)


def stop_work(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Let nobody go on with the documents: whoever does so finds the work taken from them."""
    values = {
        "workspace": workspace_id,
        "documents": list(documents),
        "problem": Json(asdict(PUT_AWAY)),
    }
    run_sql(sql.STOP_STAGES, values)
    run_sql(sql.STOP_JOBS, values)


def _go_on(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    values = {"workspace": workspace_id, "documents": list(documents), "code": PUT_AWAY.code}
    stopped = [job_id for (job_id,) in run_sql(sql.STOPPED_JOBS, values)]
    jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk(stopped)
    for job_id in stopped:
        record.reopen(jobs[job_id])
    groups.call_for(workspace_id, stopped, *pipeline.LANES)


def _embed_again(workspace_id: uuid.UUID, values: dict[str, object]) -> None:
    """Have vectors made where another model is searched by than when the document went."""
    wanting = [job_id for (job_id,) in run_sql(sql.WITHOUT_VECTORS, values)]
    for job in IngestionJob.objects.in_workspace(workspace_id).filter(pk__in=wanting):
        record.repeat(job, ["embed"])
        pipeline.wake(workspace_id, job.pk, pipeline.EMBEDDING)
