"""Start, stop, continue and delete runs. The work itself is in ``runs``."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from kb_project.errors import ConflictError, InputError
from kb_project.jobs import notify
from retrieval.evaluation import making, queries, runs
from retrieval.evaluation.measuring import Plan
from retrieval.models import (
    EvaluationResult,
    EvaluationRun,
    QuestionSet,
    RunKind,
    RunProgress,
)
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

MOST_KS: Final = 6
KS: Final = (5, 8, 20)
LEASE: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Order:
    """Who requested a run. With a ``worker``, it is claimed for that worker and wakes no other."""

    user: User | None = None
    worker: str = ""


def run_start(
    *,
    workspace: Workspace,
    order: Order,
    question_set: QuestionSet,
    plan: Plan,
    answers: bool = False,
) -> EvaluationRun:
    """Start a run.

    Raises ConflictError if no question is accepted yet, or a run over the set is under way.
    """
    if len(plan.ks) > MOST_KS:
        raise InputError(f"At most {MOST_KS} numbers of passages can be measured at once.")
    with access.in_workspace(workspace.pk):
        accepted = queries.accepted_of(workspace=workspace, question_set=question_set).count()
        if not accepted:
            raise ConflictError(
                "The set has no accepted questions.",
                code="set_empty",
                next_step="Add questions, or accept the proposed ones.",
            )
        return _begin(
            workspace,
            order,
            question_set,
            modes=list(plan.modes),
            ks=list(plan.ks),
            answers=answers,
            total=accepted * len(plan.modes),
        )


def questions_make(
    *, workspace: Workspace, order: Order, question_set: QuestionSet, number: int
) -> EvaluationRun:
    """Start making so many questions from the documents. Raises InputError, ConflictError."""
    if not 1 <= number <= making.MOST:
        raise InputError(f"Between 1 and {making.MOST} questions can be generated at once.")
    with access.in_workspace(workspace.pk):
        return _begin(
            workspace,
            order,
            question_set,
            kind=RunKind.MAKE,
            total=number,
            conditions={"wanted": number},
        )


def run_stop(*, workspace: Workspace, run: EvaluationRun) -> EvaluationRun:
    """Stop a run, keeping its results. Raises ConflictError if it has ended."""
    with access.in_workspace(workspace.pk):
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk)
        waiting = rows.filter(state=RunProgress.QUEUED)
        now = timezone.now()
        if not waiting.update(state=RunProgress.STOPPED, wants_stop=True, finished_at=now):
            if not rows.filter(state=RunProgress.RUNNING).update(wants_stop=True):
                raise ConflictError("The run has already ended.", code="run_ended")
            notify.wake(notify.STOP, workspace.pk, run.pk)
        run.refresh_from_db()
    return run


def run_continue(*, workspace: Workspace, run: EvaluationRun, order: Order) -> EvaluationRun:
    """Continue a run where it stopped; questions that failed individually are tried again."""
    with access.in_workspace(workspace.pk):
        _check_no_run(workspace, run.question_set)
        results = EvaluationResult.objects.in_workspace(workspace).filter(run=run)
        again = [RunProgress.FAILED, RunProgress.STOPPED]
        if results.filter(problem__isnull=False).exists():
            again.append(RunProgress.DONE)
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk, state__in=again)
        # Reset the count of interruptions: a person has looked at the run.
        conditions = {k: v for k, v in run.conditions.items() if k != "interruptions"}
        values = {"wants_stop": False, "problem": None, "finished_at": None}
        if not rows.update(**_claimed(order), **values, conditions=conditions):
            raise ConflictError("This run is complete.", code="run_ended")
        results.filter(problem__isnull=False).delete()
        _wake(workspace, run, order)
        run.refresh_from_db()
    return run


def run_delete(*, workspace: Workspace, run: EvaluationRun) -> None:
    """Delete a run. Raises ConflictError while it is under way."""
    with access.in_workspace(workspace.pk):
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk)
        if rows.filter(state__in=queries.UNFINISHED).exists():
            raise ConflictError(
                "The run is in progress.", code="run_unfinished", next_step="Stop it first."
            )
        rows.delete()


def _begin(
    workspace: Workspace, order: Order, question_set: QuestionSet, **values: object
) -> EvaluationRun:
    QuestionSet.objects.in_workspace(workspace).select_for_update().get(pk=question_set.pk)
    _check_no_run(workspace, question_set)
    run = EvaluationRun.objects.create(
        workspace=workspace,
        question_set=question_set,
        requested_by=order.user,
        **_claimed(order),
        **values,
    )
    _wake(workspace, run, order)
    logger.info("evaluation started workspace=%s run=%s", workspace.pk, run.pk)
    return run


def _claimed(order: Order) -> dict[str, object]:
    if not order.worker:
        return {"state": RunProgress.QUEUED, "worker": "", "lease_until": None}
    lease = timezone.now() + LEASE
    return {"state": RunProgress.RUNNING, "worker": order.worker, "lease_until": lease}


def _wake(workspace: Workspace, run: EvaluationRun, order: Order) -> None:
    if not order.worker:
        notify.wake(runs.KIND, workspace.pk, run.pk, run.requested_by_id)


def _check_no_run(workspace: Workspace, question_set: QuestionSet) -> None:
    queries.check_no_run(
        workspace=workspace,
        question_set=question_set,
        kept="Nothing was changed.",
        next_step="Wait until it finishes, or stop it.",
    )
