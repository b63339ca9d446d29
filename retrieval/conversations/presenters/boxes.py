"""Present the question box: how to search, where, and which conversation it continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ingestion.documents import queries as document_queries
from ingestion.models import DocumentState
from retrieval.conversations.forms import standard_mode
from retrieval.conversations.presenters.modes import ModeGroup, mode_groups
from retrieval.conversations.presenters.scopes import ScopePanel, scope_panel
from retrieval.models import Conversation, Question
from retrieval.search.modes import MODES, Mode
from workspaces.models import User, Workspace


@dataclass(frozen=True, slots=True)
class AskBox:
    """The question box; ``reading`` documents are not processed yet; ``conversation`` is
    continued."""

    groups: tuple[ModeGroup, ...]
    mode: Mode
    scope: ScopePanel
    documents: int
    reading: int = 0
    question: str = ""
    conversation: UUID | None = None

    @property
    def scope_label(self) -> str:
        return self.scope.label


def ask_box(
    *,
    workspace: Workspace,
    question: str = "",
    mode: str = "",
    filters: Mapping[str, Any] | None = None,
    conversation: UUID | None = None,
) -> AskBox:
    counts = document_queries.state_counts(workspace=workspace)
    return AskBox(
        groups=mode_groups(),
        mode=MODES.get(mode) or MODES[standard_mode()],
        scope=scope_panel(workspace=workspace, filters=filters or {}),
        documents=document_queries.searched_count(workspace=workspace),
        reading=counts[DocumentState.QUEUED.value] + counts[DocumentState.WORKING.value],
        question=question,
        conversation=conversation,
    )


def ask_next(*, workspace: Workspace, user: User, question: Question) -> AskBox:
    """Return the box under an answer: empty, with the earlier choices.

    It continues the conversation if that is the person's own.
    """
    return ask_box(
        workspace=workspace,
        mode=question.mode,
        filters=question.scope,
        conversation=own(workspace, user, question.conversation_id),
    )


def own(workspace: Workspace, user: User, conversation_id: UUID | None) -> UUID | None:
    """Return the conversation's id if it is the person's own, else None: others may not continue
    it."""
    if conversation_id is None:
        return None
    rows = Conversation.objects.in_workspace(workspace).filter(asked_by=user)
    return conversation_id if rows.filter(pk=conversation_id).exists() else None
