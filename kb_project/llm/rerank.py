"""Reranking: a second, slower look at the passages found, each read together with the question."""

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

    Scores of two questions, or of two models, cannot be compared.
    """

    scores: tuple[float | None, ...]
    is_cached: bool = False

    def order(self) -> list[int]:
        """Places of the texts, best first; those without a score last, as they stood.

        >>> Ranking((0.1, None, 0.9)).order()
        [2, 0, 1]
        """
        worst = -math.inf
        scores = [worst if score is None else score for score in self.scores]
        return sorted(range(len(scores)), key=lambda place: -scores[place])


class Reranker(Protocol):
    """Call outside transactions."""

    @property
    def name(self) -> str:
        """The model, as people know it."""

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> Ranking:
        """How well each text answers the question; ``question_id`` is for the ledger.

        Raises ModelError where there is no ranking to be had: an order is never made up.
        """


class BrokenReranker:
    """One that cannot even be set up: it says so when it is needed, and nothing else stops."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> NoReturn:
        raise self._error
