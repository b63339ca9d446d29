"""Questions people asked, their answers, and evaluations."""

from __future__ import annotations

from retrieval.models.evaluation import (
    EvaluationResult,
    EvaluationRun,
    QuestionSet,
    RunKind,
    RunProgress,
    SetQuestion,
)
from retrieval.models.questions import (
    NEXT_STEP,
    NOT_SEARCHED,
    Answer,
    AnswerEvent,
    AnswerState,
    Citation,
    Conversation,
    Outcome,
    Question,
)

__all__ = [
    "NEXT_STEP",
    "NOT_SEARCHED",
    "Answer",
    "AnswerEvent",
    "AnswerState",
    "Citation",
    "Conversation",
    "EvaluationResult",
    "EvaluationRun",
    "Outcome",
    "Question",
    "QuestionSet",
    "RunKind",
    "RunProgress",
    "SetQuestion",
]
