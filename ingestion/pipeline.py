"""The order of the stages, and the one place that runs them.

Two lanes work on a document: the main lane reads, cuts, situates, extracts and resolves; the
embedding lane makes the vectors, which is slow on a small machine and must hold nothing up.
Workspace stages run once per burst of changes.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Final

from django_q.exceptions import TimeoutException
from django_q.tasks import async_task

from ingestion import leases, record, sql
from ingestion.models import IngestionJob, JobKind, RunState, StageRun
from ingestion.outcome import Progress, StageOutcome
from ingestion.stages import (
    chunk,
    communities,
    describe,
    embed,
    extract,
    graph,
    parse,
    reports,
    resolve,
    situate,
    snapshot,
)
from kb_project.database.outages import DATABASE_AWAY, through_outages
from kb_project.logs import current_job
from kb_project.ports import Ports
from kb_project.sql import run_sql
from workspaces import access
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)

Stage = Callable[[IngestionJob, Ports, Progress], StageOutcome]

DOCUMENT_STAGES: Final[dict[str, Stage]] = {
    "parse": parse.run,
    "chunk": chunk.run,
    "situate": situate.run,
    "embed": embed.run,
    "extract": extract.run,
    "resolve": resolve.run,
}
WORKSPACE_STAGES: Final[dict[str, Stage]] = {
    "describe": describe.run,
    "graph": graph.run,
    "communities": communities.run,
    "reports": reports.run,
    "snapshot": snapshot.run,
}
STAGES: Final = DOCUMENT_STAGES | WORKSPACE_STAGES
MAIN: Final = "main"
EMBEDDING: Final = "embedding"
LANES: Final[dict[str, tuple[str, ...]]] = {
    MAIN: tuple(name for name in STAGES if name != "embed"),
    EMBEDDING: ("embed",),
}
# The stage that must be done before the embedding lane may begin.
EMBEDS_AFTER: Final = "situate"
RUN_LANE: Final = "ingestion.tasks.run_lane"
MAX_ATTEMPTS: Final = 4


def stages_of(kind: str) -> tuple[str, ...]:
    return tuple(DOCUMENT_STAGES if kind == JobKind.DOCUMENT else WORKSPACE_STAGES)


def plan_stages(job: IngestionJob) -> list[StageRun]:
    """Write down what the job has to do. Call inside the job's transaction."""
    runs = [
        StageRun(workspace_id=job.workspace_id, job=job, stage=stage, ordinal=ordinal)
        for ordinal, stage in enumerate(stages_of(job.kind))
    ]
    return StageRun.objects.bulk_create(runs)


def wake(workspace_id: uuid.UUID, job_id: uuid.UUID, lane: str) -> None:
    """Ask a worker of the lane to look at the job; the queue row commits with its reason."""
    async_task(RUN_LANE, str(workspace_id), str(job_id), lane, cluster=lane)


def run_lane(job: IngestionJob, lane: str, ports: Ports | None = None) -> bool:
    """Run the lane's unfinished stages of a job, in order, as far as they can go now.

    Where the database goes away on the way, wait for it and go on where the work stopped.
    Returns whether the lane's part of the job is done.
    """
    token = current_job.set(str(job.pk))
    try:
        with access.repeatable_work():
            return through_outages(
                partial(_run_lane, job, lane, ports or ports_for(job.workspace_id))
            )
    finally:
        current_job.reset(token)


def _run_lane(job: IngestionJob, lane: str, ports: Ports) -> bool:
    with access.in_workspace(job.workspace_id):
        runs = open_stages(job, lane) if record.begin(job) else []
        going = bool(runs) and leases.claim(runs[0])
    for run, following in zip_longest(runs, runs[1:]):
        going = going and run_stage(run, following, job, ports)
    if runs:
        after_lane(job, lane)
    return going


def open_stages(job: IngestionJob, lane: str) -> list[StageRun]:
    """The lane's unfinished stages; none for the embedding lane before its turn."""
    runs = leases.unfinished(job)
    if lane == EMBEDDING and any(run.stage == EMBEDS_AFTER for run in runs):
        return []
    return [run for run in runs if run.stage in LANES[lane]]


def run_stage(run: StageRun, following: StageRun | None, job: IngestionJob, ports: Ports) -> bool:
    """Run one claimed stage and claim the one after it; returns whether the lane goes on."""
    if run.attempts > MAX_ATTEMPTS:
        record.fail(run, job, record.worn_out(run), seconds=0)
        return False
    started = time.monotonic()
    try:
        outcome = STAGES[run.stage](job, ports, leases.progress_of(run))
    except leases.LeaseLostError:
        return False
    except leases.CancelledError:
        record.cancel(run, job, seconds=time.monotonic() - started)
        return False
    except DATABASE_AWAY:
        raise  # no database, nothing to record in: the lease is still ours when it comes back
    # The one broad except of the project: whatever a stage dies of is recorded on its document.
    # The queue's timeout is a SystemExit, not an Exception.
    except (Exception, TimeoutException) as error:  # noqa: BLE001 - see above
        record.fail(run, job, record.problem_of(error), seconds=time.monotonic() - started)
        return False
    with access.in_workspace(job.workspace_id):
        finish(run, job, outcome, seconds=time.monotonic() - started)
        if following is None:
            record.close(job)
            return True
        return leases.claim(following)


def finish(run: StageRun, job: IngestionJob, outcome: StageOutcome, *, seconds: float) -> None:
    """Write a stage's good end. Call inside the transaction that claims what follows."""
    record.end(run, RunState.DONE, seconds=seconds)
    record.add_warnings(job, outcome.warnings)
    if run.stage == EMBEDS_AFTER:
        wake(job.workspace_id, job.pk, EMBEDDING)


def after_lane(job: IngestionJob, lane: str) -> None:
    """The burst's last document asks for a refresh; before that, a snapshot now and then.

    However the document ended: the last one of a burst may be the one that cannot be read.
    """
    if job.kind == JobKind.WORKSPACE:
        wake_waiting_refresh(job.workspace_id)
    elif lane == MAIN:
        with access.in_workspace(job.workspace_id):
            is_busy = main_lane_is_busy(job.workspace_id)
            is_due = is_busy and snapshot.is_due(job.workspace_id)
        if not is_busy:
            request_refresh(job.workspace_id)
        elif is_due:
            snapshot.renew(job.workspace_id)


def main_lane_is_busy(workspace_id: uuid.UUID) -> bool:
    """Whether any document still has a stage of the main lane before it."""
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "stages": list(LANES[MAIN])}
        [(is_busy,)] = run_sql(sql.LANE_IS_BUSY, values)
    return bool(is_busy)


def request_refresh(workspace_id: uuid.UUID) -> None:
    """Have the workspace stages run once more; one waiting request serves all who ask."""
    with access.in_workspace(workspace_id):
        for (job_id,) in run_sql(sql.ADD_REFRESH, {"workspace": workspace_id}):
            job = IngestionJob.objects.in_workspace(workspace_id).get(pk=job_id)
            plan_stages(job)
            wake(workspace_id, job.pk, MAIN)


def wake_waiting_refresh(workspace_id: uuid.UUID) -> None:
    """A refresh that was asked for while another one ran begins now."""
    with access.in_workspace(workspace_id):
        waiting = IngestionJob.objects.in_workspace(workspace_id).filter(
            kind=JobKind.WORKSPACE, state=RunState.PENDING
        )
        for job in waiting:
            wake(workspace_id, job.pk, MAIN)
