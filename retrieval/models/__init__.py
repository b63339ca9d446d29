"""What people asked, what they got, and how well that was."""

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
    Answer,
    AnswerEvent,
    AnswerState,
    Citation,
    Conversation,
    Outcome,
    Question,
)

__all__ = [
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
