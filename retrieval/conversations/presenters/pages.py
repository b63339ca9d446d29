"""Build the pages of retrieval: home, asking, and a question with its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from ingestion.documents import queries as document_queries
from ingestion.knowledge import topics
from retrieval.conversations import queries as questions
from retrieval.conversations.forms import Wanted
from retrieval.conversations.presenters.answers import shown_answer
from retrieval.conversations.presenters.boxes import AskBox, ask_box, ask_next, own
from retrieval.conversations.presenters.conversations import conversations_of, thread_of, tries_of
from retrieval.conversations.presenters.explain import explained
from retrieval.conversations.presenters.modes import mode_groups
from retrieval.conversations.presenters.progress import progress_of
from retrieval.models import Question
from workspaces.models import User, Workspace

CONVERSATIONS_SHOWN: Final = 40
QUESTIONS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Home:
    """The home page; ``attention`` are rows of documents that need attention; ``starters`` are None
    until they are found."""

    counts: document_queries.WorkspaceCounts
    box: AskBox
    starters: list[str] | None
    topics: list[topics.TopicNode]
    recent: list[Any]
    questions: list[Question]
    attention: list[Any] = field(default_factory=list)


def home(*, workspace: Workspace, user: User) -> Home:
    recent = document_queries.documents(workspace=workspace)[:6]
    stopped = document_queries.documents(workspace=workspace, state="attention")[:3]
    tree = topics.topic_tree(workspace=workspace)
    written = [node for node in tree if node.report and not node.is_rest]
    return Home(
        counts=document_queries.workspace_counts(workspace=workspace),
        box=ask_box(workspace=workspace),
        starters=questions.starters(workspace=workspace),
        topics=sorted(written, key=lambda node: -node.report.rating if node.report else 0)[:4],
        recent=list(recent),
        questions=questions.asked_by(workspace=workspace, user=user, most=QUESTIONS_SHOWN),
        attention=document_queries.document_rows(workspace=workspace, documents=list(stopped)),
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
        ),
        "conversations": list(
            conversations_of(workspace=workspace, user=user, most=CONVERSATIONS_SHOWN)
        ),
        "starters": questions.starters(workspace=workspace),
    }


def answer_part(
    *, workspace: Workspace, question_id: UUID, answer_id: UUID | None
) -> dict[str, Any]:
    """Return the context of the part of the page that changes while an answer is made."""
    asked = questions.asked(workspace=workspace, question_id=question_id, answer_id=answer_id)
    question, answer = asked.question, asked.answer
    return {
        "question": question,
        "answer": shown_answer(workspace=workspace, asked=asked),
        "progress": progress_of(workspace=workspace, question=question, answer=answer),
        "explained": explained(workspace=workspace, answer=answer),
        "tries": tries_of(workspace=workspace, question=question, shown=answer),
        "groups": mode_groups(),
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
