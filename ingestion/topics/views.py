"""Pages of topics and their reports."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.knowledge import topics
from ingestion.topics import presenters, services
from kb_project.errors import ConflictError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.READ)
def community_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = {"workspace": workspace, "section": "topics"}
    context |= {"tree": topics.topic_tree(workspace=workspace)}
    context |= presenters.unwritten(workspace)
    return render(request, "ingestion/community_list.html", context)


@workspace_page(Capability.READ)
def community_detail(
    request: UserRequest, workspace: Workspace, community_id: UUID
) -> HttpResponse:
    view = topics.topic_view(workspace=workspace, community_id=community_id)
    tree = topics.topic_tree(workspace=workspace)
    context = {"workspace": workspace, "section": "topics", "view": view, "tree": tree}
    context["trail"] = presenters.topic_trail(tree, community_id)[:-1]
    context |= presenters.unwritten(workspace, view) | {
        "summary": presenters.numbered(view.summary)
    }
    return render(request, "ingestion/community_list.html", context)


@workspace_page(Capability.CURATE, "POST")
def report_retry(request: UserRequest, workspace: Workspace, community_id: UUID) -> HttpResponse:
    community = topics.community_get(workspace=workspace, community_id=community_id)
    try:
        services.report_retry(workspace=workspace, community=community)
        messages.success(request, "The report is being written again.")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:community_detail", workspace.slug, community.pk)


@workspace_page(Capability.CURATE, "POST")
def reports_retry(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        services.reports_retry(workspace=workspace)
        messages.success(request, "The reports are being written again.")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:community_list", workspace.slug)
