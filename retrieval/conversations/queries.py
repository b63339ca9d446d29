"""Read earlier questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from ingestion.knowledge import spans
from ingestion.models import (
    Chunk,
    Collection,
    Community,
    DocumentVersion,
    Entity,
    Mention,
)
from ingestion.models.knowledge import TERMS
from kb_project.errors import NotFoundError, found
from retrieval.models import Answer, Citation, Conversation, Question
from workspaces import access
from workspaces.models import User, Workspace

MOST_ENTITIES: Final = 24
"""Entities that an answer is about."""


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
    nearest = spans.spans_of(workspace, answer.nearest)
    return Asked(question, answer, tuple(_citations(answer)), tuple(nearest))


def asked_by(*, workspace: Workspace, user: User, most: int) -> list[Question]:
    """Return the person's own questions, newest first, repeated ones only once."""
    questions = (
        Question.objects.in_workspace(workspace).filter(asked_by=user).order_by("-created_at")
    )
    newest: dict[str, Question] = {}
    for question in questions[: most * 3]:
        newest.setdefault(question.text, question)
    return list(newest.values())[:most]


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


def newest_options(*, question: Question) -> dict[str, Any]:
    """Return how the newest answer to a question was wanted."""
    before = Answer.objects.in_workspace(question.workspace_id).filter(question=question)
    return before.order_by("-created_at").values_list("options", flat=True).first() or {}


def topic_levels(*, workspace: Workspace) -> list[tuple[int, int]]:
    """Return the levels of topics, 0 first, with the number of topics of each."""
    topics = Community.objects.in_workspace(workspace).order_by("level")
    return list(topics.values_list("level").annotate(number=Count("*")))


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


def entities_cited(*, workspace: Workspace, citations: Sequence[Citation]) -> list[UUID]:
    """Return the entities that the cited passages name, the most telling first.

    Names in the cited sentences count, or else those in the passages around them. Terms are left
    out.
    """
    inside, around = Q(pk__in=[]), Q(chunk__in=[row.chunk_id for row in citations])
    for row in citations:
        inside |= Q(chunk=row.chunk_id, start__lt=row.end, end__gt=row.start)
    mentions = Mention.objects.in_workspace(workspace)
    for named in (inside, around):
        entities = Entity.objects.in_workspace(workspace).exclude(TERMS)
        entities = entities.filter(pk__in=mentions.filter(named).values("entity_id"))
        ids = entities.order_by("-rank", "pk").values_list("pk", flat=True)[:MOST_ENTITIES]
        if found := list(ids):
            return found
    return []


def answer_of(*, workspace: Workspace, answer_id: UUID) -> Answer:
    """Return an answer with its question. Raises NotFoundError."""
    answers = Answer.objects.in_workspace(workspace).select_related("question")
    return found(answers.filter(pk=answer_id).first(), "answer")


def answer_view(*, workspace: Workspace, answer: Answer) -> dict[str, Any]:
    """Return an answer in the shape of ``manage.py ask --json``, using only JSON values.

    Citations outlive their chunks: titles come from the documents, quotes from the citations.
    """
    with access.in_workspace(workspace.pk):
        citations = list(_citations(answer))
        nearest = _nearest(workspace, answer)
    return {
        "mode": answer.question.mode,
        "question": answer.question.text,
        "answer": answer.text,
        "outcome": answer.written_outcome,
        "message": answer.message,
        "probability": answer.trace.get("probability"),
        "supported": answer.is_supported,
        "sentences": answer.sentences,
        "citations": [
            {
                "number": one.number,
                "document": str(one.document_id) if one.document_id else None,
                "title": one.title,
                "chunk": str(one.chunk_id),
                "version": one.version_number,
                "start": one.start,
                "end": one.end,
                "quote": one.quote,
            }
            for one in citations
        ],
        "nearest": nearest,
        "written_by": answer.written_by,
        "trace": answer.trace,
    }


def _citations(answer: Answer) -> QuerySet[Citation]:
    rows = Citation.objects.in_workspace(answer.workspace_id).filter(answer=answer)
    return rows.select_related("document").order_by("number")


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
