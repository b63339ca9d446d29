"""Doing a workspace's pending work in this process, for commands that wait for the result.

Any worker may help at the same time: leases decide who does what.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from functools import partial

from django.db import connection

from ingestion import groups, leases, pipeline
from ingestion.models import IngestionJob, JobKind, RunState, StageRun
from kb_project.database.outages import through_outages
from workspaces import access

# How long to wait before looking again at work that somebody else holds.
PATIENCE = 0.5
EMBEDDING_THREAD = "embedding lane"

OnProgress = Callable[[int, int], None]


def drain(workspace_id: uuid.UUID, on_progress: OnProgress | None = None) -> None:
    """Work until every job has ended or is paused; the embedding lane runs in a second thread."""
    main_is_idle, is_given_up = threading.Event(), threading.Event()
    embedding = threading.Thread(
        name=EMBEDDING_THREAD,
        target=_drain_embedding,
        args=(workspace_id, main_is_idle, is_given_up),
        daemon=True,
    )
    embedding.start()
    work_on_main = partial(_drain_main, workspace_id, on_progress)
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


def _drain_main(workspace_id: uuid.UUID, on_progress: OnProgress | None) -> None:
    while _has_open_stages(workspace_id, pipeline.LANES[pipeline.MAIN]):
        if not _work_through(workspace_id, pipeline.MAIN, on_progress):
            leases.free_leases(workspace_id)
            time.sleep(PATIENCE)


def _work_through(workspace_id: uuid.UUID, lane: str, on_progress: OnProgress | None) -> bool:
    """Run groups while there are any; false when nothing could be done here and now."""
    has_worked = False
    while jobs := groups.next_group(workspace_id, lane):
        if not pipeline.run_group(jobs, lane).begun:
            break
        has_worked = True
        _tell(workspace_id, on_progress)
    return has_worked


def _drain_embedding(
    workspace_id: uuid.UUID,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    try:
        through_outages(partial(_embed_until_idle, workspace_id, main_is_idle, is_given_up))
    finally:
        connection.close()


def _embed_until_idle(
    workspace_id: uuid.UUID,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    while not is_given_up.is_set():
        last_round = main_is_idle.is_set()
        jobs = groups.next_group(workspace_id, pipeline.EMBEDDING)
        if jobs and pipeline.run_group(jobs, pipeline.EMBEDDING).begun:
            continue
        if not last_round:
            time.sleep(PATIENCE / 2)
        elif not _has_open_stages(workspace_id, pipeline.LANES[pipeline.EMBEDDING]):
            return
        else:  # somebody else holds them, or died holding them
            leases.free_leases(workspace_id)
            time.sleep(PATIENCE)


def _has_open_stages(workspace_id: uuid.UUID, stages: tuple[str, ...]) -> bool:
    with access.in_workspace(workspace_id):
        open_runs = StageRun.objects.in_workspace(workspace_id).filter(
            stage__in=stages, state__in=[RunState.PENDING, RunState.RUNNING]
        )
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(
            state__in=[RunState.PENDING, RunState.RUNNING], pk__in=open_runs.values("job_id")
        )
        return jobs.exists()


def _tell(workspace_id: uuid.UUID, on_progress: OnProgress | None) -> None:
    if on_progress is None:
        return
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.DOCUMENT)
        total = jobs.count()
        waiting = jobs.filter(state__in=[RunState.PENDING, RunState.RUNNING]).count()
    on_progress(total - waiting, total)
