"""Resume work left behind by dead workers.

The tables say what is unfinished; a queue entry is only a wake-up. So whatever happens to the
queue, the tables are enough to resume.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar, cast

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django_q.models import OrmQ

from ingestion.models import ConsistencyCheck, GraphImport, IngestionJob, RunState, StageRun
from ingestion.pipeline import (
    batching,
    leases,
    needs,
    pausing,
    runner,
    sql,
    turns,
    workspace_jobs,
)
from kb_project.jobs import cluster, workers
from kb_project.sql import run_sql
from workspaces import access

logger = logging.getLogger(__name__)

UNFINISHED = (RunState.PENDING, RunState.RUNNING)
FORGOTTEN: Final = timedelta(minutes=2)
"""A row that has waited longer without a queue entry is called for again."""
Row = TypeVar("Row", ConsistencyCheck, GraphImport)


def work(lane: str, *, say: Callable[[str], None]) -> None:
    """Serve a lane until SIGTERM or SIGINT."""
    processes = cast(int, settings.Q_CLUSTER["workers"]) if lane == runner.MAIN else 1
    cluster.work(lane, processes=processes, recover=partial(start_lane, lane), say=say)


def start_lane(lane: str) -> int:
    """Wake every job that has work in the lane of a starting worker; return how many.

    The lane's queue entries are deleted first: some may be locked, for hours, by a dead worker.
    They are only wake-ups.
    """
    needing = needs.of_work(needs.find_needs())
    with transaction.atomic():
        OrmQ.objects.filter(key=lane).delete()
        turns.forget(lane)
        woken = sum(recover(workspace_id, lanes=(lane,)) for workspace_id in needing)
    if lane == runner.EMBEDDING:
        woken += workspace_jobs.renew_foreign_vectors()
    logger.info("lane started lane=%s jobs_woken=%s", lane, woken)
    return woken


def sweep(found: needs.Needs) -> int:
    """Free what dead workers held, wake jobs that no queue entry calls for, and retry those that
    only wait for an unavailable model; return how many jobs.
    """
    idle = [lane for lane in runner.LANES if is_idle(lane)]
    woken = sum(recover(workspace_id, lanes=idle) for workspace_id in needs.of_work(found))
    return woken + sum(
        pausing.resume_what_may_fare_better(workspace_id)
        for workspace_id in found.get(needs.Need.PAUSED, ())
    )


def recover(workspace_id: uuid.UUID, *, lanes: Collection[str] = ()) -> int:
    """Free the leases of dead workers and wake the jobs they held; return how many jobs.

    In ``lanes``, wake every job that has work.
    """
    freed = leases.STAGES.free(workspace_id)
    woken = _wake_unfinished(workspace_id, runner.LANES if freed else lanes)
    if runner.MAIN in lanes and not runner.main_lane_is_busy(workspace_id):
        _request_missed_refresh(workspace_id)
        runner.request_missed_tree(workspace_id)
    return woken


def is_idle(lane: str) -> bool:
    """Whether the lane's workers have taken every entry of their queue."""
    return not OrmQ.objects.filter(key=lane, lock__lte=timezone.now()).exists()


def left_waiting(rows: QuerySet[Row], patience: timedelta) -> list[Row]:
    """Return the rows that wait for a worker of the refreshing lane without a queue entry.

    Rows that a dead worker held wait again. A worker on another host is presumed dead after
    ``patience``.
    """
    now = timezone.now()
    for row in rows.filter(state="running").select_for_update(no_key=True):
        if workers.is_dead(row.worker) or (row.started_at and row.started_at < now - patience):
            rows.filter(pk=row.pk).update(state="waiting", worker="")
    waiting = list(rows.filter(state="waiting", created_at__lt=now - FORGOTTEN))
    return waiting if waiting and is_idle(runner.REFRESHING) else []


def _wake_unfinished(workspace_id: uuid.UUID, lanes: Collection[str]) -> int:
    if not lanes:
        return 0
    woken = set[uuid.UUID]()
    with access.in_workspace(workspace_id):
        jobs = IngestionJob.objects.in_workspace(workspace_id).filter(state__in=UNFINISHED)
        ids = list(jobs.order_by("created_at").values_list("pk", flat=True))
        open_stages = _open_stages(workspace_id, ids)
        for lane in lanes:
            waiting = [job_id for job_id in ids if has_work(lane, open_stages[job_id])]
            batching.call_for(workspace_id, waiting, lane)
            woken.update(waiting)
    return len(woken)


def _open_stages(
    workspace_id: uuid.UUID, job_ids: list[uuid.UUID]
) -> defaultdict[uuid.UUID, set[str]]:
    found: defaultdict[uuid.UUID, set[str]] = defaultdict(set)
    runs = StageRun.objects.in_workspace(workspace_id).filter(
        job_id__in=job_ids, state__in=UNFINISHED
    )
    for job_id, stage in runs.values_list("job_id", "stage"):
        found[job_id].add(stage)
    return found


def has_work(lane: str, open_stages: Collection[str]) -> bool:
    """Whether a job with these open stages has work in the lane now.

    A job that only needs closing belongs to the main lane.

    >>> has_work("embedding", {"embed", "extract"}), has_work("embedding", {"embed", "situate"})
    (True, False)
    >>> has_work("main", {"embed"}), has_work("main", set())
    (False, True)
    """
    if lane == runner.EMBEDDING and runner.EMBEDS_AFTER in open_stages:
        return False
    is_open = any(stage in runner.LANES[lane] for stage in open_stages)
    return is_open or (lane == runner.MAIN and not open_stages)


def _request_missed_refresh(workspace_id: uuid.UUID) -> None:
    """Request the refresh that a worker could not, having died after a burst's last document."""
    with access.in_workspace(workspace_id):
        [(is_missed,)] = run_sql(sql.REFRESH_IS_MISSED, {"workspace": workspace_id})
    if is_missed:
        runner.request_refresh(workspace_id)
