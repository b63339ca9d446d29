"""The part of a document's page about passages that the model could not read."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ingestion import passages, selectors
from kb_project.errors import ConflictError, NotFoundError
from workspaces import access
from workspaces.requests import UserRequest


@login_required
@require_POST
def passages_retry(request: UserRequest, workspace_id: str, document_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    document = selectors.document_get(workspace=workspace, document_id=document_id)
    named = request.POST.get("chunk", "")
    chunk_ids = [_chunk_id(named)] if named else None
    try:
        passages.passages_retry(workspace=workspace, document=document, chunk_ids=chunk_ids)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_detail", workspace.slug, document.pk)


def _chunk_id(named: str) -> UUID:
    try:
        return UUID(named)
    except ValueError as error:
        raise NotFoundError("There is no such passage in this document.") from error
