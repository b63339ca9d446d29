"""Checks that run in the main lane, nightly or on request, and their results.

The row is the record, as with documents; a queue entry only wakes a worker. The sweep, once a
minute, requeues checks whose worker died or that no worker was woken for.
"""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.utils import timezone
from django_q.tasks import async_task

from ingestion.health.checking import check, repair
from ingestion.health.report import Drift, Found, Report
from ingestion.models import CheckState, ConsistencyCheck
from ingestion.pipeline import recovery, runner
from kb_project.database.outages import through_outages
from kb_project.jobs import workers
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

RUN_CHECK: Final = "ingestion.tasks.check_graph"
KEPT: Final = 30
"""Checks kept for each workspace: a month of nights."""
PATIENCE: Final = timedelta(hours=2)
"""A worker on another host that has not finished a check by then is presumed dead."""
FORGOTTEN: Final = timedelta(minutes=2)
LOOK, MEND = 1, 3
"""Steps of a check: one look, or a look, the repair and another look."""

BROKEN: Final = Drift(
    "check",
    "The check could not be completed.",
    Found(1),
    "Look at the worker's log, or run 'checkgraph' on the server.",
)


def check_request(
    *,
    workspace: Workspace,
    user: User | None = None,
    repairs: bool = False,
    is_deep: bool = False,
) -> ConsistencyCheck:
    """Request a check of the workspace; while one is waiting or running, return that one.

    A waiting check takes on what the request adds: repairs, a deep check.
    """
    with access.in_workspace(workspace.pk):
        # Locking the workspace's row serialises two simultaneous requests.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        rows = ConsistencyCheck.objects.in_workspace(workspace)
        found = rows.exclude(state=CheckState.DONE).first()
        if found is None:
            found = ConsistencyCheck.objects.create(
                workspace=workspace,
                requested_by=user,
                repairs=repairs,
                is_deep=is_deep,
                total=MEND if repairs else LOOK,
            )
            wake(found)
        elif found.state == CheckState.WAITING:
            found.is_deep |= is_deep
            found.repairs |= repairs
            found.total = MEND if found.repairs else LOOK
            found.save(update_fields=["is_deep", "repairs", "total"])
    return found


def wake(row: ConsistencyCheck) -> None:
    async_task(RUN_CHECK, str(row.workspace_id), str(row.pk), cluster=runner.MAIN)


def request_all() -> int:
    """Request a deep check without repairs of every workspace; the schedule calls it each night."""
    workspaces = list(Workspace.objects.order_by("pk"))
    for workspace in workspaces:
        check_request(workspace=workspace, is_deep=True)
    return len(workspaces)


def run(workspace_id: uuid.UUID, check_id: uuid.UUID) -> None:
    """Run a waiting check and record its findings; do nothing if another worker has it."""
    row = _begin(workspace_id, check_id)
    if row is None:
        return
    is_through = False
    try:
        through_outages(partial(_run, row))
        is_through = True
    finally:
        if not is_through:
            # A check that fails must not look sound, nor run forever.
            _note(row, drifts=[BROKEN.as_json()], state=CheckState.DONE, finished_at=timezone.now())


def _begin(workspace_id: uuid.UUID, check_id: uuid.UUID) -> ConsistencyCheck | None:
    with access.in_workspace(workspace_id):
        rows = ConsistencyCheck.objects.in_workspace(workspace_id).filter(pk=check_id)
        began = rows.filter(state=CheckState.WAITING).update(
            state=CheckState.RUNNING,
            worker=workers.worker_name(),
            started_at=timezone.now(),
            done=0,
        )
        return rows.get() if began else None


def _run(row: ConsistencyCheck) -> None:
    report = check(row.workspace_id, is_deep=row.is_deep)
    repaired: list[str] = []
    if row.repairs and not report.is_sound:
        _note(row, **_columns(report), done=1)
        repaired = repair(report)
        _note(row, repaired=repaired, done=2)
        report = check(row.workspace_id, is_deep=row.is_deep)
    _note(
        row,
        **_columns(report),
        repaired=repaired,
        done=row.total,
        state=CheckState.DONE,
        seconds=report.seconds,
        finished_at=timezone.now(),
    )
    _forget_old(row.workspace_id)
    logger.info(
        "check ended workspace=%s drifts=%s seconds=%.2f",
        *(row.workspace_id, len(report.drifts), report.seconds),
    )


def _columns(report: Report) -> dict[str, Any]:
    return {
        "drifts": [one.as_json() for one in report.drifts],
        "waiting": [one.as_json() for one in report.waiting],
    }


def _note(row: ConsistencyCheck, **values: Any) -> None:
    with access.in_workspace(row.workspace_id):
        ConsistencyCheck.objects.in_workspace(row.workspace_id).filter(pk=row.pk).update(**values)


def _forget_old(workspace_id: uuid.UUID) -> None:
    with access.in_workspace(workspace_id):
        rows = ConsistencyCheck.objects.in_workspace(workspace_id)
        kept = list(rows.order_by("-created_at").values_list("pk", flat=True)[:KEPT])
        rows.filter(state=CheckState.DONE).exclude(pk__in=kept).delete()


def take_up() -> int:
    """Wake waiting checks that no worker took up, or whose worker died; returns how many."""
    ids = Workspace.objects.order_by("pk").values_list("pk", flat=True)
    return sum(_take_up(workspace_id) for workspace_id in list(ids))


def _take_up(workspace_id: uuid.UUID) -> int:
    now = timezone.now()
    with access.in_workspace(workspace_id):
        rows = ConsistencyCheck.objects.in_workspace(workspace_id)
        for row in rows.filter(state=CheckState.RUNNING).select_for_update(no_key=True):
            if workers.is_dead(row.worker) or (row.started_at and row.started_at < now - PATIENCE):
                rows.filter(pk=row.pk).update(state=CheckState.WAITING, worker="")
        due = list(rows.filter(state=CheckState.WAITING, created_at__lt=now - FORGOTTEN))
        if not due or not recovery.is_idle(runner.MAIN):
            return 0
        for row in due:
            wake(row)
    return len(due)
