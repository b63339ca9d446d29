"""What the queue calls. A task takes ids, looks rows up, calls one function, ends."""

from __future__ import annotations

import uuid

from ingestion import pipeline
from ingestion.models import IngestionJob
from workspaces import access
from workspaces.models import Workspace


def run_lane(workspace_id: str, job_id: str, lane: str) -> None:
    workspace = uuid.UUID(workspace_id)
    with access.in_workspace(workspace):
        job = IngestionJob.objects.in_workspace(workspace).filter(pk=job_id).first()
    if job is not None:
        pipeline.run_lane(job, lane)


def sweep() -> None:
    """Every minute: free what dead workers held, wake what nobody works on."""
    for workspace_id in Workspace.objects.values_list("pk", flat=True):
        pipeline.recover(workspace_id)
