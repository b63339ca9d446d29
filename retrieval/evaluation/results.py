"""Results of runs: compared with the run before, exported for programs and spreadsheets, and as a
table of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kb_project.http.downloads import safe_cell
from retrieval.evaluation import queries
from retrieval.evaluation.metrics import is_better_when_less, place_of, summary_of
from retrieval.models import EvaluationResult, EvaluationRun
from workspaces import access
from workspaces.models import Workspace

LEAST: Final = 0.005
"""Smaller changes of a share do not count: the tables show two or three figures."""
LEAST_OF_TIME: Final = 0.2
LEAST_MS: Final = 1.0
"""Smaller differences of times do not count: the machine does other things too."""


class Change(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Delta:
    """A figure compared; ``before`` is None if the previous run did not measure it."""

    now: float
    before: float | None
    change: Change

    @property
    def difference(self) -> float | None:
        return None if self.before is None else round(self.now - self.before, 4)


@dataclass(frozen=True, slots=True)
class ResultChange:
    """One question in one mode. ``change`` is judged by ``metric``, the most telling one.

    ``is_other`` means that the question itself was changed between the runs.
    """

    result: EvaluationResult
    metric: str
    value: float | None
    change: Change
    deltas: Mapping[str, Delta]
    is_other: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """``summary`` is ``{mode: {metric: Delta}}``; ``changed`` are sentences, empty if there is no
    run ``before`` or nothing differs."""

    summary: Mapping[str, Mapping[str, Delta]]
    lines: Sequence[ResultChange]
    changed: Sequence[str]
    before: EvaluationRun | None

    @property
    def counts(self) -> dict[str, int]:
        found = [line.change for line in self.lines]
        return {change.value: found.count(change) for change in Change}


def comparison_of(*, workspace: Workspace, run: EvaluationRun) -> Comparison:
    """Compare a run with the latest finished one before it over the same set."""
    before = queries.run_before(workspace=workspace, run=run)
    results, earlier = (
        list(queries.results_of(workspace=workspace, run=one).defer("passages", "claims", "answer"))
        if one
        else []
        for one in (run, before)
    )
    if not run.summary:  # still running
        run.summary = summary_of((one.mode, one.metrics) for one in results if not one.problem)
    return compare(run, results, before, earlier)


def compare(
    run: EvaluationRun,
    results: Sequence[EvaluationResult],
    before: EvaluationRun | None,
    results_before: Iterable[EvaluationResult] = (),
) -> Comparison:
    earlier = {(one.question_id, one.mode): one for one in results_before if not one.problem}
    summary = {
        mode: deltas(figures, before.summary.get(mode) if before else None)
        for mode, figures in run.summary.items()
    }
    lines = [_line(run, one, before, earlier.get((one.question_id, one.mode))) for one in results]
    changed = list(_changed(run, before)) if before else []
    return Comparison(summary, lines, changed, before)


def deltas(now: Mapping[str, float], before: Mapping[str, float] | None) -> dict[str, Delta]:
    return {
        name: Delta(value, (before or {}).get(name), change_of(name, value, before))
        for name, value in now.items()
    }


def change_of(name: str, now: float, before: Mapping[str, float] | None) -> Change:
    """
    >>> change_of("recall@5", 0.6, {"recall@5": 0.5}), change_of("hallucination", 0.6, {})
    (<Change.BETTER: 'better'>, <Change.NEW: 'new'>)
    """
    was = (before or {}).get(name)
    if was is None:
        return Change.NEW
    least = max(LEAST_MS, LEAST_OF_TIME * max(now, was)) if "_ms" in name else LEAST
    if name == "questions" or abs(now - was) < least:
        return Change.SAME
    return Change.BETTER if (now < was) == is_better_when_less(name) else Change.WORSE


def telling_metric(figures: Mapping[str, float]) -> str:
    """Return the metric a question is judged by: F1 of its answer, else recall at the largest k.

    >>> telling_metric({"recall@5": 1, "recall@20": 1, "mrr": 1}), telling_metric({"f1": 0.5})
    ('recall@20', 'f1')
    """
    if "f1" in figures:
        return "f1"
    ks = [int(name.partition("@")[2]) for name in figures if name.startswith("recall@")]
    return f"recall@{max(ks)}" if ks else "mrr"


def _line(
    run: EvaluationRun,
    result: EvaluationResult,
    before: EvaluationRun | None,
    earlier: EvaluationResult | None,
) -> ResultChange:
    key = str(result.question_id)
    asked = [one.conditions.get("questions", {}).get(key) for one in (run, before) if one]
    is_other = len(set(asked)) > 1 and earlier is not None
    comparable = earlier.metrics if earlier and not is_other else None
    name = telling_metric(result.metrics)
    found = deltas(result.metrics, comparable)
    change = found[name].change if name in found else Change.NEW
    return ResultChange(result, name, result.metrics.get(name), change, found, is_other)


def _changed(run: EvaluationRun, before: EvaluationRun) -> Iterator[str]:
    now, was = run.conditions, before.conditions
    if run.corpus != before.corpus:
        yield _documents(now, was)
    for key, what in (("embedder", "The embedding model"), ("answers_by", "The answering method")):
        if now.get(key) and was.get(key) and now[key] != was[key]:
            yield f"{what} changed from {was[key]} to {now[key]}."
    if run.judged_by and before.judged_by and run.judged_by != before.judged_by:
        yield f"Answers were judged by {before.judged_by}, now by {run.judged_by}."
    if added := [mode for mode in run.modes if mode not in before.modes]:
        yield f"Modes measured only now: {', '.join(added)}."
    if gone := [mode for mode in before.modes if mode not in run.modes]:
        yield f"Modes measured only before: {', '.join(gone)}."
    yield from _questions(now.get("questions", {}), was.get("questions", {}))


def _documents(now: Mapping[str, Any], was: Mapping[str, Any]) -> str:
    """
    >>> _documents({"documents": 3, "passages": 9}, {"documents": 2, "passages": 7})
    'The documents changed: from 2 with 7 passages to 3 with 9.'
    """
    then, today = was.get("documents", 0), now.get("documents", 0)
    return (
        f"The documents changed: from {then:,} with {was.get('passages', 0):,} passages to"
        f" {today:,} with {now.get('passages', 0):,}."
    )


def _questions(now: Mapping[str, str], was: Mapping[str, str]) -> Iterator[str]:
    counts = (
        ("added", len(set(now) - set(was))),
        ("removed", len(set(was) - set(now))),
        ("changed", sum(now[key] != was[key] for key in set(now) & set(was))),
    )
    parts = [f"{count} {what}" for what, count in counts if count]
    if parts:
        yield f"Questions: {', '.join(parts)}."


# --- exports --------------------------------------------------------------------------------------
FIRST: Final = ("question", "mode", "answer", "expected", "problem")


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
        row = {**record, "problem": (record["problem"] or {}).get("happened", "")}
        figures = (record["metrics"].get(name, "") for name in names)
        yield [*(safe_cell(str(row[name])) for name in FIRST), *map(str, figures)]


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield an evaluation's report for people: a heading, and one line for each mode."""
    yield (
        f"{report['dataset']}: {report['documents']} documents, {report['questions']} questions,"
        f" ingested in {report['ingest_seconds']} s"
    )
    if report["failed_documents"]:
        yield f"{report['failed_documents']} documents could not be read."
    yield from _columns([_heading(report), *(_row(*mode) for mode in report["modes"].items())])
    # Once: all modes use the same vector.
    taken = next(iter(report["modes"].values()))["embed_ms"]
    yield f"A question's vector took {taken['p50']:.1f} ms (p50), {taken['p95']:.1f} ms (p95) more."
    yield from _judged(report)


