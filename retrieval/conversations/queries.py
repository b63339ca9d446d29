"""Read earlier questions and answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from ingestion.knowledge import spans
from ingestion.models import Chunk, Collection, DocumentVersion
from kb_project.errors import NotFoundError
from retrieval.answering import starters as conversations_starters
from retrieval.models import Answer, Citation, Question
from workspaces import access
from workspaces.models import User, Workspace

MOST_STARTERS: Final = 3
DEMO_QUESTIONS: Final = Path("ingestion") / "demo" / "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with one of its answers, and that answer's sources."""

    question: Question
    answer: Answer
    citations: tuple[Citation, ...]
    nearest: tuple[spans.SourceSpan, ...]


def asked(*, workspace: Workspace, question_id: UUID, answer_id: UUID | None = None) -> Asked:
    """Return the question with its newest or the given answer. Raises NotFoundError."""
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
    nearest = spans.spans_of(workspace, answer.nearest)
    return Asked(question, answer, tuple(citations), tuple(nearest))


def asked_by(*, workspace: Workspace, user: User, most: int) -> list[Question]:
    """Return the person's own questions, newest first, repeated ones only once."""
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
    """Return starter questions: written ones for the demo, else made from the documents'
    statements. None if they are still to be found, which ``found_starters`` does."""
    if workspace.is_demo:
        return demo_starters()[:MOST_STARTERS]
    return conversations_starters.remembered(workspace=workspace)


def found_starters(*, workspace: Workspace) -> list[str]:
    """Find the starter questions. Call outside transactions."""
    if workspace.is_demo:
        return demo_starters()[:MOST_STARTERS]
    return conversations_starters.starters(workspace=workspace, most=MOST_STARTERS)


@cache
def demo_starters() -> list[str]:
    """Return the questions marked as starters in the demo's own list."""
    path = Path(settings.BASE_DIR) / DEMO_QUESTIONS
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [str(row["question"]) for row in rows if row.get("starter")]


def answer_of(*, workspace: Workspace, answer_id: UUID) -> Answer:
    """Return an answer. Raises NotFoundError."""
    answer = Answer.objects.in_workspace(workspace).filter(pk=answer_id).first()
    if answer is None:
        raise NotFoundError("There is no such answer in this workspace.")
    return answer


def answer_view(*, workspace: Workspace, answer: Answer) -> dict[str, Any]:
    """Return an answer in the shape of ``manage.py ask --json``, using only JSON values.

    Citations outlive their chunks: titles come from the documents, quotes from the citations.
    """
    with access.in_workspace(workspace.pk):
        citations = list(
            Citation.objects.in_workspace(workspace)
            .filter(answer=answer)
            .select_related("document")
            .order_by("number")
        )
        nearest = _nearest(workspace, answer)
    return {
        "mode": answer.question.mode,
        "question": answer.question.text,
        "answer": " ".join(sentence["text"] for sentence in answer.sentences),
        "outcome": answer.written_outcome,
        "message": answer.message,
        "probability": answer.trace.get("probability"),
        "supported": answer.is_supported,
        "sentences": answer.sentences,
        "citations": [_citation(citation) for citation in citations],
        "nearest": nearest,
        "written_by": answer.written_by,
        "trace": answer.trace,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "document": str(citation.document_id) if citation.document_id else None,
        "title": citation.title,
        "chunk": str(citation.chunk_id),
        "version": citation.version_number,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
    }


def _nearest(workspace: Workspace, answer: Answer) -> list[dict[str, Any]]:
    """Return the passages near an unanswered question, with their text, except from deleted
    documents."""
    versions = {
        (str(version.document_id), version.number): version
        for version in DocumentVersion.objects.in_workspace(workspace)
        .filter(document_id__in=[one["document"] for one in answer.nearest])
        .filter(number__in=[one.get("version", 1) for one in answer.nearest])
        .select_related("document")
    }
    return [
        one | {"title": version.document.title, "text": version.text[one["start"] : one["end"]]}
        for one in answer.nearest
        if (version := versions.get((one["document"], one.get("version", 1))))
    ]
