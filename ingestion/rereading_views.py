"""Reading documents again, from a page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ingestion import rereading
from kb_project.errors import PauseError
from workspaces import access
from workspaces.requests import UserRequest


@login_required
@require_POST
def read_again(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    try:
        number = rereading.documents_read_again(workspace=workspace)
    except PauseError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, rereading.told(number))
    return redirect("ingestion:document_list", workspace.slug)
