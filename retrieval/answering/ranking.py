"""Ranking: which statement answers best, and how probable it is that any does.

Both are linear in features and fitted by ``benchmarks/fit_answers.py``: statements by the softmax
of one score over all candidates of a question (a conditional logit), the probability by a logistic
regression on what the best of them and the question itself look like. ``weights.json`` has the
weights, how they were made, and for which model of sentences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import regex
from numpy.typing import NDArray

from retrieval.answering import features
from retrieval.answering.candidates import Candidate
from retrieval.answering.features import SCALE, Matrix
from retrieval.answering.gathering import Gathered

FILE: Final = Path(__file__).with_name("weights.json")
BEST: Final = 40
"""Nearest sentences whose mean cosine tells how near any sentence is to such a question."""
_HAN: Final = regex.compile(r"\p{Han}")

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """``share`` is how much of the probability that any candidate answers falls to this one."""

    candidate: Candidate
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first, and the probability that the documents answer the question."""

    ranked: Sequence[Ranked]
    probability: float
    evidence: Mapping[str, float]


def rank(gathered: Gathered) -> Ranking:
    """No candidate gives no probability: 0."""
    if not gathered.statements:
        return Ranking((), 0.0, {})
    weights = weights_for(gathered.sought.text)
    scores = gathered.matrix @ column(weights["statement"])
    shares = softmax(scores)
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    ranked = [
        Ranked(gathered.statements[index], float(scores[index]), float(shares[index]))
        for index in order
    ]
    told = evidence(gathered.matrix, scores, of_question(gathered))
    name = "answered" if gathered.cosines.highest is not None else "answered_by_words"
    return Ranking(ranked, probability(told, weights[name]), told)


def of_question(gathered: Gathered) -> dict[str, float]:
    """What a question looks like beside its candidates.

    ``nearest`` is the cosine of the nearest sentence, ``apart`` how much nearer it is than the
    nearest ``BEST`` on average, both in twentieths; ``unknown`` the share of its terms, and
    ``unknown_names`` of the names among them, that no document holds.
    """
    wanted, rarity = gathered.sought, gathered.rarity
    best = [gathered.cosines.of[place] for place in gathered.cosines.best[:BEST]]
    return {
        "nearest": SCALE * best[0] if best else 0.0,
        "apart": SCALE * (best[0] - sum(best) / len(best)) if best else 0.0,
        "unknown": rarity.unknown(wanted.terms),
        "unknown_names": rarity.unknown(wanted.names) if wanted.names else 0.0,
        "terms": math.log(1 + len(wanted.terms)),
    }


def evidence(matrix: Matrix, scores: Numbers, question: Mapping[str, float]) -> dict[str, float]:
    """What tells whether a question is answered: of itself, of the best statement, and of how far
    it stands above the others."""
    order = np.argsort(-scores, kind="stable")
    best = dict(zip(features.NAMES, matrix[order[0]].tolist(), strict=True))
    top = matrix[order[:3]]
    covers, around = (features.NAMES.index(name) for name in ("covers", "covers_around"))
    shares = softmax(scores)
    return {
        **question,
        **{f"best_{name}": best[name] for name in BEST_FEATURES},
        "covered": float((top[:, covers] + top[:, around]).max()),
        "covers_most": float(matrix[:, covers].max()),
        "score": float(scores[order[0]]),
        "share": float(shares[order[0]]),
    }


BEST_FEATURES: Final = (
    "meaning",
    "words",
    "covers",
    "covers_around",
    "rank",
    "has_kind",
    "lacks_kind",
    "names",
    "names_around",
    "row",
    "entry",
)


def probability(told: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weight * told.get(name, 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def softmax(scores: Numbers) -> Numbers:
    powers: Numbers = np.exp(scores - scores.max())
    shares: Numbers = powers / powers.sum()
    return shares


def column(weights: Mapping[str, float]) -> Numbers:
    """In the order of the features; one without a weight counts for nothing."""
    return np.array([weights.get(name, 0.0) for name in features.NAMES], np.float64)


def weights_for(question: str) -> Mapping[str, Mapping[str, float]]:
    """Those of the question's script."""
    made = _weights()
    chosen: Mapping[str, Mapping[str, float]] = made["zh" if _HAN.search(question) else "any"]
    return chosen


def can_read(fingerprint: str) -> bool:
    """Whether the weights were fitted on cosines of this model: those of another lie elsewhere."""
    return bool(_weights()["sentences_by"] == fingerprint)


@cache
def _weights() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return read
