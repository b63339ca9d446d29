"""A run beside the one before, read from the database."""

from __future__ import annotations

from collections.abc import Iterable

from retrieval.evaluation import selectors
from retrieval.evaluation.history import Comparison, compare
from retrieval.evaluation.summary import summary_of
from retrieval.models import EvaluationResult, EvaluationRun
from workspaces.models import Workspace


def comparison_of(*, workspace: Workspace, run: EvaluationRun) -> Comparison:
    before = selectors.run_before(workspace=workspace, run=run)
    results = list(_figures_of(workspace, run))
    earlier = _figures_of(workspace, before) if before else ()
    if not run.summary:  # while it runs
        run.summary = summary_of((one.mode, one.metrics) for one in results if not one.problem)
    return compare(run, results, before, earlier)


def _figures_of(workspace: Workspace, run: EvaluationRun) -> Iterable[EvaluationResult]:
    rows = selectors.results_of(workspace=workspace, run=run)
    return rows.defer("passages", "claims", "answer")
