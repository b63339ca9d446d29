"""Leases on stage runs: who works on one, and how a dead worker's work becomes free again.

A lease is renewed with every progress report. A killed worker stops renewing: on the same host the
lease is freed at the next check, elsewhere when it expires.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from ingestion.models import IngestionJob, StageRun
from ingestion.pipeline import sql
from ingestion.stage import Progress
from kb_project.jobs.workers import is_dead, worker_name
from kb_project.sql import run_sql, run_sql_count
from workspaces import access

# Minimum seconds between a stage's reports, since each costs a statement: for a group, and for a
# single job, which shows its units.
SECONDS_BETWEEN_REPORTS: Final = (1.0, 0.25)


class CancelledError(Exception):
    """The jobs of these stage runs were asked to stop."""

    def __init__(self, runs: Collection[uuid.UUID]) -> None:
        super().__init__(f"{len(runs)} stage runs are to stop")
        self.runs = frozenset(runs)


class LeaseLostError(Exception):
    """Another worker took over these stage runs; this one must not record their end."""

    def __init__(self, runs: Collection[uuid.UUID]) -> None:
        super().__init__(f"{len(runs)} stage runs belong to another worker now")
        self.runs = frozenset(runs)


@dataclass(frozen=True, slots=True)
class Claim:
    """The stage runs claimed, and those among them whose jobs are to stop."""

    taken: tuple[StageRun, ...]
    unwanted: frozenset[uuid.UUID]


def claim(runs: Sequence[StageRun]) -> Claim:
    """Take the unclaimed stages of one workspace, and count the attempts."""
    if not runs:
        return Claim((), frozenset())
    with access.in_workspace(runs[0].workspace_id):
        rows = run_sql(sql.CLAIM_STAGES, _parameters(runs))
    attempts = {run_id: number for run_id, number, _ in rows}
    taken = tuple(run for run in runs if run.pk in attempts)
    for run in taken:
        run.attempts = attempts[run.pk]
    return Claim(taken, frozenset(run_id for run_id, _, is_unwanted in rows if is_unwanted))


def progress_of(runs: Sequence[StageRun], *, beside: Sequence[StageRun] = ()) -> Progress:
    """Progress of a stage that works on these runs. A single one shows its units.

    Reporting renews their leases, and those of the runs waiting ``beside`` them.
    """
    return Progress(report=_reporter(runs, beside))


def renew(runs: Sequence[StageRun]) -> None:
    """Renew the leases of runs whose turn has not come."""
    if runs:
        values = {"shown": None, "done": 0, "total": 0}
        with access.in_workspace(runs[0].workspace_id):
            run_sql(sql.REPORT_PROGRESS, {**_parameters(runs), **values})


def free_leases(workspace_id: uuid.UUID) -> int:
    """Make the stages of dead workers pending again; return how many."""
    with access.in_workspace(workspace_id):
        holders = run_sql(sql.LEASE_HOLDERS, {"workspace": workspace_id})
        dead = [name for (name,) in holders if is_dead(name)]
        return run_sql_count(sql.FREE_LEASES, {"workspace": workspace_id, "dead": dead})


def _reporter(runs: Sequence[StageRun], beside: Sequence[StageRun]) -> Callable[[int, int], None]:
    mine = {run.pk for run in runs}
    shown = runs[0].pk if len(runs) == 1 else None
    last, pause = 0.0, SECONDS_BETWEEN_REPORTS[shown is not None]

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last < pause and (shown is None or done < total):
            return
        values = {"shown": shown, "done": done, "total": total}
        with access.in_workspace(runs[0].workspace_id):
            rows = run_sql(sql.REPORT_PROGRESS, {**_parameters([*runs, *beside]), **values})
        last = time.monotonic()
        if lost := mine.difference(run_id for run_id, _ in rows):
            raise LeaseLostError(lost)
        if unwanted := mine.intersection(run_id for run_id, is_unwanted in rows if is_unwanted):
            raise CancelledError(unwanted)

    return report


def _parameters(runs: Sequence[StageRun]) -> dict[str, object]:
    return {
        "workspace": runs[0].workspace_id,
        "runs": [run.pk for run in runs],
        "worker": worker_name(),
        "lease": settings.LEASE_SECONDS,
    }


def unfinished(jobs: Sequence[IngestionJob]) -> dict[uuid.UUID, list[StageRun]]:
    """The unfinished stage runs of each job of one workspace, in order."""
    found: dict[uuid.UUID, list[StageRun]] = {job.pk: [] for job in jobs}
    if jobs:
        with access.in_workspace(jobs[0].workspace_id):
            runs = StageRun.objects.in_workspace(jobs[0].workspace_id).filter(job_id__in=found)
            for run in runs.exclude(state="done").order_by("ordinal"):
                found[run.job_id].append(run)
    return found
