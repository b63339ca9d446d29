"""Doing a workspace's pending work in this process, for commands that wait for the result.

Any worker may help at the same time: leases decide who does what.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from itertools import takewhile

from django.db import connection

from ingestion import leases, pipeline
from ingestion.models import IngestionJob, JobKind, RunState, StageRun
from kb_project.database.outages import through_outages
from kb_project.ports import Ports, build_ports
from workspaces import access

# How long to wait before looking again at work that somebody else holds.
PATIENCE = 0.5
EMBEDDING_THREAD = "embedding lane"

OnProgress = Callable[[int, int], None]


def drain(workspace_id: uuid.UUID, on_progress: OnProgress | None = None) -> None:
    """Work until no job is unfinished; the embedding lane runs in a second thread."""
    ports = build_ports()
    main_is_idle, is_given_up = threading.Event(), threading.Event()
    embedding = threading.Thread(
        name=EMBEDDING_THREAD,
        target=_drain_embedding,
        args=(workspace_id, ports, main_is_idle, is_given_up),
        daemon=True,
    )
    embedding.start()
    work_on_main = partial(_drain_main, workspace_id, ports, on_progress)
    try:
        through_outages(work_on_main)
        main_is_idle.set()
        while embedding.is_alive():
            embedding.join(PATIENCE)
            _tell(workspace_id, on_progress)
        through_outages(work_on_main)
    finally:
        # After Ctrl-C the thread stops behind the document it is at; its lease frees itself.
        is_given_up.set()
        embedding.join(PATIENCE)


def _drain_main(workspace_id: uuid.UUID, ports: Ports, on_progress: OnProgress | None) -> None:
    while jobs := _jobs_with_open_stages(workspace_id, pipeline.LANES[pipeline.MAIN]):
        took = [_advance(job, ports, on_progress) for job in jobs]
        if not any(took):
            leases.free_leases(workspace_id)
            time.sleep(PATIENCE)


def _advance(job: IngestionJob, ports: Ports, on_progress: OnProgress | None) -> bool:
    """Run a job's main lane; false when nothing of it could be done here and now."""
    is_done = pipeline.run_lane(job, pipeline.MAIN, ports)
    _tell(job.workspace_id, on_progress)
    return is_done


def _drain_embedding(
    workspace_id: uuid.UUID,
    ports: Ports,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    try:
        through_outages(partial(_embed_until_idle, workspace_id, ports, main_is_idle, is_given_up))
    finally:
        connection.close()


def _embed_until_idle(
    workspace_id: uuid.UUID,
    ports: Ports,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    before: list[IngestionJob] = []
    while not is_given_up.is_set():
        last_round = main_is_idle.is_set()
        jobs = _jobs_to_embed(workspace_id)
        for job in takewhile(lambda _: not is_given_up.is_set(), jobs):
            pipeline.run_lane(job, pipeline.EMBEDDING, ports)
        if last_round and not _jobs_to_embed(workspace_id):
            return
        if not jobs:
            time.sleep(PATIENCE / 10)
        elif jobs == before:  # somebody else holds them, or died holding them
            leases.free_leases(workspace_id)
            time.sleep(PATIENCE)
        before = jobs


def _jobs_with_open_stages(workspace_id: uuid.UUID, stages: tuple[str, ...]) -> list[IngestionJob]:
    """Unfinished jobs with one of these stages open, documents before the refresh."""
    with access.in_workspace(workspace_id):
        open_runs = StageRun.objects.in_workspace(workspace_id).filter(
            stage__in=stages, state__in=[RunState.PENDING, RunState.RUNNING]
        )
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(
            state__in=[RunState.PENDING, RunState.RUNNING], pk__in=open_runs.values("job_id")
        )
        return list(jobs.order_by("kind", "created_at"))


def _jobs_to_embed(workspace_id: uuid.UUID) -> list[IngestionJob]:
    situated = pipeline.EMBEDS_AFTER
    with access.in_workspace(workspace_id):
        runs = StageRun.objects.in_workspace(workspace_id)
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(
            kind=JobKind.DOCUMENT,
            state__in=[RunState.PENDING, RunState.RUNNING],
            pk__in=runs.filter(stage=situated, state=RunState.DONE).values("job_id"),
        )
        waiting = runs.filter(stage="embed", state__in=[RunState.PENDING, RunState.RUNNING])
        return list(jobs.filter(pk__in=waiting.values("job_id")).order_by("created_at"))


def _tell(workspace_id: uuid.UUID, on_progress: OnProgress | None) -> None:
    if on_progress is None:
        return
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.DOCUMENT)
        total = jobs.count()
        waiting = jobs.filter(state__in=[RunState.PENDING, RunState.RUNNING]).count()
    on_progress(total - waiting, total)
