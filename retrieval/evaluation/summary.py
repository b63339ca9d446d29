"""Summarise a run's results by mode, and label and explain the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from retrieval.evaluation import metrics, ragchecker

TIMES: Final = ("search_ms", "embed_ms", "answer_ms")
LESS_IS_BETTER: Final = frozenset(
    {"noise_relevant", "noise_irrelevant", "hallucination", "self_knowledge"}
)
LABELS: Final[Mapping[str, str]] = {
    "perfect": "Perfect",
    "recall": "Recall",
    "ndcg": "nDCG",
    "mrr": "MRR",
    "answered": "Answered",
    "failed": "Failed",
    "precision": "Precision",
    "f1": "F1",
    "claim_recall": "Claim recall",
    "context_precision": "Context precision",
    "context_utilisation": "Context utilisation",
    "noise_relevant": "Noise, relevant",
    "noise_irrelevant": "Noise, irrelevant",
    "hallucination": "Hallucination",
    "self_knowledge": "Self-knowledge",
    "faithfulness": "Faithfulness",
    "search_ms": "Search",
    "embed_ms": "Embedding",
    "answer_ms": "Answer",
}
EXPLAINED: Final[Mapping[str, str]] = {
    "perfect": "Questions with all of their evidence within the first k passages.",
    "recall": "Share of the evidence within the first k passages, or of the expected claims in the"
    " answer.",
    "ndcg": "Evidence found, weighted less the lower it ranks.",
    "mrr": "One over the rank of the first passage with evidence.",
    "answered": "Questions that received an answer.",
    "precision": "Claims of the answer that the expected answer supports.",
    "f1": "Precision and recall of claims combined.",
    "claim_recall": "Expected claims found in the passages.",
    "context_precision": "Passages that contain an expected claim.",
    "context_utilisation": "Expected claims in the passages that the answer makes.",
    "noise_relevant": "Wrong claims that come from relevant passages.",
    "noise_irrelevant": "Wrong claims that come from irrelevant passages.",
    "hallucination": "Wrong claims found in no passage.",
    "self_knowledge": "Right claims found in no passage.",
    "faithfulness": "Claims of the answer found in a passage.",
}

Figures = Mapping[str, float]


def summary_of(results: Iterable[tuple[str, Figures]]) -> dict[str, dict[str, float]]:
    """Return the mean of every metric by mode; of times, the 50th and 95th percentiles in ms.

    RAGChecker's metrics are means over the questions whose answer is known.

    >>> summary_of([("walk", {"mrr": 1.0}), ("walk", {"mrr": 0.5})])
    {'walk': {'questions': 2, 'mrr': 0.75}}
    """
    by_mode: dict[str, list[Figures]] = {}
    for mode, figures in results:
        by_mode.setdefault(mode, []).append(figures)
    return {mode: {"questions": len(rows), **_means(rows)} for mode, rows in by_mode.items()}


def _means(rows: Sequence[Figures]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if name in row]
        if name in TIMES:
            for label, share in (("p50", 0.5), ("p95", 0.95)):
                found[f"{name}_{label}"] = round(metrics.percentile(values, share), 2)
        else:
            found[name] = round(metrics.mean(values), 4)
    return found


def report_of(summary: Mapping[str, Figures]) -> dict[str, dict[str, Any]]:
    """Convert a summary to the shape of ``manage.py evaluate --json``.

    >>> report_of({"walk": {"questions": 1, "perfect@8": 1.0, "mrr": 0.5, "search_ms_p50": 3.0}})
    {'walk': {'perfect': {'8': 1.0}, 'mrr': 0.5, 'latency_ms': {'p50': 3.0}}}
    """
    return {mode: _report(figures) for mode, figures in summary.items()}


def _report(figures: Figures) -> dict[str, Any]:
    found: dict[str, Any] = {}
    judged = {name: figures[name] for name in ragchecker.METRICS if name in figures}
    for name, value in figures.items():
        base, _, k = name.partition("@")
        if k:
            found.setdefault(base, {})[k] = value
        elif "_ms_" in name:
            stem, _, share = name.rpartition("_")
            key = {"search_ms": "latency_ms"}.get(stem, stem)
            found.setdefault(key, {})[share] = value
        elif name in ("mrr", "answered", "failed"):
            found[name] = value
    return found | ({"ragchecker": judged} if judged else {})


def label_of(name: str) -> str:
    """
    >>> label_of("perfect@8"), label_of("search_ms_p95"), label_of("recall")
    ('Perfect@8', 'Search p95, ms', 'Claims recalled')
    """
    if name == "recall":
        return "Claims recalled"
    base, _, k = name.partition("@")
    if "_ms_" in name:
        stem, _, share = name.rpartition("_")
        return f"{LABELS[stem]} {share}, ms"
    return f"{LABELS.get(base, base)}@{k}" if k else LABELS.get(base, base)


def place_of(name: str) -> tuple[int, int]:
    """Return a metric's sort key: rankings, answers, then times; JSON in the database keeps no
    order.

    >>> sorted(["embed_ms", "f1", "mrr", "recall@20", "recall@5", "perfect@5"], key=place_of)
    ['perfect@5', 'recall@5', 'recall@20', 'mrr', 'f1', 'embed_ms']
    """
    base, _, k = name.partition("@")
    if k or name in ("mrr", "answered", "failed"):
        order = ("perfect", "recall", "ndcg", "mrr", "answered", "failed")
        return order.index(base), int(k or 0)
    if name in ragchecker.METRICS:
        return len(LABELS), ragchecker.METRICS.index(name)
    stem = next((time for time in TIMES if name.startswith(time)), "")
    return 2 * len(LABELS), TIMES.index(stem) * 2 + name.endswith("p95") if stem else 0


def is_better_when_less(name: str) -> bool:
    return name in LESS_IS_BETTER or "_ms" in name
