"""RAGChecker's metrics, computed from entailments. Pure: booleans in, numbers out.

After Ru et al., "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented
Generation" (2024). The expected answer is split into claims G, the response into claims R; a claim
is *correct* when the other answer entails it, *faithful* when a passage does. A passage is
*relevant* when it entails any claim of the expected answer.

A share of nothing (no claims, no passages) is 0.0, as in the paper's own code.
For every response with at least one claim:

- hallucination + both noise sensitivities = 1 - precision
- faithfulness + hallucination + self-knowledge = 1

For a response without claims all of these are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
    precision, recall = share(found.response_in_expected), share(found.expected_in_response)
    retrieved = [any(row) for row in found.expected_in_passages]
    used = [
        said
        for said, there in zip(found.expected_in_response, retrieved, strict=True)
        if there  # only claims that were available in the passages
    ]
    return {
        "precision": precision,
        "recall": recall,
        "f1": harmonic(precision, recall),
        "claim_recall": share(retrieved),
        "context_precision": share(found.relevant),
        "context_utilisation": share(used),
        **_of_the_response(found),
    }


def _of_the_response(found: Entailments) -> dict[str, float]:
    relevant = found.relevant
    kinds = [
        _kind(is_correct=is_correct, row=row, relevant=relevant)
        for is_correct, row in zip(
            found.response_in_expected, found.response_in_passages, strict=True
        )
    ]
    names = ("noise_relevant", "noise_irrelevant", "hallucination", "self_knowledge")
    faithful = [any(row) for row in found.response_in_passages]
    return {
        **{name: share([kind == name for kind in kinds]) for name in names},
        "faithfulness": share(faithful),
    }


def _kind(*, is_correct: bool, row: Sequence[bool], relevant: Sequence[bool]) -> str:
    """Classify a claim of the response; '' if it is correct and from the passages."""
    if not any(row):
        return "self_knowledge" if is_correct else "hallucination"
    if is_correct:
        return ""
    is_from_relevant = any(there and good for there, good in zip(row, relevant, strict=True))
    return "noise_relevant" if is_from_relevant else "noise_irrelevant"


def share(flags: Sequence[bool]) -> float:
    """
    >>> share([True, False]), share([])
    (0.5, 0.0)
    """
    return sum(flags) / len(flags) if flags else 0.0


def harmonic(one: float, other: float) -> float:
    """
    >>> harmonic(1.0, 0.5), harmonic(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * one * other / (one + other) if one + other else 0.0
