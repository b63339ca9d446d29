"""The page of an entity, and what curators do to it there."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from ingestion import curation_forms as forms
from ingestion import curation_shown as shown
from ingestion import selectors
from ingestion.curation import entities, previewing
from ingestion.curation_shown import FIELDS, Editing
from ingestion.curation_views import answers
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces import access
from workspaces.models import Workspace
from workspaces.requests import UserRequest

DETAIL: Final = "ingestion:entity_detail"


@login_required
@require_GET
def entity_detail(request: UserRequest, workspace_id: str, entity_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    field = request.GET.get("edit", "")
    return _page(request, workspace, entity_id, Editing(field if field in FIELDS else ""))


def _page(
    request: HttpRequest, workspace: Workspace, entity_id: UUID, editing: Editing
) -> HttpResponse:
    try:
        context = shown.entity_context(workspace=workspace, entity_id=entity_id, editing=editing)
    except NotFoundError:
        gone = shown.gone_context(workspace=workspace, entity_id=entity_id)
        return render(request, "ingestion/curation/entity_gone.html", gone, status=410)
    if editing.refusal:
        return answers.again(request, "ingestion/entity_detail.html", context, editing.refusal)
    return render(request, "ingestion/entity_detail.html", context)


@login_required
@require_POST
def entity_edit(request: UserRequest, workspace_id: str, entity_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    deed = forms.deed_of(workspace, request.user, request.POST)
    try:
        event = entities.entity_edit(deed=deed, entity=entity_id, **_words(request.POST))
    except (InputError, ConflictError) as error:
        if error.code == "nothing_to_change":
            return redirect(DETAIL, workspace.slug, entity_id)
        refusal = shown.refusal_of(workspace, error)
        return _page(request, workspace, entity_id, _reopened(request.POST, refusal))
    return answers.done(request, workspace, event, DETAIL, entity_id)


def _words(given: QueryDict) -> dict[str, Any]:
    """What of the entity the form says; it says one thing at a time, or several."""
    words: dict[str, Any] = {
        name: forms.typed(given, name) for name in ("name", "type", "description") if name in given
    }
    for name in ("add_aliases", "remove_aliases"):
        if name in given:
            words[name] = [forms.typed(given, name)]
    for name in ("is_protected", "is_confirmed"):
        if name in given:
            words[name] = given[name] == "yes"
    return words


def _reopened(given: QueryDict, refusal: shown.Refusal) -> Editing:
    """The field that was sent, open again with what was typed."""
    for field in FIELDS:
        name = "add_aliases" if field == "alias" else field
        if name in given:
            return Editing(field, forms.typed(given, name), refusal)
    return Editing(refusal=refusal)


@login_required
@require_http_methods(["GET", "POST"])
def entity_create(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    context = shown.form_context(workspace, request.POST or request.GET)
    template = "ingestion/curation/entity_create.html"
    if request.method != "POST":
        return render(request, template, context)
    given = request.POST
    try:
        event = entities.entity_create(
            deed=forms.deed_of(workspace, request.user, given),
            name=forms.typed(given, "name"),
            type=forms.typed(given, "type"),
            description=forms.typed(given, "description"),
            aliases=forms.lines_of(given, "aliases"),
        )
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, shown.refusal_of(workspace, error))
    return answers.done(request, workspace, event, DETAIL, event.details["entity"])


@login_required
@require_http_methods(["GET", "POST"])
def entity_delete(request: UserRequest, workspace_id: str, entity_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    entity = selectors.entity_get(workspace=workspace, entity_id=entity_id)
    preview = shown.previewed(
        workspace, lambda: previewing.delete(workspace=workspace, entity=entity)
    )
    context = shown.form_context(workspace, request.POST, [entity]) | {"entity": entity}
    context |= {"preview": preview}
    template = "ingestion/curation/entity_delete.html"
    if request.method != "POST":
        return render(request, template, context)
    deed = forms.deed_of(workspace, request.user, request.POST)
    try:
        event = entities.entity_delete(deed=deed, entity=entity)
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, shown.refusal_of(workspace, error))
    return answers.done(request, workspace, event, "ingestion:entity_list")
