"""Changes that concern many documents: those that wait for a worker, and a worker that fails."""

from __future__ import annotations

import pytest

from ingestion.models import IngestionJob, JobKind, RunState
from ingestion.pipeline import runner
from ingestion.stage import Progress
from ingestion.stages import reresolve
from kb_project.ports import build_ports
from workspaces import access
from workspaces.models import Workspace


class KilledError(Exception):
    pass


def waiting(workspace: Workspace) -> list[IngestionJob]:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.CHANGE)
        return list(jobs.filter(state=RunState.PENDING).order_by("created_at"))


def apply(workspace: Workspace) -> None:
    """Do what a worker does."""
    for job in waiting(workspace):
        runner.run_group([job], runner.MAIN, build_ports())


def kill_after(documents: int, job: IngestionJob) -> None:
    def die(done: int, _total: int) -> None:
        if done == documents:
            raise KilledError

    with pytest.raises(KilledError):
        reresolve.run(job, build_ports(), Progress(report=die))


def fail(workspace: Workspace) -> None:
    """Have the worker fail for good."""

    def broken(*_: object) -> None:
        raise RuntimeError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reresolve, "resolve_again", broken)
        apply(workspace)
