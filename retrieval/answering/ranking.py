"""Rank statements by how well they answer, and estimate how probable it is that any does.

Both are linear in features and fitted by ``benchmarks/fit_answers.py``: statements by the softmax
of one score over all candidates of a question (a conditional logit), the probability by a logistic
regression on features of the best statements and the question. ``weights.json`` has the weights,
how they were made, and for which sentence model.
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
from numpy.typing import NDArray

from kb_project.text.scripts import HAN
from retrieval.answering import features
from retrieval.answering.candidates import Candidate
from retrieval.answering.features import SCALE, Matrix
from retrieval.answering.gathering import Gathered

FILE: Final = Path(__file__).with_name("weights.json")
FEW: Final = 20
"""With fewer statements than this, one always stands out, whatever is asked: assume the usual …"""
USUAL_ENTROPY: Final = 1.7
USUAL_GAP: Final = 2.3
"""… the means over answered and unanswered questions."""
TINY: Final = 1e-12

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """``share`` is this candidate's part of the probability that any candidate answers."""

    candidate: Candidate
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first, and the probability that the documents answer the question."""

    ranked: Sequence[Ranked]
    probability: float


def rank(gathered: Gathered) -> Ranking:
    """Rank the candidates; with none, the probability is 0."""
    if not gathered.statements:
        return Ranking((), 0.0)
    weights: Mapping[str, Mapping[str, float]]
    weights = _weights()["zh" if HAN.search(gathered.sought.text) else "any"]
    scores = gathered.matrix @ column(weights["statement"])
    shares = softmax(scores)
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    ranked = [
        Ranked(gathered.statements[index], float(scores[index]), float(shares[index]))
        for index in order
    ]
    told = evidence(gathered.matrix, scores, of_question(gathered))
    name = "answered" if gathered.cosines.highest is not None else "answered_by_words"
    return Ranking(ranked, probability(told, weights[name]))


def of_question(gathered: Gathered) -> dict[str, float]:
    """Return the features of a question relative to its candidates.

    ``nearest`` is the cosine of the nearest sentence, in twentieths; ``unknown`` the share of the
    question's terms, by rarity, that no document contains.
    """
    highest = gathered.cosines.highest
    return {
        "nearest": 0.0 if highest is None else SCALE * highest,
        "unknown": gathered.rarity.unknown(gathered.sought.terms),
    }


def evidence(matrix: Matrix, scores: Numbers, question: Mapping[str, float]) -> dict[str, float]:
    """Return the signs that a question is answered: how near it is to any sentence, whether its
    words are known, whether one statement stands out, and the share of its names in that one."""
    order = np.argsort(-scores, kind="stable")
    shares = softmax(scores)
    are_few = len(order) < FEW
    entropy = USUAL_ENTROPY if are_few else float(-(shares * np.log(shares + TINY)).sum())
    gap = USUAL_GAP if are_few else float(scores[order[0]] - scores[order[1]])
    return {
        **question,
        "entropy": entropy,
        "gap": gap,
        "names": float(matrix[order[0], features.NAMES.index("names")]),
    }


def probability(told: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weight * told.get(name, 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def softmax(scores: Numbers) -> Numbers:
    powers: Numbers = np.exp(scores - scores.max())
    shares: Numbers = powers / powers.sum()
    return shares


def column(weights: Mapping[str, float]) -> Numbers:
    """Return the weights in the order of the features, 0 for a feature without one."""
    return np.array([weights.get(name, 0.0) for name in features.NAMES], np.float64)


def can_read(fingerprint: str) -> bool:
    """Return whether the weights were fitted to this model's cosines: other models' scales
    differ."""
    return bool(_weights()["sentences_by"] == fingerprint)


@cache
def _weights() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return read
