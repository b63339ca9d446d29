"""Job states: every transition from one state to another, in one module."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence
from typing import Any, cast

from django.db.models import QuerySet
from django.utils import timezone
from psycopg.types.json import Json

from ingestion.models import (
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.pipeline import sql
from kb_project.errors import KBError, Problem
from kb_project.jobs import claims
from kb_project.sql import run_sql
from workspaces import access, ports
from workspaces.models import Workspace

logger = logging.getLogger(__name__)


CANCELLED = Problem(
    code="cancelled",
    happened="The work on this document was stopped.",
    kept="Everything finished before is kept.",
    next_step="Retry to continue where it stopped.",
)
UNEXPECTED = Problem(
    code="unexpected",
    happened="An unexpected error occurred.",
    kept="The file is stored, and what was finished before is kept.",
    next_step="Retry. If it happens again, give the document's id to your administrator.",
)


def problem_of(error: BaseException) -> Problem:
    """The problem to show for an error; one that is not a KBError is logged with its traceback."""
    if isinstance(error, KBError):
        return error.problem()
    logger.error("stage failed unexpectedly", exc_info=error)
    return UNEXPECTED


def worn_out(run: StageRun) -> Problem:
    return Problem(
        code="stage_crashed",
        happened=f"The worker crashed {run.attempts - 1} times in the step '{run.stage}'.",
        kept="The file is stored, and every step before this one is kept.",
        next_step="Retry. If it happens again, the file may be too large for this machine.",
    )


def begin(jobs: Sequence[IngestionJob]) -> list[IngestionJob]:
    """Mark jobs of one workspace as running; return those that may proceed.

    A finished job may not, nor may a refresh while another one is running.
    """
    if not jobs:
        return []
    with access.in_workspace(jobs[0].workspace_id):
        wanted = [
            job for job in jobs if job.kind != JobKind.WORKSPACE or not _other_refresh_runs(job)
        ]
        began = {job_id for (job_id,) in run_sql(sql.BEGIN_JOBS, _values(jobs[0], wanted))}
    return [job for job in wanted if job.pk in began]


def _other_refresh_runs(job: IngestionJob) -> bool:
    # The workspace's row serialises concurrent workers.
    Workspace.objects.select_for_update(no_key=True).get(pk=job.workspace_id)
    return (
        IngestionJob.objects.in_workspace(job.workspace_id)
        .filter(kind=JobKind.WORKSPACE, state=RunState.RUNNING)
        .exclude(pk=job.pk)
        .exists()
    )


def end(
    runs: Sequence[StageRun], state: RunState, *, seconds: float, problem: Problem | None = None
) -> set[uuid.UUID]:
    """Record the end of stages; return the ids of those that were still ours to end.

    ``seconds`` is the time for all of them together.
    """
    if not runs:
        return set()
    values = {**_end_values(runs, seconds, problem), "state": state.value}
    ended = {run_id for (run_id,) in run_sql(sql.FINISH_STAGES, values)}
    if len(ended) < len(runs):
        logger.warning("stage runs lost to another worker runs=%s", len(runs) - len(ended))
    return ended


def _end_values(
    runs: Sequence[StageRun], seconds: float, problem: Problem | None
) -> dict[str, object]:
    return {
        "workspace": runs[0].workspace_id,
        "runs": [run.pk for run in runs],
        "worker": claims.worker_name(),
        "seconds": seconds / len(runs),
        "problem": Json(problem) if problem else None,
    }


def fail(run: StageRun, job: IngestionJob, problem: Problem, *, seconds: float) -> None:
    with access.in_workspace(job.workspace_id):
        if end([run], RunState.FAILED, seconds=seconds, problem=problem):
            stop(job, RunState.FAILED, problem)
    logger.warning("job failed stage=%s code=%s", run.stage, problem["code"])


def cancel(run: StageRun, job: IngestionJob, *, seconds: float) -> None:
    with access.in_workspace(job.workspace_id):
        if end([run], RunState.CANCELLED, seconds=seconds, problem=CANCELLED):
            stop(job, RunState.CANCELLED, CANCELLED)
    logger.info("job cancelled stage=%s", run.stage)


def pause(runs: Sequence[StageRun], problem: Problem, *, seconds: float) -> None:
    """Pause the stages and their jobs, with everything kept, until they are resumed."""
    values = _end_values(runs, seconds, problem)
    with access.in_workspace(runs[0].workspace_id):
        run_sql(sql.PAUSE_STAGES, values)
    logger.warning(
        "jobs paused stage=%s code=%s jobs=%s", runs[0].stage, problem["code"], len(runs)
    )


def put_back(runs: Sequence[StageRun], *, seconds: float) -> None:
    """Have begun stages wait for their workspace's next turn."""
    with access.in_workspace(runs[0].workspace_id):
        run_sql(sql.PUT_BACK_STAGES, _end_values(runs, seconds, None))


