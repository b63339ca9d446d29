"""The health page, for admins of a workspace."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from ingestion.health import runs
from ingestion.health.queries import health
from workspaces import access
from workspaces.requests import UserRequest


@login_required
@require_GET
def health_page(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    context = {
        "workspace": workspace,
        "section": "health",
        "health": health(workspace=workspace),
    }
    return render(request, "ingestion/health.html", context)


@login_required
@require_POST
def health_check(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    repairs = request.POST.get("repair") == "yes"
    runs.check_request(workspace=workspace, user=request.user, repairs=repairs, is_deep=True)
    messages.success(request, "The workspace is being checked. You can leave this page.")
    return redirect("ingestion:health", workspace.slug)
