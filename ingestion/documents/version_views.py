"""Pages that add, restore and compare versions of a document."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.documents import (
    queries as document_queries,
    version_presenters,
    version_queries,
    versions,
)
from ingestion.history import toasts
from ingestion.history.recording import ChangeContext
from kb_project.errors import ConflictError, UploadError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

PAGE = "page"


@workspace_page(Capability.EDIT, "POST")
def version_add(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    file = request.FILES.get("file")
    if file is None:
        messages.warning(request, "Choose the file that holds the new version.")
        return redirect("ingestion:document_detail", workspace.slug, document.pk)
    change = ChangeContext(workspace=workspace, user=request.user, via=PAGE)
    try:
        version = versions.document_replace(
            change=change, document=document, file=file, name=file.name or ""
        )
    except (ConflictError, UploadError) as error:
        messages.warning(request, error.sentence)
    else:
        messages.success(
            request,
            f"Version {version.number} was added.",
        )
    return redirect("ingestion:document_detail", workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def version_restore(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    change = ChangeContext(workspace=workspace, user=request.user, via=PAGE)
    try:
        event = versions.document_revert(change=change, document=document, number=number)
        toasts.leave(request, workspace, event)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_detail", workspace.slug, document.pk)


@workspace_page(Capability.READ)
def version_changes(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    version = version_queries.version_get(workspace=workspace, document=document, number=number)
    context = {"workspace": workspace, "section": "documents", "document": document}
    context |= {"version": version}
    context["shown"] = version_presenters.shown_changes(workspace, version)
    return render(request, "ingestion/version_changes.html", context)


@workspace_page(Capability.READ)
def version_progress(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    """Render the notice that a version is being read, which polls until it is."""
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    version = version_queries.version_get(workspace=workspace, document=document, number=number)
    context = {"workspace": workspace, "document": document, "awaited": version.number}
    context["reading"] = version_queries.versions_unread(
        workspace=workspace, document_id=document.pk
    )
    return render(request, "ingestion/version_progress.html", context)
