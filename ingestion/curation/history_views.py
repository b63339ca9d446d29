"""Pages of the history, and forms that undo events and record or undo decisions about names."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from ingestion.curation import decisions, forms, history_presenters, presenters, undoing, views
from ingestion.history import queries as history_queries, sentences
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, Verdict
from ingestion.resolution import queries as resolution_queries
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces import access
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

FOLLOWS: Final = "Facts and topics follow in a moment."


@workspace_page(Capability.READ)
def workspace_history(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = history_presenters.workspace_context(workspace=workspace, query=request.GET)
    return render(request, "ingestion/curation/workspace_history.html", context)


@workspace_page(Capability.READ)
def entity_history(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    context = history_presenters.entity_context(
        workspace=workspace, entity_id=entity_id, query=request.GET
    )
    return render(request, "ingestion/curation/entity_history.html", context)


@workspace_page(Capability.READ)
def document_history(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    context = history_presenters.document_context(
        workspace=workspace, document_id=document_id, query=request.GET
    )
    return render(request, "ingestion/curation/document_history.html", context)


@workspace_page(Capability.READ)
def event_detail(request: UserRequest, workspace: Workspace, event_id: UUID) -> HttpResponse:
    context = history_presenters.event_context(workspace=workspace, event_id=event_id)
    return render(request, "ingestion/curation/event_detail.html", context)


@workspace_page(Capability.READ, "POST", at_source=True)
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
        return views.again(request, "ingestion/curation/event_detail.html", context, refusal)
    sentences.add_toast(request, workspace, undone)
    default = reverse("ingestion:event_detail", args=[workspace.slug, undone.pk])
    return HttpResponseRedirect(forms.back_of(request, default))


# --- decisions about names ------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "POST")
def decision_record(request: UserRequest, workspace: Workspace) -> HttpResponse:
    left = _entity(workspace, request.POST, "left")
    right = _entity(workspace, request.POST, "right")
    verdict = Verdict.SAME if request.POST.get("verdict") == Verdict.SAME else Verdict.DIFFERENT
    try:
        decisions.decision_record(
            workspace=workspace, user=request.user, left=left, right=right, verdict=verdict
        )
    except InputError as error:
        messages.warning(request, error.sentence)
        return redirect("ingestion:entity_detail", workspace.slug, left.pk)
    is_same = verdict == Verdict.SAME
    messages.success(request, f"{'One thing' if is_same else 'Two things'} from now on. {FOLLOWS}")
    # A merge keeps the name that sorts first.
    kept = min((left, right), key=lambda entity: entity.key) if is_same else left
    return redirect("ingestion:entity_detail", workspace.slug, kept.pk)


@workspace_page(Capability.CURATE, "POST")
def decision_undo(request: UserRequest, workspace: Workspace, decision_id: UUID) -> HttpResponse:
    decision = resolution_queries.decision_get(workspace=workspace, decision_id=decision_id)
    try:
        undoing.decision_undo(workspace=workspace, decision=decision, user=request.user)
        messages.success(request, f"Undone. {FOLLOWS}")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    entity = resolution_queries.entity_of_key(workspace=workspace, key=decision.left_key)
    if entity is None:
        return redirect("ingestion:entity_list", workspace.slug)
    return redirect("ingestion:entity_detail", workspace.slug, entity.pk)


def _entity(workspace: Workspace, form: QueryDict, name: str) -> Entity:
    wanted = id_in(form.get(name, ""))
    if wanted is None:
        raise NotFoundError("There is no such entity in this workspace.")
    return knowledge_queries.entity_get(workspace=workspace, entity_id=wanted)
