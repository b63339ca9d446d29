"""Tasks called by the queue: each takes ids, looks rows up, calls one function and ends."""

from __future__ import annotations

import uuid

from ingestion.documents import lifecycle
from ingestion.editions import services as editions
from ingestion.exchange import importing
from ingestion.health import services as health
from ingestion.pipeline import batching, needs, recovery, runner, turns, workspace_jobs
from ingestion.pipeline.needs import Need
from ingestion.topics import digests
from workspaces import idempotency, limits
from workspaces.administration import services
from workspaces.administration.services import workspaces_purge


def run_lane(workspace_id: str, job_id: str, lane: str) -> None:
    """Serve the workspace whose turn it is in the lane: usually, but not always, the calling one.

    The calling job comes first in its workspace. Nothing is done if other workers were faster.
    """
    caller = uuid.UUID(workspace_id)
    with turns.turn(lane, caller) as turn:
        first = uuid.UUID(job_id) if turn.workspace_id == caller else None
        jobs = batching.next_group(turn.workspace_id, lane, first)
        if jobs and runner.run_group(jobs, lane).begun:
            batching.call_for_the_rest(turn.workspace_id, lane)


def resume_workspace(workspace_id: str) -> None:
    recovery.work_resume(uuid.UUID(workspace_id))


def reembed(workspace_id: str) -> None:
    """Renew vectors after a workspace chose another embedding model, or abandoned a change."""
    workspace_jobs.vectors_renew(workspace_id=uuid.UUID(workspace_id))


def tune(workspace_id: str) -> None:
    """Start tuning after a person asked to learn from the workspace's documents."""
    workspace_jobs.tuning_begin(workspace_id=uuid.UUID(workspace_id))


def sync_editions(workspace_id: str) -> None:
    """Bring the editions of a workspace up to date after its documents or grants changed."""
    editions.sync(uuid.UUID(workspace_id))


def sweep() -> None:
    """Runs every minute, by the schedule that migration 0003 creates."""
    found = needs.find_needs()
    recovery.sweep(found)
    editions.sync_all()
    lifecycle.trash_purge(found.get(Need.TRASH, ()))
    health.take_up(found.get(Need.CHECK, ()))
    importing.take_up(found.get(Need.IMPORT, ()))
    workspaces_purge()
    services.forget_old_exports()


def export_workspace(workspace_id: str, export_id: str) -> None:
    """Write an export that an admin requested."""
    services.export_make(uuid.UUID(workspace_id), uuid.UUID(export_id))


def import_graph(workspace_id: str, import_id: str) -> None:
    """Carry out an import that a curator confirmed."""
    importing.run(uuid.UUID(workspace_id), uuid.UUID(import_id))


def check_graph(workspace_id: str, check_id: str) -> None:
    """Run the pending check of a whole workspace."""
    health.run(uuid.UUID(workspace_id), uuid.UUID(check_id))


def check_all() -> None:
    """Runs every night, by the schedule that migration 0015 creates."""
    idempotency.forget_old_answers()
    limits.forget_old()
    health.request_all()
    digests.send_all()
