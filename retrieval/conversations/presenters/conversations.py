"""Present conversations: the questions before and after one, and the list of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery

from ingestion.documents.reader.inline import plain
from retrieval.conversations.presenters.modes import label_of
from retrieval.models import Answer, AnswerState, Conversation, Question
from workspaces.models import User, Workspace

MOST_TURNS: Final = 60
OPEN_TURNS: Final = 2
"""Number of newest questions shown open; earlier ones are folded."""


@dataclass(frozen=True, slots=True)
class TurnSentence:
    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question, with its answer in short.

    ``state`` and ``outcome`` are its answer's; ``outcome`` is '' if nothing was written.
    """

    question: Question
    state: str
    outcome: str
    sentences: tuple[TurnSentence, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """A question's neighbours in its conversation; ``newest`` is None if it is the newest
    itself."""

    folded: tuple[Turn, ...] = ()
    open: tuple[Turn, ...] = ()
    newest: Question | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """One of the answers to a question; ``number`` counts from the first."""

    answer: Answer
    number: int
    label: str
    is_shown: bool


def thread_of(*, workspace: Workspace, question: Question) -> Thread:
    if question.conversation_id is None:
        return Thread()
    asked = Question.objects.in_workspace(workspace).filter(
        conversation_id=question.conversation_id
    )
    before = list(
        asked.filter(created_at__lt=question.created_at).order_by("-created_at")[:MOST_TURNS]
    )[::-1]
    answers = _best_answers(workspace, [one.pk for one in before])
    turns = tuple(_turn(one, answers.get(one.pk)) for one in before)
    newest = asked.order_by("-created_at").first()
    return Thread(
        folded=turns[:-OPEN_TURNS],
        open=turns[-OPEN_TURNS:],
        newest=None if newest is None or newest.pk == question.pk else newest,
    )


def _best_answers(workspace: Workspace, ids: Sequence[UUID]) -> dict[UUID, Answer]:
    """Return each question's newest finished answer, else its newest."""
    found: dict[UUID, Answer] = {}
    rows = Answer.objects.in_workspace(workspace).filter(question_id__in=ids)
    for answer in rows.order_by("created_at"):
        known = found.get(answer.question_id)
        if known is None or answer.state == AnswerState.DONE or known.state != AnswerState.DONE:
            found[answer.question_id] = answer
    return found


def _turn(question: Question, answer: Answer | None) -> Turn:
    return Turn(
        question=question,
        state=answer.state if answer else "",
        outcome=(answer.written_outcome or "") if answer else "",
        sentences=tuple(_short(one) for one in answer.sentences) if answer else (),
    )


def _short(sentence: Mapping[str, Any]) -> TurnSentence:
    return TurnSentence(plain(str(sentence["text"])), tuple(sentence.get("citations", ())))


def tries_of(*, workspace: Workspace, question: Question, shown: Answer) -> tuple[Try, ...]:
    """Return all answers to a question, oldest first."""
    rows = Answer.objects.in_workspace(workspace).filter(question_id=question.pk)
    return tuple(
        Try(row, number, label_of(row.mode or question.mode), row.pk == shown.pk)
        for number, row in enumerate(rows.order_by("created_at"), start=1)
    )


def conversations_of(*, workspace: Workspace, user: User, most: int) -> QuerySet[Conversation]:
    """Return a person's conversations, most recently continued first, with ``newest`` and
    ``asked``.

    ``newest`` is the id of its newest question, ``asked`` the number of its questions.
    """
    questions = Question.objects.in_workspace(workspace).filter(conversation_id=OuterRef("pk"))
    newest = questions.order_by("-created_at").values("pk")[:1]
    asked = questions.order_by().values("conversation_id").annotate(n=Count("id")).values("n")
    return (
        Conversation.objects.in_workspace(workspace)
        .filter(asked_by=user)
        .annotate(newest=Subquery(newest), asked=Subquery(asked))
        .filter(asked__gt=0)
        .order_by("-updated_at")[:most]
    )
