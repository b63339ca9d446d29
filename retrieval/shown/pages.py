"""What the pages of retrieval are made of: the front door, asking, and a question with answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from ingestion import selectors
from retrieval import questions
from retrieval.forms import Wanted
from retrieval.models import Question
from retrieval.shown.answers import shown_answer
from retrieval.shown.boxes import AskBox, ask_box, ask_next, own
from retrieval.shown.conversations import conversations_of, thread_of, tries_of
from retrieval.shown.explain import explained
from retrieval.shown.modes import mode_groups
from retrieval.shown.progress import progress_of
from workspaces.models import User, Workspace

CONVERSATIONS_SHOWN: Final = 40
QUESTIONS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Home:
    """``attention`` are the rows of documents that somebody should look at; ``starters`` are None
    where they are still to be found out."""

    counts: selectors.WorkspaceCounts
    box: AskBox
    starters: list[str] | None
    topics: list[selectors.TopicNode]
    recent: list[Any]
    questions: list[Question]
    attention: list[Any] = field(default_factory=list)


def home(*, workspace: Workspace, user: User) -> Home:
    recent = selectors.documents(workspace=workspace)[:6]
    stopped = selectors.documents(workspace=workspace, state="attention")[:3]
    tree = selectors.topic_tree(workspace=workspace)
    written = [node for node in tree if node.report and not node.is_rest]
    return Home(
        counts=selectors.workspace_counts(workspace=workspace),
        box=ask_box(workspace=workspace),
        starters=questions.starters(workspace=workspace),
        topics=sorted(written, key=lambda node: -node.report.rating if node.report else 0)[:4],
        recent=list(recent),
        questions=questions.asked_by(workspace=workspace, user=user, most=QUESTIONS_SHOWN),
        attention=selectors.document_rows(workspace=workspace, documents=list(stopped)),
    )


def ask_page(*, workspace: Workspace, user: User, wanted: Wanted) -> dict[str, Any]:
    """The context of the page one asks on: the box as it was sent, and what was asked before."""
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
    """The context of the part of the page that changes while an answer is made."""
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
    """The context of a question's page: its conversation, its answer, and the box below."""
    part = answer_part(workspace=workspace, question_id=question_id, answer_id=answer_id)
    question = part["question"]
    return part | {
        "thread": thread_of(workspace=workspace, question=question),
        "ask": ask_next(workspace=workspace, user=user, question=question),
    }
