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

from ingestion.models import IngestionJob, RunState, StageRun
from ingestion.pipeline import sql
from ingestion.pipeline.turns import TurnOverError, is_over
from ingestion.stage import REFRESH_STATISTICS, Progress
from kb_project.jobs.claims import LeasedRows, worker_name
from kb_project.sql import run_sql
from workspaces import access

# A worker that finds its own name on a lease was interrupted by the database, not by another
# worker: a process runs a stage of a lane once at a time.
STAGES: Final = LeasedRows(
    table="ingestion_stagerun",
    access=access,
    seconds=settings.LEASE_SECONDS,
    waiting=RunState.PENDING.value,
    retakes=True,
    worker="leased_by",
    lease="leased_until",
    wants_stop="(SELECT cancel_requested FROM ingestion_ingestionjob AS j"
    " WHERE j.workspace_id = r.workspace_id AND j.id = r.job_id)",
    also=", attempts = r.attempts + 1, problem = NULL, started_at = coalesce(r.started_at, now())",
    attempts="r.attempts",
)
# Minimum seconds between a stage's reports, since each costs statements: for a group, and for a
# single job, which shows its units.
SECONDS_BETWEEN_REPORTS: Final = (1.0, 0.25)
MOMENT: Final = 1.0
"""Seconds of preparations that a stage need not make up for before its turn ends."""


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
class ClaimedStages:
    """The stage runs claimed, and those among them whose jobs are to stop."""

    taken: tuple[StageRun, ...]
    unwanted: frozenset[uuid.UUID]


def claim(runs: Sequence[StageRun]) -> ClaimedStages:
    """Take the unclaimed stages of one workspace, and count the attempts."""
    rows = {row.id: row for row in STAGES.claim(*_named(runs))} if runs else {}
    taken = tuple(run for run in runs if run.pk in rows)
    for run in taken:
        run.attempts = rows[run.pk].attempts
    return ClaimedStages(taken, frozenset(row.id for row in rows.values() if row.wants_stop))


def progress_of(
    runs: Sequence[StageRun], *, beside: Sequence[StageRun] = (), turns: int = 0
) -> Progress:
    """Progress of a stage that works on these runs. A single one shows its units.

    Reporting renews their leases, and those of the runs waiting ``beside`` them. It raises
    ``TurnOverError`` once the work has lasted for so many ``turns`` and another workspace waits;
    never if that is 0. A stage that took more than a moment until its first report goes on for as
    long again: the next turn begins with the same preparations, and would end after them.
    """
    report = _reporter(runs, beside)
    return Progress(report=_giving_way(report, turns) if turns else report, holding=report)


def renew(runs: Sequence[StageRun]) -> None:
    """Renew the leases of runs whose turn has not come."""
    if runs:
        STAGES.renew(*_named(runs))


def _giving_way(report: Callable[[int, int], None], turns: int) -> Callable[[int, int], None]:
    began, prepared = time.monotonic(), 0.0

    def giving_way(done: int, total: int) -> None:
        nonlocal prepared
        report(done, total)
        now = time.monotonic()
        prepared = prepared or now
        has_worked = now - prepared >= prepared - began - MOMENT
        if done < total and has_worked and is_over(turns):
            raise TurnOverError

    return giving_way


def _reporter(runs: Sequence[StageRun], beside: Sequence[StageRun]) -> Callable[[int, int], None]:
    mine = {run.pk for run in runs}
    shown = runs[0] if len(runs) == 1 else None
    began, last = time.monotonic(), 0.0
    pause = SECONDS_BETWEEN_REPORTS[shown is not None]

    def report(done: int, total: int) -> None:
        nonlocal last
        # A stage's last report has no news soon after its claim: its end is recorded next.
        if time.monotonic() - (last or (began if done >= total else 0.0)) < pause:
            return
        with access.in_workspace(runs[0].workspace_id):
            held = STAGES.renew(*_named([*runs, *beside]))
            if shown is not None and shown.pk in held:
                _show(shown, done, total)
        # What a long stage writes grows under plans made for an empty table: even foreign keys are
        # then checked by reading all of it, for each row.
        run_sql(REFRESH_STATISTICS)
        last = time.monotonic()
        if lost := mine.difference(held):
            raise LeaseLostError(lost)
        if unwanted := {run_id for run_id in mine if held[run_id]}:
            raise CancelledError(unwanted)

    return report


def _show(run: StageRun, done: int, total: int) -> None:
    """Record the progress of a stage that is ours.

    Attempts count only without progress: a long document may outlive many restarts.
    """
    values = {"workspace": run.workspace_id, "run": run.pk, "done": done, "total": total}
    run_sql(sql.SHOW_UNITS, values)


def _named(runs: Sequence[StageRun]) -> tuple[uuid.UUID, list[uuid.UUID], str]:
    return runs[0].workspace_id, [run.pk for run in runs], worker_name()


def unfinished(jobs: Sequence[IngestionJob]) -> dict[uuid.UUID, list[StageRun]]:
    """The unfinished stage runs of each job of one workspace, in order."""
    found: dict[uuid.UUID, list[StageRun]] = {job.pk: [] for job in jobs}
    if jobs:
        with access.in_workspace(jobs[0].workspace_id):
            runs = StageRun.objects.in_workspace(jobs[0].workspace_id).filter(job_id__in=found)
            for run in runs.exclude(state="done").order_by("ordinal"):
                found[run.job_id].append(run)
    return found
