"""The health page, for admins of a workspace."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.health import runs
from ingestion.health.queries import health
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.ADMINISTER)
def health_page(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = {
        "workspace": workspace,
        "section": "health",
        "health": health(workspace=workspace),
    }
    return render(request, "ingestion/health.html", context)


@workspace_page(Capability.ADMINISTER, "POST")
def health_check(request: UserRequest, workspace: Workspace) -> HttpResponse:
    repairs = request.POST.get("repair") == "yes"
    runs.check_request(workspace=workspace, user=request.user, repairs=repairs, is_deep=True)
    messages.success(request, "The workspace is being checked. You can leave this page.")
    return redirect("ingestion:health", workspace.slug)
