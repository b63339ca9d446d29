"""Reads of retrieval that need no more than an id."""

from __future__ import annotations

from uuid import UUID

from kb_project.errors import NotFoundError
from retrieval.models import Answer
from workspaces.models import Workspace


def question_of(*, workspace: Workspace, answer_id: UUID) -> UUID:
    """The question an answer was given to. Raises NotFoundError."""
    answer = Answer.objects.in_workspace(workspace).filter(pk=answer_id).first()
    if answer is None:
        raise NotFoundError("There is no such answer in this workspace.")
    return answer.question_id
