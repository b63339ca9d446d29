"""Start workspace jobs: new vectors, tuning, and changes that concern many documents."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ingestion.models import IngestionJob, JobKind, NameChange, RunState, StageRun
from ingestion.models.jobs import UNDER_WAY, UNFINISHED
from ingestion.pipeline import needs, runner, transitions
from ingestion.vectors import chunks
from kb_project.errors import ConflictError
from kb_project.ports import build_ports
from workspaces import access
from workspaces.models import EmbeddingIndex, IndexState, Workspace
from workspaces.ports import LOCAL


def vectors_renew(*, workspace_id: uuid.UUID) -> IngestionJob:
    """Make the vectors that the workspace's indexes need, and delete the others.

    Call it after a change was requested or abandoned, or after the job was stopped or failed: the
    work resumes where it was. Only one job does it at a time.
    """
    with access.in_workspace(workspace_id):
        # The workspace's row serialises concurrent requests.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.REEMBED)
        job = jobs.order_by("-created_at").first()
        if job is None or job.state == RunState.DONE:
            job = IngestionJob.objects.create(workspace_id=workspace_id, kind=JobKind.REEMBED)
            runner.plan_stages(job)
        elif job.state not in UNFINISHED:
            transitions.reopen(job)
        runner.wake(workspace_id, job.pk, runner.EMBEDDING)
    return job


def vectors_are_foreign(*, workspace_id: uuid.UUID) -> bool:
    """Whether there are vectors of another embedder than the one that settings name.

    A workspace that chose its own model requests its changes itself.
    """
    with access.in_workspace(workspace_id):
        indexes = EmbeddingIndex.objects.in_workspace(workspace_id)
        if indexes.filter(state=IndexState.ACTIVE).exclude(provider=LOCAL).exists():
            return False
    return chunks.has_others(workspace_id, chunks.kept(workspace_id, build_ports().embedder))


def renew_foreign_vectors() -> int:
    """Renew vectors when a worker of the embedding lane starts; return in how many workspaces."""
    ids = needs.with_other_vectors(build_ports().embedder.fingerprint)
    due = [pk for pk in ids if vectors_are_foreign(workspace_id=pk)]
    for workspace_id in due:
        vectors_renew(workspace_id=workspace_id)
    return len(due)


def tuning_begin(*, workspace_id: uuid.UUID) -> IngestionJob:
    """Learn from a sample of the documents; only one job does it at a time.

    A running job continues, a paused one is resumed, otherwise a new one begins.
    """
    with access.in_workspace(workspace_id):
        # The workspace's row serialises concurrent requests.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.TUNE)
        job = jobs.filter(state__in=UNDER_WAY).first()
        if job is None:
            job = IngestionJob.objects.create(workspace_id=workspace_id, kind=JobKind.TUNE)
            runner.plan_stages(job)
        elif job.state == RunState.PAUSED:
            transitions.reopen(job)
        runner.wake(workspace_id, job.pk, runner.MAIN)
    return job


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job of one stage is; ``done`` of ``total`` units, 0 of 0 before the first."""

    state: RunState
    done: int = 0
    total: int = 0

    @property
    def is_unfinished(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def has_stopped(self) -> bool:
        return self.state in (RunState.FAILED, RunState.CANCELLED)


def tuning_work(workspace_id: uuid.UUID) -> JobProgress | None:
    """Return how far tuning is, None if it was never asked for. Call in the workspace's scope."""
    jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.TUNE)
    job = jobs.order_by("-created_at").first()
    if job is None:
        return None
    run = StageRun.objects.in_workspace(workspace_id).filter(job=job).first()
    return JobProgress(RunState(job.state), *((run.units_done, run.units_total) if run else ()))


def tuning_cancel(*, workspace_id: uuid.UUID) -> None:
    """Stop tuning: at once if it waits, else after its next answer. What was learned before stays.

    Raises ConflictError if nothing is being learned.
    """
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.TUNE)
        unfinished = jobs.filter(state__in=UNDER_WAY)
        if not unfinished.update(cancel_requested=True):
            raise ConflictError(
                "Nothing is being learned from the documents.",
                code="nothing_to_cancel",
                kept="What was learned before is unchanged.",
            )
        for job in unfinished.filter(state__in=[RunState.PENDING, RunState.PAUSED]):
            transitions.stop(job, RunState.CANCELLED, transitions.CANCELLED)


def change_begin(
    *, workspace_id: uuid.UUID, keys: Collection[str], documents: Sequence[uuid.UUID] = ()
) -> None:
    """Have a worker resolve these documents again, or else all that use one of the names.

    Call in the transaction of the change. Earlier changes that a failure stopped are resumed.
    """
    changes_resume(workspace_id=workspace_id)
    job = IngestionJob.objects.create(workspace_id=workspace_id, kind=JobKind.CHANGE)
    NameChange.objects.create(
        workspace_id=workspace_id, job=job, keys=sorted(keys), documents=list(documents)
    )
    runner.plan_stages(job)
    runner.wake(workspace_id, job.pk, runner.MAIN)


def change_work(workspace_id: uuid.UUID, keys: Collection[str] | None = None) -> JobProgress | None:
    """Return how far a worker is with the latest change, of these names if they are given.

    None if all are applied. Call in the workspace's scope.
    """
    changes = NameChange.objects.in_workspace(workspace_id)
    if keys is not None:
        changes = changes.filter(keys__overlap=list(keys))
    runs = StageRun.objects.in_workspace(workspace_id).filter(job__in=changes.values("job"))
    run = runs.order_by("-job__created_at").first()
    return JobProgress(RunState(run.state), run.units_done, run.units_total) if run else None


def changes_resume(*, workspace_id: uuid.UUID) -> int:
    """Have a worker continue the changes that a failure stopped; return how many.

    Call in the workspace's scope.
    """
    stopped = NameChange.objects.in_workspace(workspace_id).filter(
        job__workspace=workspace_id, job__state__in=[RunState.FAILED, RunState.CANCELLED]
    )
    jobs = [change.job for change in stopped.select_related("job")]
    for job in jobs:
        transitions.reopen(job)
        runner.wake(workspace_id, job.pk, runner.MAIN)
    return len(jobs)
