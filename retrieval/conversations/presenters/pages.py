"""Build the pages of retrieval: home, asking, and a question with its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from ingestion.documents import queries as document_queries
from ingestion.documents.reader.blocks import plain
from ingestion.knowledge import conflicts, topics, watches
from ingestion.models import CommunityReport
from kb_project.http.paging import MOST_COUNTED
from retrieval.answering import suggestions
from retrieval.answering.options import LABELS, ResponseType
from retrieval.conversations import queries as questions
from retrieval.conversations.forms import Wanted
from retrieval.conversations.presenters.answers import progress_of, shown_answer
from retrieval.conversations.presenters.ask_box import (
    AskBox,
    ask_box,
    ask_next,
    forms_for,
    label_of,
    mode_groups,
    own,
)
from retrieval.conversations.presenters.explain import explained
from retrieval.models import Answer, AnswerState, Question
from workspaces.models import User, Workspace

MOST_TURNS: Final = 60
OPEN_TURNS: Final = 2
"""Number of newest questions shown open; earlier ones are folded."""
CONVERSATIONS_SHOWN: Final = 40
QUESTIONS_SHOWN: Final = 5
TOPICS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Home:
    """The home page; ``attention`` are rows of documents that need attention; ``starters`` are None
    until they are found."""

    counts: document_queries.WorkspaceCounts
    conflicts: int
    box: AskBox
    starters: list[str] | None
    topics: list[CommunityReport]
    recent: list[Any]
    questions: list[Question]
    attention: list[Any] = field(default_factory=list)
    watched: list[watches.WatchedTopic] = field(default_factory=list)


def home(*, workspace: Workspace, user: User) -> Home:
    recent = document_queries.documents(workspace=workspace)[:6]
    stopped = document_queries.documents(workspace=workspace, state="attention")[:3]
    return Home(
        counts=document_queries.workspace_counts(workspace=workspace, most=MOST_COUNTED),
        conflicts=conflicts.open_count(workspace),
        box=ask_box(workspace=workspace),
        starters=suggestions.starters(workspace=workspace),
        topics=topics.best_rated(workspace=workspace, most=TOPICS_SHOWN),
        recent=list(recent),
        questions=questions.asked_by(workspace=workspace, user=user, most=QUESTIONS_SHOWN),
        attention=document_queries.document_rows(workspace=workspace, documents=list(stopped)),
        watched=watches.watched(workspace),
    )


def ask_page(*, workspace: Workspace, user: User, wanted: Wanted) -> dict[str, Any]:
    """Return the ask page's context: the box as submitted, and earlier conversations."""
    return {
        "ask": ask_box(
            workspace=workspace,
            question=wanted.text,
            mode=wanted.mode,
            filters=wanted.filters,
            conversation=own(workspace, user, wanted.conversation),
            options=wanted.wishes,
        ),
        "conversations": list(
            questions.conversations_of(workspace=workspace, user=user, most=CONVERSATIONS_SHOWN)
        ),
        "starters": suggestions.starters(workspace=workspace),
    }


def answer_part(
    *, workspace: Workspace, question_id: UUID, answer_id: UUID | None
) -> dict[str, Any]:
    """Return the context of the part of the page that changes while an answer is made."""
    asked = questions.asked(workspace=workspace, question_id=question_id, answer_id=answer_id)
    progress = progress_of(workspace=workspace, question=asked.question, answer=asked.answer)
    if not asked.answer.is_finished:
        # Read again after its events: the stream repeats what came later, never what came before.
        asked = questions.asked(
            workspace=workspace, question_id=question_id, answer_id=asked.answer.pk
        )
    question, answer = asked.question, asked.answer
    return {
        "question": question,
        "answer": shown_answer(workspace=workspace, asked=asked),
        "progress": progress,
        "explained": explained(workspace=workspace, answer=answer),
        "tries": tries_of(workspace=workspace, question=question, shown=answer),
        "groups": mode_groups(workspace),
        "forms": forms_for(workspace),
    }


def question_page(
    *, workspace: Workspace, user: User, question_id: UUID, answer_id: UUID | None
) -> dict[str, Any]:
    """Return a question page's context: its conversation, its answer, and the box below."""
    part = answer_part(workspace=workspace, question_id=question_id, answer_id=answer_id)
    question = part["question"]
    return part | {
        "thread": thread_of(workspace=workspace, question=question),
        "ask": ask_next(workspace=workspace, user=user, question=question),
    }


# --- a question's conversation and its answers ---------------------------------------
@dataclass(frozen=True, slots=True)
class ThreadSentence:
    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ThreadItem:
    """An earlier question, with its answer in short.

    ``state`` and ``outcome`` are its answer's; ``outcome`` is '' if nothing was written.
    """

    question: Question
    state: str
    outcome: str
    sentences: tuple[ThreadSentence, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """A question's neighbours in its conversation; ``newest`` is None if it is the newest
    itself."""

    folded: tuple[ThreadItem, ...] = ()
    open: tuple[ThreadItem, ...] = ()
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


def conversation_of(
    *, workspace: Workspace, question: Question
) -> list[tuple[Question, Answer | None]]:
    """Return the newest questions of the question's conversation, oldest first, with an answer
    each."""
    conversation = question.conversation_id
    same = {"conversation_id": conversation} if conversation else {"pk": question.pk}
    asked = Question.objects.in_workspace(workspace).filter(**same)
    questions = list(asked.order_by("-created_at")[:MOST_TURNS])[::-1]
    answers = _best_answers(workspace, [one.pk for one in questions])
    return [(one, answers.get(one.pk)) for one in questions]


def _best_answers(workspace: Workspace, ids: Sequence[UUID]) -> dict[UUID, Answer]:
    """Return each question's newest finished answer, else its newest."""
    found: dict[UUID, Answer] = {}
    rows = Answer.objects.in_workspace(workspace).filter(question_id__in=ids)
    for answer in rows.order_by("created_at"):
        known = found.get(answer.question_id)
        if known is None or answer.state == AnswerState.DONE or known.state != AnswerState.DONE:
            found[answer.question_id] = answer
    return found


def _turn(question: Question, answer: Answer | None) -> ThreadItem:
    return ThreadItem(
        question=question,
        state=answer.state if answer else "",
        outcome=(answer.written_outcome or "") if answer else "",
        sentences=tuple(_short(one) for one in answer.sentences) if answer else (),
    )


def _short(sentence: Mapping[str, Any]) -> ThreadSentence:
    return ThreadSentence(plain(str(sentence["text"])), tuple(sentence.get("citations", ())))


def tries_of(*, workspace: Workspace, question: Question, shown: Answer) -> tuple[Try, ...]:
    """Return all answers to a question, oldest first."""
    rows = Answer.objects.in_workspace(workspace).filter(question_id=question.pk)
    return tuple(
        Try(row, number, _try_label(row, question), row.pk == shown.pk)
        for number, row in enumerate(rows.order_by("created_at"), start=1)
    )


def _try_label(answer: Answer, question: Question) -> str:
    """Name the mode, and the form if one was chosen."""
    mode, response = label_of(answer.mode or question.mode), answer.options.get("response")
    is_chosen = response in set(ResponseType)
    return f"{mode} · {LABELS[ResponseType(response)][0]}" if is_chosen else mode
