"""The reranking part of the Models page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from kb_project.errors import KBError
from workspaces import access
from workspaces.language_models import reranking, reranking_forms, reranking_queries
from workspaces.language_models.views import model_page, tested_page
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.ADMINISTER, "POST")
def reranker_set(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = reranking_forms.rerank_form(
        reranking_queries.reranker_state(workspace=workspace), request.POST
    )
    if not form.is_valid():
        return model_page(request, workspace, rerank_form=form)
    try:
        reranking.reranker_set(workspace=workspace, choice=form.choice())
    except KBError as error:
        return model_page(request, workspace, rerank_form=form, problem=error)
    messages.success(request, "Reranking saved. It applies from the next question.")
    return redirect("workspaces:model_settings", workspace.slug)


@transaction.non_atomic_requests
@login_required
@require_POST
def reranker_test(request: UserRequest, workspace_id: str) -> HttpResponse:
    """Make one real call; no transaction is open while the reranker answers."""
    return tested_page(request, workspace_id, reranking.reranker_test)