def _judged(report: dict[str, Any]) -> Iterator[str]:
    """Yield RAGChecker's metrics, if answers were judged."""
    judged = {
        name: mode["ragchecker"] for name, mode in report["modes"].items() if "ragchecker" in mode
    }
    if not judged:
        return
    judges = {report.get("judged_by")} | {
        mode.get("judged_by") for mode in report["modes"].values()
    }
    yield ""
    yield f"Answers, judged by {' and '.join(sorted(filter(None, judges)))}:"
    names = list(next(iter(judged.values())))
    rows = [[mode, *(f"{found[name]:.3f}" for name in names)] for mode, found in judged.items()]
    yield from _columns([["mode", *(name.replace("_", " ") for name in names)], *rows])


def _heading(report: dict[str, Any]) -> list[str]:
    first = next(iter(report["modes"].values()))
    measures = [f"{name}@{k}" for name in ("perfect", "recall", "ndcg") for k in first[name]]
    return ["mode", *measures, "mrr", "p50 ms", "p95 ms"]


def _row(name: str, mode: dict[str, Any]) -> list[str]:
    measures = [
        f"{value:.3f}"
        for measure in ("perfect", "recall", "ndcg")
        for value in mode[measure].values()
    ]
    times = (f"{value:.1f}" for value in mode["latency_ms"].values())
    return [name, *measures, f"{mode['mrr']:.3f}", *times]


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([row[0].ljust(widths[0]), *cells])
