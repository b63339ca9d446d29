"""Evaluate from the command line: a data set in a temporary workspace, or a workspace as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from ingestion.models import Chunk
from kb_project.errors import InputError, ReplyError
from kb_project.jobs import claims
from retrieval.evaluation import control, metrics, queries, runs
from retrieval.evaluation.control import Order
from retrieval.evaluation.dataset import (
    Dataset,
    Evidence,
    Filled,
    OnProgress,
    SourceQuestion,
    filled_workspace,
)
from retrieval.evaluation.judging import Judge
from retrieval.evaluation.measuring import Plan, answered
from retrieval.evaluation.metrics import report_of, summary_of
from retrieval.models import EvaluationRun, RunProgress
from retrieval.search import services
from retrieval.search.results import Hit
from workspaces import access
from workspaces.models import Workspace
from workspaces.people import queries as people_queries


def judged_answers(workspace: Workspace, dataset: Dataset, plan: Plan) -> dict[str, dict[str, Any]]:
    """Answer and judge the questions; return for each mode ``answered``, ``answer_ms``,
    ``ragchecker``, and the share of ``failed`` calls if any. PauseErrors pass through."""
    judge = runs.judge_for(workspace, _nothing)
    report = report_of(summary_of(_figures(workspace, dataset, plan, judge)))
    return {mode: {**figures, "judged_by": judge.name} for mode, figures in report.items()}


def _figures(
    workspace: Workspace, dataset: Dataset, plan: Plan, judge: Judge
) -> Iterator[tuple[str, dict[str, float]]]:
    for question in dataset.questions:
        for mode in plan.modes:
            try:
                found = answered(
                    workspace,
                    judge,
                    _nothing,
                    asked=(uuid4(), question.question, mode),
                    expected=question.answer,
                )
            except ReplyError:
                yield mode, {"failed": 1.0}
            else:
                yield mode, {"failed": 0.0, **found.metrics}


def _nothing() -> None:
    """Do nothing: a command is stopped only by ending it."""


@dataclass
class Tally:
    """One mode's results, question by question. Times are in seconds."""

    covered: list[tuple[metrics.Covered, int]] = field(default_factory=list)
    search_seconds: list[float] = field(default_factory=list)
    embed_seconds: list[float] = field(default_factory=list)

    def summary(self, ks: Sequence[int]) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: {
                str(k): _rounded([measure(one, total, k) for one, total in self.covered])
                for k in ks
            }
            for name, measure in metrics.MEASURES.items()
        }
        found["mrr"] = _rounded([metrics.reciprocal_rank(one) for one, _ in self.covered])
        found["latency_ms"] = _percentiles(self.search_seconds)
        found["embed_ms"] = _percentiles(self.embed_seconds)
        return found


def evaluate(
    dataset: Dataset,
    plan: Plan,
    *,
    keep: str = "",
    answers: bool = False,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Return the report of ``manage.py evaluate``; times are in milliseconds, shares from 0 to 1.

    With ``answers``, each mode also has the figures of ``judged_answers``.
    """
    with filled_workspace(dataset, keep=keep, on_progress=on_progress) as filled:
        tallies = run_questions(dataset, plan, filled)
        judged = judged_answers(filled.workspace, dataset, plan) if answers else {}
    return {
        "dataset": dataset.name,
        "documents": len(dataset.documents),
        "questions": len(dataset.questions),
        "ingest_seconds": round(filled.seconds, 1),
        "reused": filled.is_reused,
        "failed_documents": filled.failed,
        "modes": {
            mode: tally.summary(plan.ks) | judged.get(mode, {}) for mode, tally in tallies.items()
        },
    }


def run_questions(dataset: Dataset, plan: Plan, filled: Filled) -> dict[str, Tally]:
    """Put every question to every mode. The modes share the question's vector."""
    ordinals = ordinals_of(filled)
    tallies = {mode: Tally() for mode in plan.modes}
    _warm_up(dataset, plan, filled)
    for question in dataset.questions:
        vector = services.question_vector(filled.workspace, question.question)
        vector.make()
        for mode, tally in tallies.items():
            found = services.search(
                workspace=filled.workspace,
                question=question.question,
                mode=mode,
                top_k=max(plan.ks),
                vector=vector,
            )
            covered = cover(question, found.hits, filled.indices, ordinals)
            tally.covered.append((covered, len(question.evidence)))
            tally.search_seconds.append(found.search_seconds)
            tally.embed_seconds.append(vector.seconds)
    return tallies


def cover(
    question: SourceQuestion,
    hits: Sequence[Hit],
    indices: dict[UUID, int],
    ordinals: dict[UUID, int],
) -> list[frozenset[int]]:
    """Return for each hit which pieces of evidence it is the first to cover."""
    places = ((indices[hit.document_id], ordinals[hit.chunk_id]) for hit in hits)
    return metrics.cover(question.evidence, places, _is_at)


def _is_at(evidence: Evidence, place: tuple[int, int]) -> bool:
    document, ordinal = place
    return document in evidence.documents and evidence.chunk in (None, ordinal)


def ordinals_of(filled: Filled) -> dict[UUID, int]:
    with access.in_workspace(filled.workspace.pk):
        return dict(Chunk.objects.in_workspace(filled.workspace).values_list("pk", "ordinal"))


def _warm_up(dataset: Dataset, plan: Plan, filled: Filled) -> None:
    """Load the model and the process's caches, as they are when questions are served."""
    for mode in plan.modes:
        services.search(
            workspace=filled.workspace,
            question=dataset.questions[0].question,
            mode=mode,
            top_k=max(plan.ks),
        )


def _rounded(values: Sequence[float]) -> float:
    return round(metrics.mean(values), 4)


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    milliseconds = [second * 1000 for second in seconds]
    return {
        "p50": round(metrics.percentile(milliseconds, 0.5), 2),
        "p95": round(metrics.percentile(milliseconds, 0.95), 2),
    }


Say = Callable[[str], None]


def evaluate_workspace(
    slug: str, name: str, plan: Plan, *, answers: bool, say: Say
) -> dict[str, Any]:
    """Run the set in this process, as a run in the workspace's history.

    Passes the estimated cost to ``say`` first. Raises InputError, NotFoundError, and ConflictError
    if a run over the set is under way.
    """
    workspace = _workspace(slug)
    with access.in_workspace(workspace.pk):
        question_set = queries.set_named(workspace=workspace, name=name)
    estimate = control.estimate_for_run(
        workspace=workspace, question_set=question_set, modes=list(plan.modes), answers=answers
    )
    if not estimate.is_free:
        say(" ".join(control.estimate_sentences(estimate)))
    run = control.run_start(
        workspace=workspace,
        order=Order(worker=claims.worker_name()),
        question_set=question_set,
        plan=plan,
        answers=answers,
    )
    runs.run_evaluation(workspace.pk, run.pk)
    with access.in_workspace(workspace.pk):
        run = queries.run_get(workspace=workspace, run_id=run.pk)
    _refuse_unfinished(run)
    return workspace_report(run)


def workspace_report(run: EvaluationRun) -> dict[str, Any]:
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
    return people_queries.workspace_at(slug=slug)


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
