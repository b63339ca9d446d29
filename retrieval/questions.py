"""Reads of what was asked and answered before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings

from ingestion import selectors
from ingestion.models import Chunk, Collection
from kb_project.errors import NotFoundError
from retrieval import starting
from retrieval.models import Answer, Citation, Question
from workspaces.models import User, Workspace

MOST_STARTERS: Final = 3
DEMO_QUESTIONS: Final = Path("ingestion") / "demo" / "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with one of its answers and what that rests on."""

    question: Question
    answer: Answer
    citations: tuple[Citation, ...]
    nearest: tuple[selectors.SourceSpan, ...]


def asked(*, workspace: Workspace, question_id: UUID, answer_id: UUID | None = None) -> Asked:
    """The question with its newest answer, or with that of its answers. Raises NotFoundError."""
    question = Question.objects.in_workspace(workspace).filter(pk=question_id).first()
    answers = Answer.objects.in_workspace(workspace).filter(question_id=question_id)
    if answer_id is not None:
        answers = answers.filter(pk=answer_id)
    answer = answers.order_by("-created_at").first()
    if question is None or answer is None:
        raise NotFoundError("There is no such question in this workspace.")
    citations = (
        Citation.objects.in_workspace(workspace)
        .filter(answer=answer)
        .select_related("document")
        .order_by("number")
    )
    nearest = selectors.spans_of(workspace, answer.nearest)
    return Asked(question, answer, tuple(citations), tuple(nearest))


def asked_by(*, workspace: Workspace, user: User, most: int) -> list[Question]:
    """The person's own questions, newest first, those asked again only once."""
    questions = (
        Question.objects.in_workspace(workspace).filter(asked_by=user).order_by("-created_at")
    )
    newest: dict[str, Question] = {}
    for question in questions[: most * 3]:
        newest.setdefault(question.text, question)
    return list(newest.values())[:most]


def collections_of(*, workspace: Workspace) -> list[Collection]:
    return list(Collection.objects.in_workspace(workspace).order_by("name"))


def chunks_by_id(*, workspace: Workspace, ids: list[UUID]) -> dict[UUID, Chunk]:
    rows = (
        Chunk.objects.in_workspace(workspace)
        .filter(pk__in=ids)
        .select_related("version__document")
        .defer("version__text")
    )
    return {row.pk: row for row in rows}


def starters(*, workspace: Workspace) -> list[str] | None:
    """Questions to begin with: written ones for the demo, elsewhere made of what the documents
    state. None where that is still to be found out, which ``found_starters`` does."""
    if workspace.is_demo:
        return demo_starters()[:MOST_STARTERS]
    return starting.remembered(workspace=workspace)


def found_starters(*, workspace: Workspace) -> list[str]:
    """The same, found out. Call outside transactions."""
    if workspace.is_demo:
        return demo_starters()[:MOST_STARTERS]
    return starting.starters(workspace=workspace, most=MOST_STARTERS)


@cache
def demo_starters() -> list[str]:
    """The questions marked as starters in the demo's own list."""
    path = Path(settings.BASE_DIR) / DEMO_QUESTIONS
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [str(row["question"]) for row in rows if row.get("starter")]
