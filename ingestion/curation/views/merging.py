"""Pages for merging: entities side by side, a preview, and the merge."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.curation import distinct, forms, merging, presenters
from ingestion.curation.views import answers
from ingestion.curation.views.entities import DETAIL
from ingestion.knowledge import queries as knowledge_queries
from kb_project.errors import ConflictError, InputError, KBError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

TEMPLATE = "ingestion/curation/merge.html"


@workspace_page(Capability.CURATE, "GET", "POST")
def entities_merge(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    if request.method != "POST":
        entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
        context = presenters.merge_context(workspace=workspace, entity=entity, given=request.GET)
        return render(request, TEMPLATE, context)
    given = request.POST
    kept = forms.id_of(given, "kept") or entity_id
    others = [one for one in [entity_id, *forms.ids_of(given, "with")] if one != kept]
    change = forms.change_of(workspace, request.user, given)
    name = forms.typed(given, "name").strip() or None
    try:
        event = merging.entities_merge(
            change=change, kept=kept, others=list(dict.fromkeys(others)), name=name
        )
    except (InputError, ConflictError) as error:
        return _again(request, workspace, entity_id, error)
    return answers.done(request, workspace, event, DETAIL, kept)


def _again(
    request: UserRequest, workspace: Workspace, entity_id: UUID, error: KBError
) -> HttpResponse:
    refusal = presenters.refusal_of(workspace, error)
    try:
        entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    except NotFoundError:
        # It was merged away meanwhile: the page at its old address names the merged entity.
        return redirect(DETAIL, workspace.slug, entity_id)
    context = presenters.merge_context(workspace=workspace, entity=entity, given=request.POST)
    return answers.again(request, TEMPLATE, context, refusal)


@workspace_page(Capability.CURATE, "POST")
def entities_differ(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    change = forms.change_of(workspace, request.user, request.POST)
    wanted = [entity_id, *forms.ids_of(request.POST, "with")]
    try:
        event = distinct.entities_differ(change=change, entities=list(dict.fromkeys(wanted)))
    except (InputError, ConflictError) as error:
        return _again(request, workspace, entity_id, error)
    return answers.done(request, workspace, event, DETAIL, entity_id)
