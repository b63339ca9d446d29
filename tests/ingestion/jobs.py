"""Jobs for tests of the pipeline: documents that were added, and stages that only pretend."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from ingestion.documents import services
from ingestion.models import Document, IngestionJob, JobKind, StageRun
from ingestion.pipeline import runner
from ingestion.stage import StageOutcome
from workspaces import access
from workspaces.models import Workspace

TEXT = "Ada Lind keeps the light of Skarrow.\n\nBo Strand sells oil to Ada Lind."

Pretended = Callable[..., StageOutcome]


def add(workspace: Workspace, name: str = "log.txt", text: str = TEXT) -> IngestionJob:
    """A document added as a person would add it; returns the job that waits."""
    with access.in_workspace(workspace.pk):
        upload = services.document_upload(
            workspace=workspace, file=io.BytesIO(text.encode()), name=name
        )
        return IngestionJob.objects.in_workspace(workspace).get(document=upload.document)


def fresh(job: IngestionJob) -> IngestionJob:
    with access.in_workspace(job.workspace_id):
        return IngestionJob.objects.in_workspace(job.workspace_id).get(pk=job.pk)


def document_of(job: IngestionJob) -> Document:
    with access.in_workspace(job.workspace_id):
        return Document.objects.in_workspace(job.workspace_id).get(pk=job.document_id)


def run_of(job: IngestionJob, stage: str) -> StageRun:
    with access.in_workspace(job.workspace_id):
        return StageRun.objects.in_workspace(job.workspace_id).get(job=job, stage=stage)


def states(job: IngestionJob) -> dict[str, str]:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        return dict(runs.order_by("ordinal").values_list("stage", "state"))


def refreshes(workspace: Workspace) -> list[IngestionJob]:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.WORKSPACE)
        return list(jobs.order_by("created_at"))


@contextmanager
def pretended(
    monkeypatch: pytest.MonkeyPatch,
    *,
    renew: Callable[[object], None] | None = None,
    together: Mapping[str, runner.Stage] | None = None,
    **stages: Pretended,
) -> Iterator[list[str]]:
    """Stages that do nothing but note that they ran, except those given.

    Those in ``together`` take whole groups.

    A snapshot is due at any time when ``renew`` is given, which is called in its place.
    """
    ran: list[str] = []

    def noting(name: str) -> runner.Stage:
        def run(*arguments: object) -> StageOutcome:
            ran.append(name)
            return stages[name](*arguments) if name in stages else StageOutcome()

        return runner.alone(run)

    with monkeypatch.context() as patch:
        for name in runner.STAGES:
            patch.setitem(runner.STAGES, name, (together or {}).get(name) or noting(name))
        patch.setattr(runner.snapshot, "is_due", lambda _workspace: renew is not None)
        patch.setattr(runner.snapshot, "renew", renew)
        yield ran
