"""The page of an entity, and the forms that create, edit and delete it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render

from ingestion.curation import entities, forms, presenters, previewing
from ingestion.curation.presenters import FIELDS, Editing
from ingestion.curation.views import answers
from ingestion.documents import forms as document_forms
from ingestion.knowledge import queries as knowledge_queries
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

DETAIL: Final = "ingestion:entity_detail"


@workspace_page(Capability.READ)
def entity_detail(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    field = request.GET.get("edit", "")
    return _page(request, workspace, entity_id, Editing(field if field in FIELDS else ""))


def _page(
    request: HttpRequest, workspace: Workspace, entity_id: UUID, editing: Editing
) -> HttpResponse:
    try:
        context = presenters.entity_context(
            workspace=workspace, entity_id=entity_id, editing=editing
        )
    except NotFoundError:
        gone = presenters.gone_context(workspace=workspace, entity_id=entity_id)
        return render(request, "ingestion/curation/entity_gone.html", gone, status=410)
    if editing.refusal:
        return answers.again(request, "ingestion/entity_detail.html", context, editing.refusal)
    return render(request, "ingestion/entity_detail.html", context)


@workspace_page(Capability.CURATE, "POST")
def entity_edit(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = entities.entity_edit(change=change, entity=entity_id, **_words(request.POST))
    except (InputError, ConflictError) as error:
        if error.code == "nothing_to_change":
            return redirect(DETAIL, workspace.slug, entity_id)
        refusal = presenters.refusal_of(workspace, error)
        return _page(request, workspace, entity_id, _reopened(request.POST, refusal))
    return answers.done(request, workspace, event, DETAIL, entity_id)


def _words(given: QueryDict) -> dict[str, Any]:
    """Return the fields in the form, one or several."""
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


def _reopened(given: QueryDict, refusal: presenters.Refusal) -> Editing:
    """Reopen the submitted field with its input."""
    for field in FIELDS:
        name = "add_aliases" if field == "alias" else field
        if name in given:
            return Editing(field, forms.typed(given, name), refusal)
    return Editing(refusal=refusal)


@workspace_page(Capability.CURATE, "GET", "POST")
def entity_create(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.form_context(workspace, request.POST or request.GET)
    template = "ingestion/curation/entity_create.html"
    if request.method != "POST":
        return render(request, template, context)
    given = request.POST
    try:
        event = entities.entity_create(
            change=forms.change_of(workspace, request.user, given),
            name=forms.typed(given, "name"),
            type=forms.typed(given, "type"),
            description=forms.typed(given, "description"),
            aliases=forms.lines_of(given, "aliases"),
        )
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, presenters.refusal_of(workspace, error))
    return answers.done(request, workspace, event, DETAIL, event.details["entity"])


@workspace_page(Capability.CURATE, "GET", "POST")
def entity_delete(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    preview = presenters.previewed(
        workspace, lambda: previewing.delete(workspace=workspace, entity=entity)
    )
    context = presenters.form_context(workspace, request.POST, [entity]) | {"entity": entity}
    context |= {"preview": preview}
    template = "ingestion/curation/entity_delete.html"
    if request.method != "POST":
        return render(request, template, context)
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = entities.entity_delete(change=change, entity=entity)
    except (InputError, ConflictError) as error:
        return answers.again(request, template, context, presenters.refusal_of(workspace, error))
    return answers.done(request, workspace, event, "ingestion:entity_list")


@workspace_page(Capability.READ)
def entity_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    text = document_forms.words_of(request.GET, "q")
    type_name = document_forms.words_of(request.GET, "type")
    page = presenters.entity_page(
        workspace=workspace, text=text, type_name=type_name, number=request.GET.get("page", "")
    )
    context = {"workspace": workspace, "section": "entities", "page": page}
    context |= {"text": text, "type": type_name}
    context["types"] = knowledge_queries.entity_types(workspace=workspace)
    if not type_name and not text:
        context["terms"] = knowledge_queries.terms_count(workspace=workspace)
    return render(request, "ingestion/entity_list.html", context)
