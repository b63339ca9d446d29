"""Read question sets, their questions, runs and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet

from kb_project.errors import ConflictError, NotFoundError, found
from retrieval.models import (
    EvaluationResult,
    EvaluationRun,
    QuestionSet,
    RunKind,
    RunProgress,
    SetQuestion,
)
from workspaces.models import Workspace
from workspaces.models.people import TenantQuerySet

UNFINISHED = (RunProgress.QUEUED, RunProgress.RUNNING)
State = SetQuestion.State


@dataclass(frozen=True, slots=True)
class SetRow:
    """A set as listed; ``last`` is its newest measuring run."""

    question_set: QuestionSet
    accepted: int
    proposed: int
    runs: int
    last: EvaluationRun | None


def sets(*, workspace: Workspace) -> QuerySet[QuestionSet]:
    return QuestionSet.objects.in_workspace(workspace).order_by("name")


def set_rows(*, workspace: Workspace, rows: Sequence[QuestionSet]) -> list[SetRow]:
    """Return the sets with their question counts and measuring runs."""
    listed = list(rows)
    counts = _counts(workspace, listed)
    runs: dict[UUID, list[EvaluationRun]] = {}
    measured = EvaluationRun.objects.in_workspace(workspace).filter(kind=RunKind.MEASURE)
    for run in measured.filter(question_set__in=listed).order_by("-created_at"):
        runs.setdefault(run.question_set_id, []).append(run)
    return [
        SetRow(
            row,
            accepted=counts.get((row.pk, State.ACCEPTED), 0),
            proposed=counts.get((row.pk, State.PROPOSED), 0),
            runs=len(runs.get(row.pk, [])),
            last=next(iter(runs.get(row.pk, [])), None),
        )
        for row in listed
    ]


def _counts(workspace: Workspace, rows: Sequence[QuestionSet]) -> dict[tuple[UUID, str], int]:
    questions = SetQuestion.objects.in_workspace(workspace).filter(question_set__in=rows)
    counted = questions.order_by().values_list("question_set_id", "state")
    return {(set_id, state): count for set_id, state, count in counted.annotate(Count("pk"))}


def set_get(*, workspace: Workspace, set_id: UUID) -> QuestionSet:
    """Return a set. Raises NotFoundError."""
    rows = QuestionSet.objects.in_workspace(workspace).filter(pk=set_id)
    return found(rows.first(), "question set")


def set_named(*, workspace: Workspace, name: str) -> QuestionSet:
    """Return a set by name. Raises NotFoundError that names the existing sets."""
    named = QuestionSet.objects.in_workspace(workspace).filter(name=name).first()
    if named is None:
        names = sets(workspace=workspace).values_list("name", flat=True)[:10]
        known = ", ".join(f"'{name}'" for name in names)
        raise NotFoundError(
            f"There is no question set '{name[:120]}' in {workspace.name}.",
            next_step=f"Choose one of {known}." if known else "Create one first.",
        )
    return named


def questions_of(*, workspace: Workspace, question_set: QuestionSet) -> TenantQuerySet[SetQuestion]:
    rows = SetQuestion.objects.in_workspace(workspace).filter(question_set=question_set)
    return rows.order_by("ordinal", "pk")


def accepted_of(*, workspace: Workspace, question_set: QuestionSet) -> TenantQuerySet[SetQuestion]:
    """Return the questions that a run asks."""
    return questions_of(workspace=workspace, question_set=question_set).filter(state=State.ACCEPTED)


def question_get(*, workspace: Workspace, set_id: UUID, question_id: UUID) -> SetQuestion:
    """Return a question of a set. Raises NotFoundError."""
    rows = SetQuestion.objects.in_workspace(workspace).filter(question_set_id=set_id)
    question = rows.filter(pk=question_id).first()
    if question is None:
        raise NotFoundError("There is no such question in this set.")
    return question


def runs_of(
    *, workspace: Workspace, question_set: QuestionSet, kind: RunKind = RunKind.MEASURE
) -> QuerySet[EvaluationRun]:
    """Return a set's runs of one kind, newest first."""
    rows = EvaluationRun.objects.in_workspace(workspace).filter(question_set=question_set)
    return rows.filter(kind=kind).select_related("requested_by").order_by("-created_at", "pk")


def check_no_run(
    *, workspace: Workspace, question_set: QuestionSet, kept: str, next_step: str
) -> None:
    """Raise ConflictError while a run of any kind over the set is under way."""
    rows = EvaluationRun.objects.in_workspace(workspace)
    if rows.filter(question_set=question_set, state__in=UNFINISHED).exists():
        raise ConflictError(
            "A run over this set is in progress.",
            code="run_unfinished",
            kept=kept,
            next_step=next_step,
        )


def run_get(*, workspace: Workspace, run_id: UUID) -> EvaluationRun:
    """Return a run. Raises NotFoundError."""
    rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run_id)
    return found(rows.select_related("question_set", "requested_by").first(), "run")


def run_before(*, workspace: Workspace, run: EvaluationRun) -> EvaluationRun | None:
    """Return the latest earlier run over the same set that finished."""
    rows = EvaluationRun.objects.in_workspace(workspace).filter(
        question_set_id=run.question_set_id,
        kind=RunKind.MEASURE,
        state=RunProgress.DONE,
        created_at__lt=run.created_at,
    )
    return rows.order_by("-created_at").first()


def making(*, workspace: Workspace, question_set: QuestionSet) -> EvaluationRun | None:
    """Return the newest run that makes questions from the documents."""
    return runs_of(workspace=workspace, question_set=question_set, kind=RunKind.MAKE).first()


def results_of(*, workspace: Workspace, run: EvaluationRun) -> TenantQuerySet[EvaluationResult]:
    """Return a run's results in the order of the questions."""
    rows = EvaluationResult.objects.in_workspace(workspace).filter(run=run)
    return rows.select_related("question").order_by("question__ordinal", "question_id", "mode")


def result_get(*, workspace: Workspace, run: EvaluationRun, result_id: UUID) -> EvaluationResult:
    """Return a result of a run. Raises NotFoundError."""
    result = results_of(workspace=workspace, run=run).filter(pk=result_id).first()
    if result is None:
        raise NotFoundError("There is no such result in this run.")
    return result
