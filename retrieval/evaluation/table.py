"""Format an evaluation's report as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield a heading and one line for each mode."""
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
