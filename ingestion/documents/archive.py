"""Archive what was read of documents, restore it, and say what is lost when documents go.

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
from dataclasses import dataclass
from typing import Final, LiteralString

from django.db.models import Model
from psycopg import sql
from psycopg.types.json import Json

from ingestion.changes import version_changes
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
    HistoryEvent,
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
from kb_project.text.words import counted
from workspaces import access
from workspaces.models import Workspace

# --- what is lost ---------------------------------------------------------------------------------
# A fact made by a person needs no document. OFFSET 0: asked about each, until one source is found,
# instead of reading all that is known of what thousands of documents name.
LOSSES: Final[LiteralString] = """
WITH passages AS (
    SELECT count(*) AS number FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), archived AS (
    SELECT count(*) AS number FROM ingestion_shelvedchunk
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), stated AS MATERIALIZED (
    SELECT DISTINCT relationship_id AS id FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), named AS MATERIALIZED (
    SELECT DISTINCT entity_id AS id FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), elsewhere AS (
    SELECT r.id FROM ingestion_relationship AS r
     WHERE r.workspace_id = %(workspace)s AND r.id = ANY (ARRAY(SELECT id FROM stated))
       AND (r.is_made OR EXISTS (
           SELECT FROM ingestion_evidence AS v
            WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id
              AND v.document_id <> ALL(%(documents)s::uuid[]) OFFSET 0))
), known AS (
    SELECT e.id FROM ingestion_entity AS e
     WHERE e.workspace_id = %(workspace)s AND e.id = ANY (ARRAY(SELECT id FROM named))
       AND (e.is_made OR EXISTS (
           SELECT FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id
              AND m.document_id <> ALL(%(documents)s::uuid[]) OFFSET 0))
)
SELECT passages.number + archived.number, (SELECT count(*) FROM stated),
       (SELECT count(*) FROM elsewhere), (SELECT count(*) FROM named), (SELECT count(*) FROM known)
  FROM passages, archived
"""


@dataclass(frozen=True, slots=True)
class Losses:
    """Counts of passages, facts and entities lost, and of facts and entities that keep a source."""

    documents: int
    passages: int
    facts: int
    facts_kept: int
    entities: int
    entities_kept: int

    @property
    def sentence(self) -> str:
        """Describe the losses, without the documents' names.

        >>> Losses(1, 2, 31, 0, 4, 20).sentence
        '2 passages will no longer be searched; 31 facts lose their only source.'
        >>> Losses(1, 1, 1, 0, 1, 0).sentence
        '1 passage will no longer be searched; 1 fact loses its only source.'
        >>> Losses(1, 0, 0, 0, 0, 0).sentence
        'Nothing has been read in it.'
        """
        parts = []
        if self.passages:
            parts.append(f"{counted(self.passages, 'passage')} will no longer be searched")
        parts += self.facts_in_words()
        nothing = f"Nothing has been read in {'it' if self.documents == 1 else 'them'}."
        return f"{'; '.join(parts)}." if parts else nothing

    def facts_in_words(self) -> list[str]:
        parts = []
        if self.facts:
            verb = "loses its" if self.facts == 1 else "lose their"
            parts.append(f"{counted(self.facts, 'fact')} {verb} only source")
        if self.facts_kept:
            parts.append(f"{self.facts_kept:,} keep{'s' * (self.facts_kept == 1)} other sources")
        return parts


def losses_of(*, workspace: Workspace, documents: Sequence[uuid.UUID]) -> Losses:
    """Count what would go with the documents, live or archived."""
    values = {"workspace": workspace.pk, "documents": list(documents)}
    with access.in_workspace(workspace.pk), bulk_plans():
        [(passages, facts, facts_kept, entities, known)] = run_sql(LOSSES, values)
    return Losses(
        documents=len(documents),
        passages=passages,
        facts=facts - facts_kept,
        facts_kept=facts_kept,
        entities=entities - known,
        entities_kept=known,
    )


def into_trash(document: Document, losses: Losses, days: int) -> str:
    """Describe the consequences of moving the document to the trash."""
    follows = losses.sentence if document.is_live else "It is not searched now."
    return f"{follows} It can be restored for {counted(days, 'day')}."


def for_good(documents: Sequence[Document], losses: Losses) -> str:
    """Describe the consequences of deleting the documents for good."""
    is_one = len(documents) == 1
    named = f"“{documents[0].title}”" if is_one else counted(len(documents), "document")
    parts = [f"Deleting {named} removes {counted(losses.passages, 'passage')}"]
    parts += losses.facts_in_words()
    cited = ("it", "its number") if is_one else ("them", "their numbers")
    kept = f"Answers that cite {cited[0]} keep {cited[1]}, but lose the quotes."
    return f"{'; '.join(parts)}. {kept}"


def notes_on_return(event: HistoryEvent) -> list[str]:
    """Say what to know of restored documents: others like them, and what is still to come."""
    notes = []
    if event.details.get("names_follow"):
        notes.append(
            "They can be searched. Their names and facts follow: Documents shows how far this is."
        )
    if titles := event.details.get("twins"):
        others = f", and {len(titles) - 1} more" if len(titles) > 1 else ""
        both = "All" if len(titles) > 1 else "Both"
        notes.append(f"There is also a document called “{titles[0]}”{others}. {both} are searched.")
    return notes


# --- the archive ----------------------------------------------------------------------------------
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
        version_changes.invalidate(
            workspace_id, list(passages.values_list("pk", flat=True)), documents
        )
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
