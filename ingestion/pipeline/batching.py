"""Choose the jobs that go through a lane together.

A group costs as many statements and as many round trips to a model as one document. It is bounded
in number and in bytes, so that progress is shown regularly, a stop takes effect soon, and another
workspace's turn comes within seconds (``turns``).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from ingestion.models import IngestionJob, JobKind
from ingestion.pipeline import runner, sql
from kb_project.jobs import claims
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

MOST_JOBS: Final = 100
# Bytes of the files as uploaded, mostly text: some seconds of work in the slowest stage. A larger
# file goes alone.
MOST_BYTES: Final = 128 * 1024
# A stage that was begun this often without ending may be what kills the worker: its document then
# goes alone.
MOST_ATTEMPTS_TOGETHER: Final = 2

# Jobs considered for a group: more of them if none of these can run, and at last all.
WINDOWS: Final = (250, 2_500, None)

Waiting = tuple[uuid.UUID, int, int]


def next_group(
    workspace_id: uuid.UUID, lane: str, first: uuid.UUID | None = None
) -> list[IngestionJob]:
    """Jobs with unclaimed work in the lane, documents first.

    ``first`` comes before all others if it is among them.
    """
    values = {
        "workspace": workspace_id,
        "worker": claims.worker_name(),
        "stages": list(runner.LANES[lane]),
        "after": runner.EMBEDS_AFTER if lane == runner.EMBEDDING else "",
        "most": MOST_JOBS,
    }
    with access.in_workspace(workspace_id), bulk_plans():
        looks = (run_sql(sql.WAITING_JOBS, {**values, "window": window}) for window in WINDOWS)
        waiting = next(rows for rows in looks if not rows or rows[0][0] is not None)
        if not waiting:
            return []
        jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk([row[0] for row in waiting])
    known = [row for row in waiting if row[0] in jobs]
    documents = {pk for pk, job in jobs.items() if job.kind == JobKind.DOCUMENT}
    known.sort(key=lambda row: row[0] != first)
    return [jobs[pk] for pk in together(known, documents)]


def call_for(workspace_id: uuid.UUID, jobs: Sequence[uuid.UUID], *lanes: str) -> None:
    """Wake the lanes for some jobs: a worker takes a group, and calls for the rest."""
    for job_id in jobs[::MOST_JOBS]:
        for lane in lanes:
            runner.wake(workspace_id, job_id, lane)


def call_for_the_rest(workspace_id: uuid.UUID, lane: str) -> None:
    """Wake the lane again if jobs still wait: one call serves a burst of any length."""
    if jobs := next_group(workspace_id, lane):
        runner.wake(workspace_id, jobs[0].pk, lane)


def together(waiting: Iterable[Waiting], documents: set[uuid.UUID]) -> list[uuid.UUID]:
    """The first jobs of ``(id, bytes, attempts)`` that make up one group.

    >>> a, b, c = uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)
    >>> together([(a, 10, 0), (b, 10, 3), (c, 10, 0)], {a, b, c}) == [a, c]
    True
    >>> together([(b, 10, 3), (a, 10, 0)], {a, b}) == [b]
    True
    """
    group: list[uuid.UUID] = []
    room = MOST_BYTES
    for job_id, size, attempts in waiting:
        is_alone = job_id not in documents or attempts >= MOST_ATTEMPTS_TOGETHER or size > room
        if is_alone and not group:
            return [job_id]
        if not is_alone and len(group) < MOST_JOBS:
            group.append(job_id)
            room -= size
    return group
