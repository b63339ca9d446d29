"""Present evaluation sets and runs for their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.models import Document
from retrieval.evaluation import evidence, queries
from retrieval.evaluation.evidence import Names
from retrieval.evaluation.metrics import explanation_of, is_better_when_less, label_of, place_of
from retrieval.evaluation.results import Change, Comparison, Delta, ResultChange
from retrieval.models import EvaluationResult, EvaluationRun, RunProgress, SetQuestion
from retrieval.search.modes import MODES
from workspaces.models import Workspace

TONES: Final = {Change.BETTER: "good", Change.WORSE: "bad"}
STATES: Final = {
    RunProgress.QUEUED: ("", "clock-history"),
    RunProgress.RUNNING: ("busy", "hourglass-split"),
    RunProgress.DONE: ("good", "check2"),
    RunProgress.FAILED: ("bad", "exclamation-triangle"),
    RunProgress.STOPPED: ("warn", "x-lg"),
}
HEADLINES: Final = ("f1", "faithfulness", "mrr")


@dataclass(frozen=True, slots=True)
class State:
    tone: str
    icon: str
    label: str


@dataclass(frozen=True, slots=True)
class Cell:
    """``delta`` is '' if there is nothing to compare with, or no change."""

    text: str
    delta: str = ""
    tone: str = ""
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    explanation: str
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Metrics as rows, modes as columns."""

    modes: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class ShownRun:
    run: EvaluationRun
    state: State
    is_moving: bool
    modes: str
    headline: str

    @property
    def percent(self) -> int:
        return round(100 * self.run.done / self.run.total) if self.run.total else 0


@dataclass(frozen=True, slots=True)
class ShownLine:
    line: ResultChange
    mode: str
    label: str
    value: str
    delta: str
    tone: str
    word: str


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    question: SetQuestion
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A claim, and whether the other answer and any passage support it."""

    text: str
    in_answer: bool
    in_passages: bool


def shown_run(run: EvaluationRun) -> ShownRun:
    state = RunProgress(run.state)
    tone, icon = STATES[state]
    return ShownRun(
        run=run,
        state=State(tone, icon, str(state.label)),
        is_moving=state in queries.UNFINISHED,
        modes=", ".join(mode_label(mode) for mode in run.modes),
        headline=headline_of(run),
    )


def mode_label(name: str) -> str:
    return MODES[name].label if name in MODES else name


def headline_of(run: EvaluationRun) -> str:
    """Return the best mode by the most telling figure; '' if nothing is measured yet."""
    perfect = [f"perfect@{max(run.ks)}"] if run.ks else []
    for name in (*perfect, *HEADLINES):
        values = {mode: figures[name] for mode, figures in run.summary.items() if name in figures}
        if values:
            best = max(values.values())
            modes = [mode_label(mode) for mode in run.modes if values.get(mode) == best]
            more = f" and {len(modes) - 1} more" if len(modes) > 1 else ""
            return f"{label_of(name)} {best:.3f} by {modes[0]}{more}"
    return ""


def table_of(run: EvaluationRun, comparison: Comparison) -> Table:
    modes = [mode for mode in run.modes if mode in comparison.summary]
    names = dict.fromkeys(name for mode in modes for name in comparison.summary[mode])
    rows = [
        _row(name, [comparison.summary[mode].get(name) for mode in modes])
        for name in sorted(names, key=place_of)
        if name != "questions"
    ]
    return Table([mode_label(mode) for mode in modes], rows)


def _row(name: str, deltas: Sequence[Delta | None]) -> Row:
    values = [delta.now for delta in deltas if delta]
    best = (min if is_better_when_less(name) else max)(values, default=None)
    cells = [
        cell_of(name, delta, is_best=delta.now == best and len(set(values)) > 1)
        if delta
        else Cell("–")
        for delta in deltas
    ]
    return Row(label_of(name), explanation_of(name), cells)


def cell_of(name: str, delta: Delta, *, is_best: bool = False) -> Cell:
    is_time = "_ms" in name
    text = f"{delta.now:,.1f}" if is_time else f"{delta.now:.3f}"
    if delta.difference is None or delta.change in (Change.SAME, Change.NEW):
        return Cell(text, is_best=is_best)
    difference = f"{delta.difference:+,.1f}" if is_time else f"{delta.difference:+.3f}"
    return Cell(text, difference, TONES.get(delta.change, ""), is_best)


def shown_line(line: ResultChange) -> ShownLine:
    delta = line.deltas.get(line.metric)
    cell = cell_of(line.metric, delta) if delta else Cell("–")
    return ShownLine(
        line=line,
        mode=mode_label(line.result.mode),
        label=label_of(line.metric),
        value=cell.text,
        delta=cell.delta,
        tone="bad" if line.result.problem else cell.tone,
        word="failed" if line.result.problem else "changed" if line.is_other else line.change.value,
    )


def shown_question(question: SetQuestion, names: Names) -> ShownQuestion:
    return ShownQuestion(question, evidence.lines_of(question.evidence, names).splitlines())


def passages_of(*, workspace: Workspace, result: EvaluationResult) -> list[dict[str, Any]]:
    """Return the passages that were found, with their documents' titles."""
    ids = {one["document"] for one in result.passages}
    rows = Document.objects.in_workspace(workspace).filter(pk__in=ids)
    titles = {str(pk): title for pk, title in rows.values_list("pk", "title")}
    return [
        {**one, "number": number, "title": titles.get(one["document"], "a deleted document")}
        for number, one in enumerate(result.passages, start=1)
    ]


def claims_of(claims: Mapping[str, Any]) -> dict[str, list[ShownClaim]]:
    """Return both answers' claims with what supports them; empty if none were judged."""
    if not claims:
        return {}
    sources = {
        "expected": ("expected_in_response", "expected_in_passages"),
        "said": ("response_in_expected", "response_in_passages"),
    }
    return {
        name: [
            ShownClaim(text, in_answer=bool(other), in_passages=any(row))
            for text, other, row in zip(claims[name], claims[answer], claims[passages], strict=True)
        ]
        for name, (answer, passages) in sources.items()
    }
