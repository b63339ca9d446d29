"""The metrics: of rankings and of answers, summarised by mode, labelled and explained. Pure.

A ranking is given by what each passage newly covers: ``covered[i]`` are the indices of the evidence
that the passage at rank ``i + 1`` is the first to cover. Evidence that names a document is covered
by any of its passages, evidence that names a chunk by that chunk.

An answer's metrics are RAGChecker's (Ru et al., "RAGChecker: A Fine-grained Framework for
Diagnosing Retrieval-Augmented Generation", 2024). The expected answer is split into claims G, the
response into claims R; a claim is *correct* when the other answer entails it, *faithful* when a
passage does. A passage is *relevant* when it entails any claim of the expected answer. A share of
nothing (no claims, no passages) is 0.0, as in the paper's own code. For every response with at
least one claim:

- hallucination + both noise sensitivities = 1 - precision
- faithfulness + hallucination + self-knowledge = 1

For a response without claims all of these are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

Covered = Sequence[frozenset[int]]
PieceT = TypeVar("PieceT")
PassageT = TypeVar("PassageT")


def cover(
    pieces: Sequence[PieceT],
    passages: Iterable[PassageT],
    is_in: Callable[[PieceT, PassageT], bool],
) -> list[frozenset[int]]:
    """Return for each passage which pieces of evidence it is the first to cover."""
    seen: set[int] = set()
    covered = []
    for passage in passages:
        new = {n for n, piece in enumerate(pieces) if n not in seen and is_in(piece, passage)}
        seen |= new
        covered.append(frozenset(new))
    return covered


def recall(covered: Covered, evidence: int, k: int) -> float:
    """Return the share of the evidence covered within the first ``k``.

    >>> recall([frozenset({0}), frozenset(), frozenset({1})], 2, 2)
    0.5
    """
    return len(frozenset().union(*covered[:k])) / evidence


def perfect(covered: Covered, evidence: int, k: int) -> float:
    """Return 1.0 if all the evidence is within the first ``k``, else 0.0."""
    return float(recall(covered, evidence, k) == 1.0)


def ndcg(covered: Covered, evidence: int, k: int) -> float:
    """Return the normalised discounted cumulative gain; a passage gains 1 if it covers anything
    new.

    >>> ndcg([frozenset({0}), frozenset({1})], 2, 5)
    1.0
    """
    gains = (1 / math.log2(rank + 1) for rank, new in enumerate(covered[:k], 1) if new)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(evidence, k) + 1))
    return min(1.0, sum(gains) / ideal)


def reciprocal_rank(covered: Covered) -> float:
    """Return one over the rank of the first passage that covers anything, or 0.0."""
    return next((1 / rank for rank, new in enumerate(covered, 1) if new), 0.0)


MEASURES: Final[dict[str, Callable[[Covered, int, int], float]]] = {
    "perfect": perfect,
    "recall": recall,
    "ndcg": ndcg,
}
"""The measures that depend on how many passages count."""


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0.0 of nothing; of booleans, the share that is true."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile, which is always one of the values.

    >>> percentile([5.0, 1.0, 3.0], 0.5), percentile([5.0, 1.0, 3.0], 0.95)
    (3.0, 5.0)
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


# --- of answers -----------------------------------------------------------------------------------
METRICS: Final = (
    "precision",
    "recall",
    "f1",
    "claim_recall",
    "context_precision",
    "context_utilisation",
    "noise_relevant",
    "noise_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
)
WORSE_WHEN_HIGHER: Final = ("noise_relevant", "noise_irrelevant", "hallucination", "self_knowledge")


@dataclass(frozen=True, slots=True)
class Entailments:
    """``expected`` and ``response`` have a row for each claim.

    ``expected_in_response[g]``: the response entails claim g of the expected answer;
    ``response_in_expected[r]``: the expected answer entails claim r of the response;
    ``expected_in_passages[g][p]`` and ``response_in_passages[r][p]``: passage p entails the claim.
    """

    passages: int
    expected_in_response: Sequence[bool]
    response_in_expected: Sequence[bool]
    expected_in_passages: Sequence[Sequence[bool]]
    response_in_passages: Sequence[Sequence[bool]]

    @property
    def relevant(self) -> tuple[bool, ...]:
        """For each passage, whether it entails any claim of the expected answer."""
        return tuple(any(row[p] for row in self.expected_in_passages) for p in range(self.passages))


def measure(found: Entailments) -> dict[str, float]:
    """Compute every metric of ``METRICS``, from 0 to 1."""
    precision, recall = mean(found.response_in_expected), mean(found.expected_in_response)
    retrieved = [any(row) for row in found.expected_in_passages]
    available = zip(found.expected_in_response, retrieved, strict=True)
    relevant = found.relevant
    claims = zip(found.response_in_expected, found.response_in_passages, strict=True)
    kinds = [_kind(row, relevant, is_correct=is_correct) for is_correct, row in claims]
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "claim_recall": mean(retrieved),
        "context_precision": mean(relevant),
        "context_utilisation": mean([said for said, is_available in available if is_available]),
        **{name: mean([kind == name for kind in kinds]) for name in WORSE_WHEN_HIGHER},
        "faithfulness": mean([any(row) for row in found.response_in_passages]),
    }


def _kind(row: Sequence[bool], relevant: Sequence[bool], *, is_correct: bool) -> str:
    """Classify a claim of the response by the passages that entail it; '' if it is correct and from
    the passages."""
    if not any(row):
        return "self_knowledge" if is_correct else "hallucination"
    if is_correct:
        return ""
    is_from_relevant = any(there and good for there, good in zip(row, relevant, strict=True))
    return "noise_relevant" if is_from_relevant else "noise_irrelevant"


# --- summaries ------------------------------------------------------------------------------------
TIMES: Final = ("search_ms", "embed_ms", "answer_ms")
DESCRIBED: Final[Mapping[str, tuple[str, str]]] = {
    "perfect": (
        "Perfect",
        "Questions with all of their evidence within the first k passages.",
    ),
    "recall": (
        "Recall",
        "Share of the evidence within the first k passages, or of the expected claims in the"
        " answer.",
    ),
    "ndcg": ("nDCG", "Evidence found, weighted less the lower it ranks."),
    "mrr": ("MRR", "One over the rank of the first passage with evidence."),
    "answered": ("Answered", "Questions that received an answer."),
    "failed": ("Failed", ""),
    "precision": ("Precision", "Claims of the answer that the expected answer supports."),
    "f1": ("F1", "Precision and recall of claims combined."),
    "claim_recall": ("Claim recall", "Expected claims found in the passages."),
    "context_precision": ("Context precision", "Passages that contain an expected claim."),
    "context_utilisation": (
        "Context utilisation",
        "Expected claims in the passages that the answer makes.",
    ),
    "noise_relevant": ("Noise, relevant", "Wrong claims that come from relevant passages."),
    "noise_irrelevant": ("Noise, irrelevant", "Wrong claims that come from irrelevant passages."),
    "hallucination": ("Hallucination", "Wrong claims found in no passage."),
    "self_knowledge": ("Self-knowledge", "Right claims found in no passage."),
    "faithfulness": ("Faithfulness", "Claims of the answer found in a passage."),
    "search_ms": ("Search", ""),
    "embed_ms": ("Embedding", ""),
    "answer_ms": ("Answer", ""),
}
"""Each metric's label, and what it says."""

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
                found[f"{name}_{label}"] = round(percentile(values, share), 2)
        else:
            found[name] = round(mean(values), 4)
    return found


