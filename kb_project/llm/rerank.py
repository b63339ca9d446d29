"""Reranking: a second, slower pass over the passages found, each read together with the
question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol
from uuid import UUID

from kb_project.errors import ModelError


@dataclass(frozen=True, slots=True)
class Ranking:
    """``scores`` are in the order of the texts, higher is better; None for a text without one.

    Scores for different questions or by different models cannot be compared.
    """

    scores: tuple[float | None, ...]
    is_cached: bool = False

    def order(self) -> list[int]:
        """Return the texts' places, best first; those without a score last, in their old order.

        >>> Ranking((0.1, None, 0.9)).order()
        [2, 0, 1]
        """
        worst = -math.inf
        scores = [worst if score is None else score for score in self.scores]
        return sorted(range(len(scores)), key=lambda place: -scores[place])


class Reranker(Protocol):
    """Ranks texts by relevance to a question. Call outside transactions."""

    @property
    def name(self) -> str:
        """The model's name for display."""

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> Ranking:
        """Score how well each text answers the question; ``question_id`` is for the ledger.

        Raises ModelError if there is no ranking: an order is never made up.
        """


class BrokenReranker:
    """A reranker that cannot be set up: it raises its error only when used."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> NoReturn:
        raise self._error
