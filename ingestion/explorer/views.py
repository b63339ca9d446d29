"""The page of the graph, the data it draws, and the panels beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render

from ingestion.curation import forms, presenters as curation
from ingestion.explorer import presenters, queries
from ingestion.explorer.queries import Picture, Scope
from ingestion.knowledge.periods import as_of_date
from kb_project.errors import InputError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

SCOPES: Final = ("entity", "document", "topic")


@workspace_page(Capability.READ)
def explorer(request: UserRequest, workspace: Workspace) -> HttpResponse:
    scope = scope_of(request.GET)
    try:
        context = presenters.explorer_context(workspace, scope, request.GET)
    except NotFoundError:
        if scope.kind != "entity" or scope.id is None:
            raise
        return _gone(request, workspace, scope.id, "ingestion/curation/entity_gone.html")
    return render(request, "ingestion/explorer/explorer.html", context)


@workspace_page(Capability.READ)
def explorer_view(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Send the picture that the page opens with."""
    picture = queries.opening(
        workspace=workspace, scope=scope_of(request.GET), limit=_limit(request.GET)
    )
    return JsonResponse(presenters.as_arrays(workspace, picture))


@workspace_page(Capability.READ, "POST")
def explorer_more(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Send what is to be added to the picture on the page.

    The body names the entities shown, too many for an address.
    """
    shown = _ids(request.POST, "shown", most=queries.MOST)
    as_of = as_of_date(request.GET.get("as_of"))
    picture = _addition(workspace, request.POST, shown, as_of)
    return JsonResponse(presenters.as_arrays(workspace, picture, shown))


def _addition(workspace: Workspace, given: QueryDict, shown: Sequence[UUID], as_of: str) -> Picture:
    expand = forms.id_of(given, "expand")
    if expand:
        return queries.expanded(workspace=workspace, entity_id=expand, shown=shown, as_of=as_of)
    source, target = forms.id_of(given, "from"), forms.id_of(given, "to")
    if source and target:
        return queries.connected(
            workspace=workspace, source=source, target=target, shown=shown, as_of=as_of
        )
    ids = _ids(given, "entities", most=queries.MOST)
    return queries.added(workspace=workspace, ids=ids, shown=shown, as_of=as_of)


@workspace_page(Capability.READ)
def explorer_entity(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    try:
        as_of = as_of_date(request.GET.get("as_of"))
        context = presenters.entity_panel(workspace, entity_id, as_of)
    except NotFoundError:
        # It was merged or deleted while the picture was open.
        return _gone(request, workspace, entity_id, "ingestion/explorer/entity_gone.html")
    return render(request, "ingestion/explorer/entity.html", context)


@workspace_page(Capability.READ)
def explorer_between(
    request: UserRequest, workspace: Workspace, entity_id: UUID, other_id: UUID
) -> HttpResponse:
    as_of = as_of_date(request.GET.get("as_of"))
    context = presenters.between_panel(workspace, entity_id, other_id, as_of)
    return render(request, "ingestion/explorer/between.html", context)


@workspace_page(Capability.READ)
def explorer_search(request: UserRequest, workspace: Workspace) -> HttpResponse:
    text = forms.search_of(request.GET)
    context = {"workspace": workspace, "text": text}
    context |= {"found": curation.choices(workspace=workspace, text=text)}
    return render(request, "ingestion/explorer/found.html", context)


def _gone(
    request: UserRequest, workspace: Workspace, entity_id: UUID, template: str
) -> HttpResponse:
    """Say what became of an entity. Raises NotFoundError if there never was one."""
    context = curation.gone_context(workspace=workspace, entity_id=entity_id)
    is_panel = template.startswith("ingestion/explorer/")
    return render(request, template, context, status=200 if is_panel else 410)


# --- addresses ------------------------------------------------------------------------------------
def scope_of(given: QueryDict) -> Scope:
    """Return what the address asks to see.

    Raises NotFoundError for ids that are none, and InputError for a date that does not exist.
    """
    as_of = as_of_date(given.get("as_of"))
    for kind in SCOPES:
        one = forms.id_of(given, kind)
        if one:
            return Scope(kind, id=one, as_of=as_of)
    ids = _ids(given, "entities", most=queries.MOST_NAMED)
    return Scope("entities", ids=tuple(ids), as_of=as_of) if ids else Scope(as_of=as_of)


def _ids(given: QueryDict, name: str, *, most: int) -> list[UUID]:
    values = [one for value in given.getlist(name) for one in value.split(",") if one]
    if len(values) > most:
        raise InputError(f"{len(values):,} entities are too many.", next_step="Choose fewer.")
    parsed = QueryDict(mutable=True)
    parsed.setlist(name, values)
    return forms.ids_of(parsed, name)


def _limit(given: QueryDict) -> int:
    value = given.get("limit", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 5 else queries.USUAL
