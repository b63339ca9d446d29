"""Stops tuning from the page Models, which shows how far it is."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from ingestion.pipeline import workspace_jobs
from kb_project.errors import ConflictError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page


@workspace_page(Capability.ADMINISTER, "POST")
def tuning_cancel(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        workspace_jobs.tuning_cancel(workspace_id=workspace.pk)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    else:
        messages.success(request, "Learning stops after the model's next answer.")
    return redirect("workspaces:model_settings", workspace.slug)
