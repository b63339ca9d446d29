"""Whose a job is: taken by a compare-and-set with a lease, renewed while its worker lives."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from ingestion import leases
from kb_project.sql import run_sql
from retrieval import answering_sql as sql
from retrieval.answering import keeping, wake
from retrieval.answering.events import TakenOverError
from retrieval.answering.wake import Call
from retrieval.evaluation import requeueing
from retrieval.models import Answer
from workspaces import access

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 20.0
"""Without a sign of life for so long, a job's worker is taken for dead. It gives one a second."""


@dataclass(frozen=True, slots=True)
class Table:
    claim: LiteralString
    renew: LiteralString


TABLES: Final = {
    wake.ANSWER: Table(sql.CLAIM_ANSWER, sql.RENEW_ANSWERS),
    wake.EVALUATION: Table(sql.CLAIM_RUN, sql.RENEW_RUNS),
}


def claim(call: Call, worker: str) -> bool:
    """Whether the job is ours now."""
    values = {
        "workspace": call.workspace_id,
        "id": call.id,
        "worker": worker,
        "lease": LEASE_SECONDS,
    }
    with access.in_workspace(call.workspace_id):
        return bool(run_sql(TABLES[call.kind].claim, values))


def renew(calls: Sequence[Call], worker: str) -> list[Call]:
    """Keep the leases of jobs of this worker; returns those that are to end.

    That is what somebody stopped, and what is not ours any more.
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
    """What is queued, in every workspace; what a dead worker was doing is ended first."""
    queued = []
    for kind, workspace_id, id_, state, worker, is_overdue in run_sql(sql.UNFINISHED):
        call = Call(kind, workspace_id, id_)
        if state == "queued":
            queued.append(call)
        elif is_overdue or leases.is_dead(worker):
            interrupt(call, worker)
    return queued


def interrupt(call: Call, worker: str) -> None:
    """Say that the worker stopped in the middle; nothing where the job has ended meanwhile."""
    is_answer = call.kind == wake.ANSWER
    if not is_answer and requeueing.requeue(call.workspace_id, call.id, worker):
        return
    fail(call, worker, keeping.INTERRUPTED if is_answer else keeping.INTERRUPTED_RUN)


def fail(call: Call, worker: str, problem: keeping.Problem) -> None:
    """End a job that the worker had; nothing where it has ended meanwhile."""
    end = _fail_answer if call.kind == wake.ANSWER else _fail_run
    if end(call, worker, problem):
        code = problem["code"]
        logger.warning("job failed kind=%s id=%s code=%s", call.kind, call.id, code)


def _fail_answer(call: Call, worker: str, problem: keeping.Problem) -> bool:
    answer = Answer(workspace_id=call.workspace_id, pk=call.id, worker=worker)
    try:
        keeping.fail(answer, problem)
    except TakenOverError:
        return False
    return True


def _fail_run(call: Call, worker: str, problem: keeping.Problem) -> bool:
    values = {
        "workspace": call.workspace_id,
        "id": call.id,
        "worker": worker,
        "problem": json.dumps(problem),
    }
    with access.in_workspace(call.workspace_id):
        return bool(run_sql(sql.FAIL_RUN, values))
