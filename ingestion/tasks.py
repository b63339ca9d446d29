"""What the queue calls. A task takes ids, looks rows up, calls one function, ends."""

from __future__ import annotations

import uuid

from ingestion import pipeline, recovery
from ingestion.models import IngestionJob
from workspaces import access


def run_lane(workspace_id: str, job_id: str, lane: str) -> None:
    workspace = uuid.UUID(workspace_id)
    with access.in_workspace(workspace):
        job = IngestionJob.objects.in_workspace(workspace).filter(pk=job_id).first()
    if job is not None:
        pipeline.run_lane(job, lane)


def sweep() -> None:
    """Every minute, by the schedule that migration 0003 makes."""
    recovery.sweep()
