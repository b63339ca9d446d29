"""Export results for programs and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from retrieval.evaluation import queries
from retrieval.evaluation.summary import place_of
from retrieval.models import EvaluationResult, EvaluationRun
from workspaces import access
from workspaces.models import Workspace

FIRST: Final = ("question", "mode", "answer", "expected", "problem")
# Prefixes that make a spreadsheet treat a cell as a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def records(*, workspace: Workspace, run: EvaluationRun) -> list[dict[str, Any]]:
    """Return every result, in the order of the questions."""
    with access.in_workspace(workspace.pk):
        return [record_of(one) for one in queries.results_of(workspace=workspace, run=run)]


def record_of(result: EvaluationResult) -> dict[str, Any]:
    return {
        "id": str(result.pk),
        "question_id": str(result.question_id),
        "question": result.question.text,
        "mode": result.mode,
        "expected": result.question.answer,
        "answer": result.answer,
        "metrics": result.metrics,
        "passages": result.passages,
        "claims": result.claims,
        "problem": result.problem,
    }


def as_table(found: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield a heading and a row for each result, with a column for each metric."""
    names = sorted({name for record in found for name in record["metrics"]}, key=place_of)
    yield [*FIRST, *names]
    for record in found:
        problem = (record["problem"] or {}).get("happened", "")
        told = {**record, "problem": problem}
        figures = (record["metrics"].get(name, "") for name in names)
        yield [*(_safe(str(told[name])) for name in FIRST), *map(str, figures)]


def _safe(text: str) -> str:
    """
    >>> _safe("=1+1"), _safe("Who?")
    ("'=1+1", 'Who?')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
