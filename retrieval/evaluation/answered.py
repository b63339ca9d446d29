"""Answers to a data set's questions, judged against those that are expected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from kb_project.errors import ReplyError
from retrieval.evaluation import runs
from retrieval.evaluation.dataset import Dataset
from retrieval.evaluation.judging import Judge
from retrieval.evaluation.measuring import answered
from retrieval.evaluation.plan import Plan
from retrieval.evaluation.summary import report_of, summary_of
from workspaces.models import Workspace


def judged_answers(workspace: Workspace, dataset: Dataset, plan: Plan) -> dict[str, dict[str, Any]]:
    """By mode: ``answered``, ``answer_ms``, ``ragchecker``, and ``failed`` calls where there are
    any. PauseErrors pass through."""
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
    """Nobody stops a command but by ending it."""
