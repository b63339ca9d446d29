"""Pages of the history, and undoing events."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from ingestion.curation import forms, history_presenters, presenters, undoing
from ingestion.curation.views import answers
from ingestion.history import queries as history_queries, toasts
from kb_project.errors import ConflictError, InputError
from workspaces import access
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.READ)
def workspace_history(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = {"workspace": workspace, "section": "history"} | presenters.rights(workspace)
    context |= history_presenters.history_context(workspace=workspace, query=request.GET)
    return render(request, "ingestion/curation/workspace_history.html", context)


@workspace_page(Capability.READ)
def entity_history(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    context = history_presenters.entity_context(workspace=workspace, entity_id=entity_id)
    context |= history_presenters.history_context(
        workspace=workspace, query=request.GET, subject_id=entity_id
    )
    return render(request, "ingestion/curation/entity_history.html", context)


@workspace_page(Capability.READ)
def document_history(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    context = history_presenters.document_context(workspace=workspace, document_id=document_id)
    context |= history_presenters.history_context(
        workspace=workspace, query=request.GET, subject_id=document_id
    )
    return render(request, "ingestion/curation/document_history.html", context)


@workspace_page(Capability.READ)
def event_detail(request: UserRequest, workspace: Workspace, event_id: UUID) -> HttpResponse:
    context = history_presenters.event_context(workspace=workspace, event_id=event_id)
    return render(request, "ingestion/curation/event_detail.html", context)


@workspace_page(Capability.READ, "POST")
def event_undo(request: UserRequest, workspace: Workspace, event_id: UUID) -> HttpResponse:
    event = history_queries.event_get(workspace=workspace, event_id=event_id)
    if history_queries.is_of_documents(event):
        access.workspace_for_writing(user=request.user, workspace_id=workspace.pk)
    else:
        access.workspace_for_curating(user=request.user, workspace_id=workspace.pk)
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        undone = undoing.event_undo(change=change, event=event)
    except (InputError, ConflictError) as error:
        context = history_presenters.event_context(workspace=workspace, event_id=event_id)
        refusal = presenters.refusal_of(workspace, error)
        return answers.again(request, "ingestion/curation/event_detail.html", context, refusal)
    toasts.leave(request, workspace, undone)
    default = reverse("ingestion:event_detail", args=[workspace.slug, undone.pk])
    return HttpResponseRedirect(forms.back_of(request, default))
