"""Read documents or passages again: after a change of settings, or where a model failed.

A change of settings alone reads nothing again and costs nothing: a user has to ask for it, here.
Earlier results stay until the new reading replaces them, document by document; cached model answers
are not paid for again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from django.db import transaction

from ingestion.documents import estimates, outcomes
from ingestion.documents.cost_model import Estimate
from ingestion.knowledge import topics
from ingestion.models import (
    ChunkExtraction,
    Community,
    Document,
    IngestionJob,
    JobKind,
    StageRun,
)
from ingestion.models.jobs import UNFINISHED
from ingestion.pipeline import batching, runner, sql as pipeline_sql, transitions
from ingestion.stages.extract import NO_NAMES, UNREAD, method_by
from ingestion.stages.resolve.judging import NO_ANSWER
from ingestion.stages.situate import UNSITUATED
from kb_project.errors import ConflictError
from kb_project.ports import Ports
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

# Documents that were read by another method than this one and are not being read now. ``situates``:
# their passages need new contexts, because a model wrote the old ones and none would now, or the
# other way round. That invalidates their vectors, so it waits until those exist. ``parses``: their
# files need parsing again, because no regions are recorded and no sentence has a vector, though
# there is more text than a label's. Null documents: all.
OUTDATED: Final[LiteralString] = """
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

# Like ``transitions.repeat``, for any number of jobs.
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

# The next reading writes these warnings again.
FORGET_WARNINGS: Final[LiteralString] = """
UPDATE ingestion_documentversion
   SET warnings = ARRAY(SELECT said FROM unnest(warnings) WITH ORDINALITY AS w (said, place)
                         WHERE NOT said LIKE ANY(%(patterns)s::text[]) ORDER BY place)
 WHERE workspace_id = %(workspace)s AND cardinality(warnings) > 0
   AND id = ANY (ARRAY(SELECT version_id FROM ingestion_ingestionjob
                        WHERE workspace_id = %(workspace)s AND id = ANY(%(jobs)s::uuid[])))
"""

logger = logging.getLogger(__name__)

AGAIN: Final = ("extract", "resolve")
# New contexts need new vectors.
SITUATED_AGAIN: Final = ("situate", "embed")
PARSED_AGAIN: Final = ("parse", "chunk", "situate", "embed")
LEAST_TEXT: Final = 200
"""Stored bytes of a text that certainly states something."""


@dataclass(frozen=True, slots=True)
class OutdatedDocument:
    """A document's job; ``situates``: its passages need new contexts too; ``parses``: its file
    needs parsing again, because it was read before prose regions were recorded.
    """

    job_id: uuid.UUID
    document_id: uuid.UUID
    situates: bool
    parses: bool


def outdated_ids(*, workspace: Workspace) -> list[uuid.UUID]:
    """Return the documents read by another method than the workspace's present one, oldest first.

    Documents being read and stopped ones are left out. Raises RefusedError if the model's stored
    key cannot be read.
    """
    return [each.document_id for each in _outdated(workspace, ports_for(workspace.pk))]


def reading_again_estimate(*, workspace: Workspace) -> Estimate:
    """Estimate the cost of reading them again."""
    ports = ports_for(workspace.pk)
    found = _outdated(workspace, ports)
    return estimates.estimate_for_reading_again(
        workspace=workspace,
        documents={each.document_id: each.situates for each in found},
        method=method_by(ports),
    )


def documents_read_again(
    *, workspace: Workspace, documents: Sequence[uuid.UUID] | None = None
) -> int:
    """Have all of them, or only ``documents``, read again; returns how many. None is no error.

    If a model now reads, it also rewrites the reports that no model wrote.
    """
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        # One request at a time, so that no document that finishes meanwhile is missed.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        found = _outdated(workspace, ports, documents)
        jobs = [each.job_id for each in found]
        run_sql(pipeline_sql.LOCK_JOBS, {"workspace": workspace.pk, "jobs": jobs})
        found = _outdated(workspace, ports, documents)
        if found:
            _reopen(workspace, found)
        if found and ports.chat is not None:
            # The refresh that the last document requests writes these reports.
            reports = topics.unwritten_reports(workspace=workspace)
            marked = Community.objects.in_workspace(workspace)
            marked.filter(pk__in=reports.values("community_id")).update(is_changed=True)
    logger.info("documents read again workspace=%s documents=%s", workspace.pk, len(found))
    return len(found)


