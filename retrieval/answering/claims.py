"""Job ownership: a compare-and-set claim with a lease, renewed while the worker lives."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from kb_project.errors import Problem
from kb_project.jobs import workers
from kb_project.sql import run_sql, run_sql_count
from retrieval.answering import notify, persistence, sql
from retrieval.answering.events import TakenOverError
from retrieval.answering.notify import Call
from retrieval.models import Answer
from workspaces import access

MOST: Final = 3
"""A run interrupted this often may be what crashes its workers: it is not queued again."""

REQUEUE: Final[LiteralString] = """
UPDATE retrieval_evaluationrun
   SET state = CASE WHEN wants_stop THEN 'stopped' ELSE 'queued' END,
       conditions = conditions || jsonb_build_object(
           'interruptions', coalesce((conditions ->> 'interruptions')::int, 0) + 1),
       worker = '', lease_until = NULL,
       finished_at = CASE WHEN wants_stop THEN now() END
 WHERE workspace_id = %(workspace)s AND id = %(run)s AND state = 'running' AND worker = %(worker)s
   AND coalesce((conditions ->> 'interruptions')::int, 0) < %(most)s
"""


def requeue(workspace_id: UUID, run_id: UUID, worker: str) -> bool:
    """Queue an interrupted run again; False if it has ended or was interrupted too often."""
    values = {"workspace": workspace_id, "run": run_id, "worker": worker, "most": MOST}
    with access.in_workspace(workspace_id):
        is_waiting = bool(run_sql_count(REQUEUE, values))
    if is_waiting:
        logger.warning("evaluation interrupted, waits for another worker run=%s", run_id)
    return is_waiting


logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 20.0
"""A worker silent for this long is considered dead. It sends a sign of life every second."""


@dataclass(frozen=True, slots=True)
class Table:
    claim: LiteralString
    renew: LiteralString


TABLES: Final = {
    notify.ANSWER: Table(sql.CLAIM_ANSWER, sql.RENEW_ANSWERS),
    notify.EVALUATION: Table(sql.CLAIM_RUN, sql.RENEW_RUNS),
}


def claim(call: Call, worker: str) -> bool:
    """Claim a job; return whether it is now ours."""
    values = {
        "workspace": call.workspace_id,
        "id": call.id,
        "worker": worker,
        "lease": LEASE_SECONDS,
    }
    with access.in_workspace(call.workspace_id):
        return bool(run_sql(TABLES[call.kind].claim, values))


def renew(calls: Sequence[Call], worker: str) -> list[Call]:
    """Renew this worker's leases; return the jobs that must end.

    Those are the jobs that someone stopped, and those that are no longer ours.
    """
    groups: dict[tuple[str, UUID], list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.kind, call.workspace_id].append(call)
    return [call for group in groups.values() for call in _renewed(group, worker)]


def _renewed(group: Sequence[Call], worker: str) -> Iterator[Call]:
    first = group[0]
    values = {
        "workspace": first.workspace_id,
        "ids": [call.id for call in group],
        "worker": worker,
        "lease": LEASE_SECONDS,
    }
    with access.repeatable_work(), access.in_workspace(first.workspace_id):
        rows = run_sql(TABLES[first.kind].renew, values)
    going_on = {id_ for id_, wants_stop in rows if not wants_stop}
    yield from (call for call in group if call.id not in going_on)


def take_stock() -> list[Call]:
    """Return the queued jobs of every workspace, after ending those of dead workers."""
    queued = []
    for kind, workspace_id, id_, state, worker, is_overdue in run_sql(sql.UNFINISHED):
        call = Call(kind, workspace_id, id_)
        if state == "queued":
            queued.append(call)
        elif is_overdue or workers.is_dead(worker):
            interrupt(call, worker)
    return queued


def interrupt(call: Call, worker: str) -> None:
    """Record that the worker stopped midway; do nothing if the job has ended meanwhile."""
    is_answer = call.kind == notify.ANSWER
    if not is_answer and requeue(call.workspace_id, call.id, worker):
        return
    fail(call, worker, persistence.INTERRUPTED if is_answer else persistence.INTERRUPTED_RUN)


def fail(call: Call, worker: str, problem: Problem) -> None:
    """End a job that the worker held; do nothing if it has ended meanwhile."""
    end = _fail_answer if call.kind == notify.ANSWER else _fail_run
    if end(call, worker, problem):
        code = problem["code"]
        logger.warning("job failed kind=%s id=%s code=%s", call.kind, call.id, code)


def _fail_answer(call: Call, worker: str, problem: Problem) -> bool:
    answer = Answer(workspace_id=call.workspace_id, pk=call.id, worker=worker)
    try:
        persistence.fail(answer, problem)
    except TakenOverError:
        return False
    return True


def _fail_run(call: Call, worker: str, problem: Problem) -> bool:
    values = {
        "workspace": call.workspace_id,
        "id": call.id,
        "worker": worker,
        "problem": json.dumps(problem),
    }
    with access.in_workspace(call.workspace_id):
        return bool(run_sql(sql.FAIL_RUN, values))