def pause_at(workspace_id: uuid.UUID, stage: str) -> Problem | None:
    """Why work at this stage is already paused, if any is."""
    with access.in_workspace(workspace_id):
        deleted = Json(ports.workspace_deleted().problem())
        values = {"workspace": workspace_id, "stage": stage, "deleted": deleted}
        rows = run_sql(sql.PAUSE_AT_STAGE, values)
    # Django decodes jsonb itself, and has the driver leave it as text.
    return cast(Problem, json.loads(rows[0][0])) if rows else None


def close(jobs: Sequence[IngestionJob]) -> None:
    """End those jobs of one workspace whose stages are all done."""
    if jobs:
        with access.in_workspace(jobs[0].workspace_id):
            run_sql(sql.LOCK_JOBS, _values(jobs[0], jobs))
            run_sql(sql.CLOSE_JOBS, _values(jobs[0], jobs))


def _values(first: IngestionJob, jobs: Sequence[IngestionJob]) -> dict[str, Any]:
    return {"workspace": first.workspace_id, "jobs": [job.pk for job in jobs]}


def last_job(workspace_id: uuid.UUID, document: Document) -> IngestionJob | None:
    """The document's last job that was not set aside, locked until the transaction ends."""
    jobs = IngestionJob.objects.in_workspace(workspace_id).select_for_update()
    jobs = jobs.filter(document=document, kind=JobKind.DOCUMENT).exclude(IngestionJob.SET_ASIDE)
    return jobs.order_by("-created_at").first()


def reopen(job: IngestionJob) -> None:
    """Make what failed or was cancelled pending again; finished stages stay done."""
    runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
    _make_pending(job, runs.exclude(state=RunState.DONE))


def repeat(job: IngestionJob, stages: Sequence[str]) -> None:
    """Have some stages of a job run again. The others are left alone, even while they run."""
    runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job, stage__in=stages)
    _make_pending(job, runs, units_done=0)


def _make_pending(job: IngestionJob, runs: QuerySet[StageRun], **values: int) -> None:
    runs.update(
        state=RunState.PENDING,
        attempts=0,
        problem=None,
        leased_until=None,
        leased_by="",
        **values,
    )
    IngestionJob.objects.in_workspace(job.workspace_id).filter(pk=job.pk).update(
        state=RunState.PENDING, problem=None, cancel_requested=False, finished_at=None
    )
    set_document(job, DocumentState.QUEUED)


def set_document(job: IngestionJob, state: DocumentState) -> None:
    if job.document_id is None:
        return
    documents = Document.objects.in_workspace(job.workspace_id).filter(pk=job.document_id)
    documents.update(state=state, updated_at=timezone.now())


def add_warnings(job: IngestionJob, warnings: Sequence[str]) -> None:
    """Add sentences to the version's warnings, without duplicates."""
    if not warnings or not job.version_id:
        return
    versions = DocumentVersion.objects.in_workspace(job.workspace_id).filter(pk=job.version_id)
    # Read the row, not the job's copy: the other lane may have added a warning meanwhile. None if
    # the document was deleted meanwhile.
    said = versions.select_for_update(no_key=True).values_list("warnings", flat=True).first()
    if said is not None:
        versions.update(warnings=list(dict.fromkeys([*said, *warnings])))


def stop(job: IngestionJob, state: RunState, problem: Problem) -> None:
    IngestionJob.objects.in_workspace(job.workspace_id).filter(pk=job.pk).update(
        state=state, problem=problem, finished_at=timezone.now()
    )
    set_document(job, DocumentState.ATTENTION)