def passages_retry(
    *, workspace: Workspace, document: Document, chunk_ids: Sequence[uuid.UUID] | None = None
) -> IngestionJob:
    """Have the model read unread passages again: all of them, or those given.

    Everything else stays as it is; the document's facts and the topics update automatically. Raises
    ConflictError if no such passage is unread, or while the document is being read.
    """
    with transaction.atomic():
        jobs = IngestionJob.objects.in_workspace(workspace).select_for_update()
        of_live = jobs.filter(
            document=document, kind=JobKind.DOCUMENT, version__number=document.live_number
        )
        job = of_live.order_by("-created_at").first()
        unread = outcomes.unread_extractions(workspace, document)
        if chunk_ids is not None:
            unread = unread.filter(chunk_id__in=chunk_ids)
        ids = list(unread.values_list("chunk_id", flat=True))
        if not ids or job is None:
            raise ConflictError(
                f"'{document.title}' has no unread passage to retry.",
                code="nothing_to_retry",
                kept="It is unchanged.",
            )
        _check_idle(document, job)
        # An empty method means not read yet. What was found before stays until then.
        rows = ChunkExtraction.objects.in_workspace(workspace).filter(chunk_id__in=ids)
        rows.update(method="", problem=None)
        _forget_warnings(workspace, [job.pk], [f"%{UNREAD}%"])
        transitions.repeat(job, AGAIN)
        runner.wake(workspace.pk, job.pk, runner.MAIN)
    logger.info("passages retried document=%s passages=%s", document.pk, len(ids))
    return job


def reread_sentence(number: int) -> str:
    """
    >>> reread_sentence(1), reread_sentence(0)
    ('1 document is being read again.', "Every document was read with this workspace's settings.")
    """
    if not number:
        return "Every document was read with this workspace's settings."
    return f"{number:,} document{' is' if number == 1 else 's are'} being read again."


def _outdated(
    workspace: Workspace, ports: Ports, documents: Sequence[uuid.UUID] | None = None
) -> list[OutdatedDocument]:
    values = {
        "workspace": workspace.pk,
        "method": method_by(ports),
        "uses_model": ports.reader is not None,
        "least_text": LEAST_TEXT,
        "documents": None if documents is None else list(documents),
    }
    with access.in_workspace(workspace.pk):
        return [OutdatedDocument(*row) for row in run_sql(OUTDATED, values)]


def _reopen(workspace: Workspace, found: Sequence[OutdatedDocument]) -> None:
    jobs = [each.job_id for each in found]
    situated = [each.job_id for each in found if each.situates]
    _forget_warnings(workspace, jobs, [f"%{UNREAD}%", f"{NO_ANSWER}%", f"{NO_NAMES}%"])
    _forget_warnings(workspace, situated, [f"%{UNSITUATED}%"])
    values = {
        "workspace": workspace.pk,
        "jobs": jobs,
        "stages": list(AGAIN),
        "situated": situated,
        "stages_of_situated": list(SITUATED_AGAIN),
        "parsed": [each.job_id for each in found if each.parses],
        "stages_of_parsed": list(PARSED_AGAIN),
    }
    run_sql(REPEAT_STAGES, values)
    batching.call_for(workspace.pk, jobs, runner.MAIN)


def _forget_warnings(
    workspace: Workspace, jobs: Sequence[uuid.UUID], patterns: Sequence[str]
) -> None:
    values = {"workspace": workspace.pk, "jobs": list(jobs), "patterns": list(patterns)}
    run_sql(FORGET_WARNINGS, values)


def _check_idle(document: Document, job: IngestionJob) -> None:
    runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job, stage__in=AGAIN)
    if runs.filter(state__in=UNFINISHED).exists():
        raise ConflictError(
            f"'{document.title}' is being read.",
            code="already_under_way",
            kept="It is unchanged.",
            next_step="Try again when the document is ready.",
        )
