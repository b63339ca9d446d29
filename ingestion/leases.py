"""Who works on a stage run, and how the work of a dead worker becomes free again.

A lease is renewed with every report of progress. A worker that is killed stops renewing; on its own
host the lease is freed as soon as somebody looks, elsewhere when it runs out.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings

from ingestion import sql
from ingestion.models import IngestionJob, StageRun
from ingestion.outcome import Progress
from kb_project.sql import run_sql, run_sql_count
from workspaces import access


class CancelledError(Exception):
    """Somebody asked for the job to stop."""


class LeaseLostError(Exception):
    """Another worker took the stage over; this one must not write its end."""


def worker_name() -> str:
    """``host:pid:start``: the start time tells a recycled pid from the worker it once named."""
    return _name_of(os.getpid())


@cache
def _name_of(pid: int) -> str:
    return f"{socket.gethostname()[:40]}:{pid}:{_started(pid)}"


def claim(run: StageRun) -> bool:
    """Take the stage and count the attempt; false when somebody else has it."""
    with access.in_workspace(run.workspace_id):
        rows = run_sql(sql.CLAIM_STAGE, _parameters(run))
    for (attempts,) in rows:
        run.attempts = attempts
    return bool(rows)


def progress_of(run: StageRun) -> Progress:
    return Progress(report=_reporter(run))


def free_leases(workspace_id: uuid.UUID) -> int:
    """Make the stages of dead workers pending again; returns how many."""
    with access.in_workspace(workspace_id):
        holders = run_sql(sql.LEASE_HOLDERS, {"workspace": workspace_id})
        dead = [name for (name,) in holders if is_dead(name)]
        return run_sql_count(sql.FREE_LEASES, {"workspace": workspace_id, "dead": dead})


def is_dead(name: str) -> bool:
    """Whether the named worker ran on this host and does not any more."""
    host, _, rest = name.rpartition(":")[0].partition(":")
    if host != socket.gethostname()[:40] or not rest.isdigit():
        return False
    return _started(int(rest)) != name.rpartition(":")[2]


def _started(pid: int) -> str:
    """The kernel's start time of a process, '' when there is none (or it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _reporter(run: StageRun) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        values = {**_parameters(run), "done": done, "total": total}
        with access.in_workspace(run.workspace_id):
            rows = run_sql(sql.REPORT_PROGRESS, values)
        if not rows:
            raise LeaseLostError(f"stage run {run.pk} belongs to another worker now")
        if rows[0][0]:
            raise CancelledError

    return report


def _parameters(run: StageRun) -> dict[str, object]:
    return {
        "workspace": run.workspace_id,
        "run": run.pk,
        "worker": worker_name(),
        "lease": settings.LEASE_SECONDS,
    }


def unfinished(job: IngestionJob) -> list[StageRun]:
    with access.in_workspace(job.workspace_id):
        return list(
            StageRun.objects.in_workspace(job.workspace_id)
            .filter(job=job)
            .exclude(state="done")
            .order_by("ordinal")
        )
