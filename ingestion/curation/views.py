"""Pages of entities and facts, and the forms that create, edit, merge, split and delete them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render, resolve_url

from ingestion.curation import entities, forms, merging, presenters, relationships, splitting
from ingestion.curation.presenters import FIELDS, Editing, Refusal, previewed, refusal_of
from ingestion.curation.queries import relationship_get
from ingestion.history import sentences
from ingestion.history.recording import ChangeContext
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, HistoryEvent
from ingestion.pipeline import workspace_jobs
from kb_project.errors import ConflictError, InputError, KBError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

AGAIN: Final = "X-Form-Again"
"""Tells the script that this response to a refused form is a full page."""
DETAIL: Final = "ingestion:entity_detail"
MERGE: Final = "ingestion/curation/merge.html"
SPLIT: Final = "ingestion/curation/split.html"


# --- responses ------------------------------------------------------------------------------------
def done(
    request: HttpRequest, workspace: Workspace, event: HistoryEvent, to: str, *args: object
) -> HttpResponse:
    """Go to the next page, with a toast."""
    sentences.add_toast(request, workspace, event)
    return HttpResponseRedirect(resolve_url(to, workspace.slug, *args))


def again(
    request: HttpRequest, template: str, context: dict[str, Any], refusal: Refusal
) -> HttpResponse:
    """Show the form again with the input, and say why it was refused."""
    response = render(request, template, context | {"refusal": refusal}, status=refusal.status)
    response[AGAIN] = "yes"
    return response


def form_page(
    request: UserRequest,
    template: str,
    context: dict[str, Any],
    work: Callable[[ChangeContext], HistoryEvent],
    *to: object,
) -> HttpResponse:
    """Show a form; when it is submitted, do the work and go ``to`` a page of the workspace."""
    if request.method != "POST":
        return render(request, template, context)
    workspace: Workspace = context["workspace"]
    try:
        event = work(forms.change_of(workspace, request.user, request.POST))
    except (InputError, ConflictError) as error:
        if error.code == "nothing_to_change":
            return HttpResponseRedirect(resolve_url(str(to[0]), workspace.slug, *to[1:]))
        return again(request, template, context, refusal_of(workspace, error))
    return done(request, workspace, event, str(to[0]), *to[1:])


# --- entities -------------------------------------------------------------------------------------
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
        return again(request, "ingestion/entity_detail.html", context, editing.refusal)
    return render(request, "ingestion/entity_detail.html", context)


@workspace_page(Capability.CURATE, "POST")
def entity_edit(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = entities.entity_edit(change=change, entity=entity_id, **_words(request.POST))
    except (InputError, ConflictError) as error:
        if error.code == "nothing_to_change":
            return redirect(DETAIL, workspace.slug, entity_id)
        editing = _reopened(request.POST, refusal_of(workspace, error))
        return _page(request, workspace, entity_id, editing)
    return done(request, workspace, event, DETAIL, entity_id)


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


def _reopened(given: QueryDict, refusal: Refusal) -> Editing:
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
        return again(request, template, context, refusal_of(workspace, error))
    return done(request, workspace, event, DETAIL, event.details["entity"])


@workspace_page(Capability.CURATE, "GET", "POST")
def entity_delete(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    preview = previewed(entities.entity_delete, workspace=workspace, entity=entity)
    context = presenters.form_context(workspace, request.POST, [entity])
    return form_page(
        request,
        "ingestion/curation/entity_delete.html",
        context | {"entity": entity, "preview": preview},
        lambda change: entities.entity_delete(change=change, entity=entity),
        "ingestion:entity_list",
    )


@workspace_page(Capability.CURATE, "POST")
def change_resume(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    workspace_jobs.changes_resume(workspace_id=workspace.pk)
    return redirect(DETAIL, workspace.slug, entity_id)


# --- merging --------------------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "GET", "POST")
def entities_merge(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    if request.method != "POST":
        entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
        context = presenters.merge_context(workspace=workspace, entity=entity, given=request.GET)
        return render(request, MERGE, context)
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
        return _merge_again(request, workspace, entity_id, error)
    return _back(request, workspace, event, kept)


def _back(
    request: UserRequest, workspace: Workspace, event: HistoryEvent, entity_id: UUID
) -> HttpResponse:
    """Go back to where the merge began, or else to the page of an entity."""
    page = resolve_url(DETAIL, workspace.slug, entity_id)
    sentences.add_toast(request, workspace, event)
    return HttpResponseRedirect(forms.back_of(request, page))


def _merge_again(
    request: UserRequest, workspace: Workspace, entity_id: UUID, error: KBError
) -> HttpResponse:
    try:
        entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    except NotFoundError:
        # It was merged away meanwhile: the page at its old address names the merged entity.
        return redirect(DETAIL, workspace.slug, entity_id)
    context = presenters.merge_context(workspace=workspace, entity=entity, given=request.POST)
    return again(request, MERGE, context, refusal_of(workspace, error))


@workspace_page(Capability.CURATE, "POST")
def entities_differ(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    change = forms.change_of(workspace, request.user, request.POST)
    wanted = [entity_id, *forms.ids_of(request.POST, "with")]
    try:
        event = merging.entities_differ(change=change, entities=list(dict.fromkeys(wanted)))
    except (InputError, ConflictError) as error:
        return _merge_again(request, workspace, entity_id, error)
    return _back(request, workspace, event, entity_id)


# --- splitting ------------------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "GET", "POST")
def entity_split(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    given = request.POST
    # Only exactly the selection that was previewed is split off.
    if request.method != "POST" or given.get("do") != _digest(given):
        return render(request, SPLIT, _split_context(workspace, entity, given))
    try:
        event = _split(forms.change_of(workspace, request.user, given), entity, given)
    except (InputError, ConflictError) as error:
        context = _split_context(workspace, entity, given)
        return again(request, SPLIT, context, refusal_of(workspace, error))
    return done(request, workspace, event, DETAIL, event.details["into"])


def _digest(given: QueryDict) -> str:
    into = f"{given.get('into', '')}{given.get('target', '')}"
    return f"{forms.selected(forms.selection_of(given))}{into}"


def _split_context(workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    context = presenters.split_context(workspace=workspace, entity=entity, given=given)
    if given and "search" not in given:
        preview = presenters.split_preview(workspace=workspace, entity=entity, given=given)
        context |= {"preview": preview, "digest": _digest(given), "is_changed": "do" in given}
    return context


def _split(change: ChangeContext, entity: Entity, given: QueryDict) -> HistoryEvent:
    selection = forms.selection_of(given)
    target = forms.id_of(given, "target")
    if given.get("into") == "other" and target:
        return splitting.mentions_move(
            change=change, entity=entity, selection=selection, target=target
        )
    return splitting.entity_split(
        change=change,
        entity=entity,
        selection=selection,
        name=forms.typed(given, "name"),
        type=forms.typed(given, "type").strip() or None,
    )


# --- facts ----------------------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_create(
    request: UserRequest, workspace: Workspace, entity_id: UUID
) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    given = request.POST or request.GET
    context = presenters.target_context(workspace=workspace, entity=entity, given=given)
    template = "ingestion/curation/relationship_create.html"
    if "search" in given:
        return render(request, template, context)

    def create(change: ChangeContext) -> HistoryEvent:
        source, target = forms.ends_of(entity, given)
        return relationships.relationship_create(
            change=change, source=source, target=target, **_fact_words(given)
        )

    return form_page(request, template, context, create, DETAIL, entity_id)


@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_edit(
    request: UserRequest, workspace: Workspace, relationship_id: UUID
) -> HttpResponse:
    link = relationship_get(workspace=workspace, relationship_id=relationship_id)
    return form_page(
        request,
        "ingestion/curation/relationship_edit.html",
        presenters.link_context(workspace=workspace, link=link, given=request.POST),
        lambda change: relationships.relationship_edit(
            change=change, relationship=link, **_fact_words(request.POST)
        ),
        DETAIL,
        link.source_id,
    )


def _fact_words(given: QueryDict) -> dict[str, Any]:
    return {
        "description": forms.typed(given, "description"),
        "keywords": forms.lines_of(given, "keywords", divider=","),
    }


@workspace_page(Capability.CURATE, "GET", "POST")
def relationship_delete(
    request: UserRequest, workspace: Workspace, relationship_id: UUID
) -> HttpResponse:
    service = relationships.relationship_delete
    link = relationship_get(workspace=workspace, relationship_id=relationship_id)
    context = presenters.link_context(workspace=workspace, link=link, given=request.POST)
    return form_page(
        request,
        "ingestion/curation/relationship_delete.html",
        context | {"preview": previewed(service, workspace=workspace, relationship=link)},
        lambda change: service(change=change, relationship=link),
        DETAIL,
        link.source_id,
    )
