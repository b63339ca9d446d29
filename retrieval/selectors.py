"""Reads of retrieval that need no more than an id, and an answer as programs read it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ingestion.models import DocumentVersion
from kb_project.errors import NotFoundError
from retrieval.models import Answer, Citation
from workspaces import access
from workspaces.models import Workspace


def answer_of(*, workspace: Workspace, answer_id: UUID) -> Answer:
    """Raises NotFoundError."""
    answer = Answer.objects.in_workspace(workspace).filter(pk=answer_id).first()
    if answer is None:
        raise NotFoundError("There is no such answer in this workspace.")
    return answer


def answer_view(*, workspace: Workspace, answer: Answer) -> dict[str, Any]:
    """An answer in the shape of ``manage.py ask --json``: values that JSON has, nothing else.

    Citations outlive the chunks they were made from: titles come from the documents, quotes from
    the citations themselves.
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
    """Passages near an unanswered question, with their text; those of gone documents left out."""
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
