"""Do a workspace's pending work in this process, for commands that wait for the result.

Workers may help at the same time: leases decide who does what.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection

from ingestion.models import IngestionJob, JobKind
from ingestion.models.jobs import UNFINISHED
from ingestion.pipeline import batching, leases, runner, sql, turns
from kb_project.database.outages import through_outages
from kb_project.errors import PauseError
from kb_project.jobs import claims
from kb_project.jobs.gc import seldom_collected
from kb_project.sql import run_sql
from workspaces import access

# Seconds to wait before checking again on work that another process holds …
PATIENCE = 0.5
# … and before looking for work that another process has added: looking takes longer the more waits.
LOOK = 2.0
EMBEDDING_THREAD = "embedding lane"
BESIDE_THREAD = "main lane, beside"

OnProgress = Callable[[int, int], None]
Work = Callable[..., None]


def drain(workspace_id: uuid.UUID, on_progress: OnProgress | None = None) -> None:
    """Work until every job has ended or is paused; the embedding lane runs in a second thread.

    With a chat model a third thread takes the main lane's next group while the first waits for the
    model or the database. Without one it would only compete for the processor.
    """
    main_is_idle, is_given_up = threading.Event(), threading.Event()
    has_moved = threading.Event()
    signals = (main_is_idle, is_given_up)
    has_chat = through_outages(partial(_has_chat, workspace_id))
    embedding = _thread(EMBEDDING_THREAD, _embed_until_idle, workspace_id, *signals)
    threads = [embedding]
    if has_chat:
        threads.append(_thread(BESIDE_THREAD, _work_beside, workspace_id, has_moved, *signals))
    work_on_main = partial(_drain_main, workspace_id, on_progress, has_moved)
    try:
        with seldom_collected():
            through_outages(work_on_main)
            main_is_idle.set()
            turns.rouse(runner.EMBEDDING)
            while embedding.is_alive():
                embedding.join(PATIENCE)
                _tell(workspace_id, on_progress)
            through_outages(work_on_main)
    finally:
        # After Ctrl-C the threads stop after their current document; their leases are freed later.
        is_given_up.set()
        main_is_idle.set()
        turns.rouse(runner.EMBEDDING)
        for thread in threads:
            thread.join(PATIENCE)


def _drain_main(
    workspace_id: uuid.UUID, on_progress: OnProgress | None, has_moved: threading.Event
) -> None:
    lanes = (runner.MAIN, runner.REFRESHING)
    stages = tuple(stage for lane in lanes for stage in runner.LANES[lane])
    while True:
        has_moved.clear()
        # In this order: a refresh waits until no document does.
        if not any(_work_on_a_group(workspace_id, lane) for lane in lanes):
            if not _has_open_stages(workspace_id, stages):
                return
            leases.STAGES.free(workspace_id)
            has_moved.wait(PATIENCE)
        _tell(workspace_id, on_progress)


def _thread(name: str, work: Work, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(
        name=name, target=_with_connection, args=(work, *arguments), daemon=True
    )
    thread.start()
    return thread


def _with_connection(work: Work, *arguments: Any) -> None:
    try:
        through_outages(partial(work, *arguments))
    finally:
        connection.close()


def _work_beside(
    workspace_id: uuid.UUID,
    has_moved: threading.Event,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    with claims.seated("beside"):
        while not (main_is_idle.is_set() or is_given_up.is_set()):
            if _work_on_a_group(workspace_id):
                has_moved.set()
            else:
                main_is_idle.wait(LOOK)


def _has_chat(workspace_id: uuid.UUID) -> bool:
    try:
        return runner.ports_for(workspace_id).chat is not None
    except PauseError:
        return False


def _work_on_a_group(workspace_id: uuid.UUID, lane: str = runner.MAIN) -> bool:
    """Run the next group of the lane; false if nothing could be done here and now."""
    jobs = batching.next_group(workspace_id, lane)
    return bool(jobs) and bool(runner.run_group(jobs, lane).begun)


def _embed_until_idle(
    workspace_id: uuid.UUID,
    main_is_idle: threading.Event,
    is_given_up: threading.Event,
) -> None:
    # The main lane calls for each group that it has situated; without a call, there may be more.
    is_called = turns.await_call(runner.EMBEDDING, LOOK)
    while not is_given_up.is_set():
        last_round = main_is_idle.is_set()
        jobs = batching.next_group(workspace_id, runner.EMBEDDING)
        has_begun = bool(jobs) and bool(runner.run_group(jobs, runner.EMBEDDING).begun)
        if has_begun and (last_round or not is_called):
            continue
        if not last_round:
            is_called = turns.await_call(runner.EMBEDDING, LOOK)
        elif not _has_open_stages(workspace_id, runner.LANES[runner.EMBEDDING]):
            return
        else:  # another process holds them, or died holding them
            leases.STAGES.free(workspace_id)
            time.sleep(PATIENCE)


def _has_open_stages(workspace_id: uuid.UUID, stages: tuple[str, ...]) -> bool:
    values = {"workspace": workspace_id, "stages": list(stages), "kind": None}
    with access.in_workspace(workspace_id):
        [(are_open,)] = run_sql(sql.LANE_IS_BUSY, values)
    return bool(are_open)


def _tell(workspace_id: uuid.UUID, on_progress: OnProgress | None) -> None:
    if on_progress is None:
        return
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(kind=JobKind.DOCUMENT)
        total = jobs.count()
        waiting = jobs.filter(state__in=UNFINISHED).count()
    on_progress(total - waiting, total)
