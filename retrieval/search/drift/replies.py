"""A model's replies at each step: an answer, what it rests on, and what to ask next."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field

from kb_project.text.words import words
from retrieval.search.global_search.replies import Score, Text, Texts, list_of, number_of, score_of

UNSAID: Final = 50.0
"""Score of a follow-up question that was given none."""
MOST_FOLLOW_UPS: Final = 10
LONGEST_QUESTION: Final = 300


def follow_ups_of(value: Any) -> list[Any]:
    """Return the questions as objects, converting those given as text."""
    given = [{"question": one} if isinstance(one, str) else one for one in list_of(value)]
    return [one for one in given if isinstance(one, dict | BaseModel)]


def _worth_of(value: Any) -> float:
    return UNSAID if number_of(value) is None else score_of(value)


class FollowUp(BaseModel):
    """A follow-up question; ``score`` says how much its answer would help."""

    question: Text = ""
    score: Annotated[float, BeforeValidator(_worth_of)] = UNSAID

    @property
    def key(self) -> str:
        """A key equal for questions with the same words; '' without any words."""
        return " ".join(word.folded for word in words(self.question[:LONGEST_QUESTION]))


class StepReply(BaseModel):
    """An intermediate answer."""

    answer: Text = ""
    score: Score = 0.0
    records: Texts = Field(default_factory=list)
    follow_ups: Annotated[list[FollowUp], BeforeValidator(follow_ups_of)] = Field(
        default_factory=list
    )
