"""Evaluate a workspace as it is, with one of its question sets, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kb_project.errors import InputError, NotFoundError
from kb_project.jobs import workers
from retrieval.evaluation import control, estimating, queries, runs
from retrieval.evaluation.control import Order
from retrieval.evaluation.plan import Plan
from retrieval.evaluation.summary import report_of
from retrieval.models import EvaluationRun, RunProgress
from workspaces import access
from workspaces.models import Workspace

Say = Callable[[str], None]


def evaluate(slug: str, name: str, plan: Plan, *, answers: bool, say: Say) -> dict[str, Any]:
    """Run the set in this process, as a run in the workspace's history.

    Passes the estimated cost to ``say`` first. Raises InputError, NotFoundError, and ConflictError
    if a run over the set is under way.
    """
    workspace = _workspace(slug)
    with access.in_workspace(workspace.pk):
        question_set = queries.set_named(workspace=workspace, name=name)
    estimate = estimating.estimate_for_run(
        workspace=workspace, question_set=question_set, modes=list(plan.modes), answers=answers
    )
    if not estimate.is_free:
        say(" ".join(estimating.sentences(estimate)))
    run = control.run_start(
        workspace=workspace,
        order=Order(worker=workers.worker_name()),
        question_set=question_set,
        plan=plan,
        answers=answers,
    )
    runs.run_evaluation(workspace.pk, run.pk)
    with access.in_workspace(workspace.pk):
        run = queries.run_get(workspace=workspace, run_id=run.pk)
    _refuse_unfinished(run)
    return report(run)


def report(run: EvaluationRun) -> dict[str, Any]:
    """Return the report in the shape of an evaluation of a folder."""
    return {
        "dataset": run.question_set.name,
        "documents": run.conditions.get("documents", 0),
        "questions": len(run.conditions.get("questions", {})),
        "ingest_seconds": 0.0,
        "reused": True,
        "failed_documents": 0,
        "run": str(run.pk),
        "judged_by": run.judged_by,
        "modes": report_of(run.summary),
    }


def _workspace(slug: str) -> Workspace:
    if not slug:
        raise InputError("Name the workspace with --workspace.")
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        raise NotFoundError(f"There is no workspace '{slug}'.")
    return workspace


def _refuse_unfinished(run: EvaluationRun) -> None:
    """Raise InputError for a run that did not finish: it is not a result."""
    if run.state == RunProgress.DONE:
        return
    told = run.problem or {}
    raise InputError(
        told.get("happened", "The run was stopped."),
        code=told.get("code", "stopped"),
        kept=told.get("kept", "The results so far are kept."),
        next_step=told.get("next_step", "Continue it on the Evaluation page."),
    )
