"""Starting the work that learns from a workspace's documents how to read them."""

from __future__ import annotations

import uuid

from ingestion import pipeline, record
from ingestion.models import IngestionJob, JobKind, RunState
from workspaces import access
from workspaces.models import Workspace

UNFINISHED = (RunState.PENDING, RunState.RUNNING)


def tuning_begin(*, workspace_id: uuid.UUID) -> IngestionJob:
    """Have a sample of the documents looked at; one job does it at a time.

    A job that is under way goes on, one that is paused is taken up again, else a new one begins.
    """
    with access.in_workspace(workspace_id):
        # The workspace's row serialises two people who both ask.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.TUNE)
        job = jobs.filter(state__in=[*UNFINISHED, RunState.PAUSED]).first()
        if job is None:
            job = IngestionJob.objects.create(workspace_id=workspace_id, kind=JobKind.TUNE)
            pipeline.plan_stages(job)
        elif job.state == RunState.PAUSED:
            record.reopen(job)
        pipeline.wake(workspace_id, job.pk, pipeline.MAIN)
    return job
