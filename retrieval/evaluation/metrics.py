"""Measure how well a ranking covers its evidence. Pure: ranks in, numbers out.

A ranking is given by what each passage newly covers: ``covered[i]`` are the indices of the evidence
that the passage at rank ``i + 1`` is the first to cover. Evidence that names a document is covered
by any of its passages, evidence that names a chunk by that chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

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
