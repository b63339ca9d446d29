"""Resume work that stopped: left behind by dead workers, or paused.

The tables say what is unfinished; a queue entry is only a wake-up. So whatever happens to the
queue, the tables are enough to resume.

A pause affects the whole workspace: the first group that meets the obstacle records why, and what
comes to the same stage later waits without trying (``runner.claim_next``). A pause for an
unavailable model is retried automatically until the model is back; every other one ends when a
person changes something or resumes the work.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar, cast

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django_q.models import OrmQ

from ingestion.models import (
    ConsistencyCheck,
    GraphImport,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.models.jobs import UNFINISHED
from ingestion.pipeline import batching, leases, needs, runner, sql, turns, workspace_jobs
from kb_project.jobs import claims, cluster
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

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
        resume_what_may_fare_better(workspace_id)
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


def take_up(
    model: type[Row],
    workspaces: Collection[uuid.UUID],
    patience: timedelta,
    wake: Callable[[Row], None],
) -> int:
    """Wake these workspaces' rows that wait for the refreshing lane without a queue entry; return
    how many.

    Rows that a dead worker held wait again. A worker on another host is presumed dead after
    ``patience``.
    """
    woken = 0
    for workspace_id in workspaces:
        with access.in_workspace(workspace_id):
            rows = model.objects.in_workspace(workspace_id)
            due = _left_waiting(rows.only("workspace", "worker", "started_at"), patience)
            for row in due:
                wake(row)
        woken += len(due)
    return woken


def _left_waiting(rows: QuerySet[Row], patience: timedelta) -> list[Row]:
    now = timezone.now()
    for row in rows.filter(state="running").select_for_update(no_key=True):
        if claims.is_dead(row.worker) or (row.started_at and row.started_at < now - patience):
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


# --- pauses ---------------------------------------------------------------------------------------
# ``EndpointError``'s codes for which waiting alone may help.
PASSING: Final = ("endpoint_down", "endpoint_timeout", "endpoint_busy")
SECONDS_OF_PAUSE: Final = 120.0
# The operator's limits begin again with each month, and the operator may raise them.
CAPPED: Final = ("cap_reached",)
SECONDS_UNDER_CAP: Final = 3600.0


def work_resume(workspace_id: uuid.UUID, codes: Sequence[str] = ()) -> int:
    """Resume paused jobs, all of them or those paused for these codes; return how many."""
    with access.in_workspace(workspace_id):
        scope = {"workspace": workspace_id, "codes": list(codes)}
        # The documents' end requests a refresh anyway, and only one may wait.
        run_sql(sql.FORGET_PAUSED_REFRESHES, scope)
        resumed = [job_id for (job_id,) in run_sql(sql.RESUME_JOBS, scope)]
        batching.call_for(workspace_id, resumed, *runner.LANES)
    if resumed:
        logger.info("paused work resumed workspace=%s jobs=%s", workspace_id, len(resumed))
    return len(resumed)


def resume_what_may_fare_better(workspace_id: uuid.UUID) -> int:
    """Retry what an unavailable model has held up for two minutes, and what a limit of the operator
    has held up for an hour; return how many jobs.
    """
    return sum(
        _resume_after(workspace_id, codes, seconds)
        for codes, seconds in ((PASSING, SECONDS_OF_PAUSE), (CAPPED, SECONDS_UNDER_CAP))
    )


def _resume_after(workspace_id: uuid.UUID, codes: Sequence[str], seconds: float) -> int:
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "codes": list(codes), "seconds": seconds}
        [(is_time,)] = run_sql(sql.PAUSES_TO_END, values)
    return work_resume(workspace_id, codes) if is_time else 0


# Problems that an admin fixes on the models page, and on the usage page.
OF_BUDGET: Final = "budget_spent"


@dataclass(frozen=True, slots=True)
class Pause:
    """``problem`` is ``{"code", "happened", "kept", "next_step"}`` of the latest paused job."""

    problem: dict[str, str]
    documents: int
    others: int

    @property
    def is_of_budget(self) -> bool:
        return self.problem.get("code") == OF_BUDGET


def work_pause(*, workspace: Workspace) -> Pause | None:
    paused = IngestionJob.objects.in_workspace(workspace).filter(state=RunState.PAUSED)
    kinds = list(paused.values_list("kind", flat=True))
    if not kinds:
        return None
    problems = paused.filter(problem__isnull=False).order_by("-created_at")
    documents = kinds.count(JobKind.DOCUMENT)
    latest = problems.values_list("problem", flat=True).first()
    return Pause(latest or {}, documents, len(kinds) - documents)
