"""Forms that create, edit and delete facts."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.curation import forms, presenters, previewing, relationships
from ingestion.curation.queries import relationship_get
from ingestion.curation.views import answers
from ingestion.curation.views.entities import DETAIL
from ingestion.knowledge import queries as knowledge_queries
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_create(
    request: UserRequest, workspace: Workspace, entity_id: UUID
) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    given = request.POST or request.GET
    context = presenters.target_context(workspace=workspace, entity=entity, given=given)
    template = "ingestion/curation/relationship_create.html"
    if request.method != "POST" or "search" in given:
        return render(request, template, context)
    try:
        source, target = forms.ends_of(entity, given)
        event = relationships.relationship_create(
            change=forms.change_of(workspace, request.user, given),
            source=source,
            target=target,
            description=forms.typed(given, "description"),
            keywords=forms.lines_of(given, "keywords", divider=","),
        )
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, presenters.refusal_of(workspace, error))
    return answers.done(request, workspace, event, DETAIL, entity_id)


@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_edit(
    request: UserRequest, workspace: Workspace, relationship_id: UUID
) -> HttpResponse:
    link = relationship_get(workspace=workspace, relationship_id=relationship_id)
    context = presenters.link_context(workspace=workspace, link=link, given=request.POST)
    template = "ingestion/curation/relationship_edit.html"
    if request.method != "POST":
        return render(request, template, context)
    try:
        event = relationships.relationship_edit(
            change=forms.change_of(workspace, request.user, request.POST),
            relationship=link,
            description=forms.typed(request.POST, "description"),
            keywords=forms.lines_of(request.POST, "keywords", divider=","),
        )
    except (InputError, ConflictError) as error:
        if error.code == "nothing_to_change":
            return redirect(DETAIL, workspace.slug, link.source_id)
        return answers.again(request, template, context, presenters.refusal_of(workspace, error))
    return answers.done(request, workspace, event, DETAIL, link.source_id)


@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_delete(
    request: UserRequest, workspace: Workspace, relationship_id: UUID
) -> HttpResponse:
    link = relationship_get(workspace=workspace, relationship_id=relationship_id)
    context = presenters.link_context(workspace=workspace, link=link, given=request.POST)
    context["preview"] = presenters.previewed(
        workspace, lambda: previewing.relationship_delete(workspace=workspace, relationship=link)
    )
    template = "ingestion/curation/relationship_delete.html"
    if request.method != "POST":
        return render(request, template, context)
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = relationships.relationship_delete(change=change, relationship=link)
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, presenters.refusal_of(workspace, error))
    return answers.done(request, workspace, event, DETAIL, link.source_id)
