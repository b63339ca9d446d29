"""What the queue calls. A task takes ids, looks rows up, calls one function, ends."""

from __future__ import annotations

import uuid

from ingestion.documents import lifecycle
from ingestion.health import runs
from ingestion.pipeline import batching, pausing, recovery, runner, workspace_jobs
from workspaces import idempotency


def run_lane(workspace_id: str, job_id: str, lane: str) -> None:
    """The job that called, with others that wait beside it; none where others were faster."""
    workspace = uuid.UUID(workspace_id)
    jobs = batching.next_group(workspace, lane, uuid.UUID(job_id))
    if jobs and runner.run_group(jobs, lane).begun:
        batching.call_for_the_rest(workspace, lane)


def resume_workspace(workspace_id: str) -> None:
    pausing.work_resume(uuid.UUID(workspace_id))


def reembed(workspace_id: str) -> None:
    """After a workspace chose another embedding model, or gave a change up."""
    workspace_jobs.vectors_renew(workspace_id=uuid.UUID(workspace_id))


def tune(workspace_id: str) -> None:
    """After somebody asked to learn from the workspace's documents."""
    workspace_jobs.tuning_begin(workspace_id=uuid.UUID(workspace_id))


def sweep() -> None:
    """Every minute, by the schedule that migration 0003 makes."""
    recovery.sweep()
    lifecycle.trash_purge()
    runs.take_up()


def check_graph(workspace_id: str, check_id: str) -> None:
    """A check of a whole workspace that waits."""
    runs.run(uuid.UUID(workspace_id), uuid.UUID(check_id))


def check_all() -> None:
    """Every night, by the schedule that migration 0015 makes."""
    idempotency.forget_old_answers()
    runs.request_all()