def report_of(summary: Mapping[str, Figures]) -> dict[str, dict[str, Any]]:
    """Convert a summary to the shape of ``manage.py evaluate --json``.

    >>> report_of({"walk": {"questions": 1, "perfect@8": 1.0, "mrr": 0.5, "search_ms_p50": 3.0}})
    {'walk': {'perfect': {'8': 1.0}, 'mrr': 0.5, 'latency_ms': {'p50': 3.0}}}
    """
    return {mode: _report(figures) for mode, figures in summary.items()}


def _report(figures: Figures) -> dict[str, Any]:
    found: dict[str, Any] = {}
    judged = {name: figures[name] for name in METRICS if name in figures}
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
        return f"{DESCRIBED[stem][0]} {share}, ms"
    label = DESCRIBED[base][0] if base in DESCRIBED else base
    return f"{label}@{k}" if k else label


def explanation_of(name: str) -> str:
    return DESCRIBED.get(name.partition("@")[0], ("", ""))[1]


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
    if name in METRICS:
        return len(DESCRIBED), METRICS.index(name)
    stem = next((time for time in TIMES if name.startswith(time)), "")
    return 2 * len(DESCRIBED), TIMES.index(stem) * 2 + name.endswith("p95") if stem else 0


def is_better_when_less(name: str) -> bool:
    return name in WORSE_WHEN_HIGHER or "_ms" in name
