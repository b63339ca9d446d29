"""The page of the graph, the data it draws, and the panels beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from ingestion.curation import forms, presenters as curation
from ingestion.curation.presenters import page_context
from ingestion.explorer import queries
from ingestion.explorer.queries import Picture, Scope
from ingestion.knowledge import queries as knowledge_queries
from ingestion.knowledge.periods import as_of_date, readable
from kb_project.errors import InputError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

# --- what they show -------------------------------------------------------------------------------
MOST_FACTS: Final = 12
LEADS: Final = {
    "workspace": "The most connected people, organisations, places and things in your documents.",
    "entity": "The closest neighbours of",
    "entities": "What the cited passages name, and what it is connected to.",
    "document": "What this document names most:",
    "topic": "The most connected entities of the topic",
}
DIGITS: Final = 3


def explorer_context(workspace: Workspace, scope: Scope, given: QueryDict) -> dict[str, Any]:
    """Build the context of the explorer's page. Raises NotFoundError."""
    types = queries.types(workspace=workspace)
    return page_context(
        workspace,
        "graph",
        scope=scope,
        subject=queries.title_of(workspace=workspace, scope=scope),
        subject_url=_subject_url(workspace, scope),
        lead=LEADS[scope.kind],
        query=given.urlencode(),
        kept=[(name, value) for name, value in given.items() if name != "as_of"],
        date=readable(scope.as_of),
        types=types,
        total=sum(number for _, number in types),
        most=queries.MOST,
    )


def _subject_url(workspace: Workspace, scope: Scope) -> str:
    pages = {"entity": "entity", "document": "document", "topic": "community"}
    if scope.kind not in pages:
        return ""
    return reverse(f"ingestion:{pages[scope.kind]}_detail", args=[workspace.slug, scope.id])


def as_arrays(workspace: Workspace, picture: Picture, shown: Sequence[UUID] = ()) -> dict[str, Any]:
    """Return a picture as the page's script reads it: rows, and numbers of rows instead of ids.

    Rows are numbered from those that the page shows already.
    """
    topics = queries.topics_by_size(workspace=workspace)
    numbers = {one: number for number, (one, _) in enumerate(topics)}
    places = {one: place for place, one in enumerate(shown)}
    for node in picture.nodes:
        places.setdefault(node.id, len(places))
    return {
        "nodes": [
            [
                str(node.id),
                node.name,
                node.type,
                numbers.get(node.topic, -1) if node.topic else -1,
                node.degree,
                _short(node.x),
                _short(node.y),
                node.is_term,
            ]
            for node in picture.nodes
        ],
        "edges": [
            [places[edge.a], places[edge.b], round(edge.weight, DIGITS), edge.evidence]
            for edge in picture.edges
            if edge.a in places and edge.b in places
        ],
        "topics": [title for _, title in topics],
        "total": picture.total,
        "terms": picture.terms,
        "pairs": picture.edges_total,
        "focus": [str(one) for one in picture.focus],
        "paths": [[str(one) for one in path] for path in picture.paths],
        "remaining": picture.remaining,
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def entity_panel(workspace: Workspace, entity_id: UUID, as_of: str = "") -> dict[str, Any]:
    """Build the panel about an entity. Raises NotFoundError."""
    view = knowledge_queries.entity_view(
        workspace=workspace, entity_id=entity_id, most_facts=MOST_FACTS, as_of=as_of
    )
    return page_context(workspace, "graph", view=view, entity=view.entity)


def between_panel(workspace: Workspace, a: UUID, b: UUID, as_of: str = "") -> dict[str, Any]:
    """Build the panel about a relationship. Raises NotFoundError."""
    ends = [knowledge_queries.entity_get(workspace=workspace, entity_id=one) for one in (a, b)]
    statements = queries.statements_between(workspace=workspace, a=a, b=b, as_of=as_of)
    return page_context(workspace, "graph", ends=ends, statements=statements)


# --- the pages ------------------------------------------------------------------------------------
SCOPES: Final = ("entity", "document", "topic")


@workspace_page(Capability.READ)
def explorer(request: UserRequest, workspace: Workspace) -> HttpResponse:
    scope = scope_of(request.GET)
    try:
        context = explorer_context(workspace, scope, request.GET)
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
    return JsonResponse(as_arrays(workspace, picture))


@workspace_page(Capability.READ, "POST")
def explorer_more(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Send what is to be added to the picture on the page.

    The body names the entities shown, too many for an address.
    """
    shown = _ids(request.POST, "shown", most=queries.MOST)
    as_of = as_of_date(request.GET.get("as_of"))
    picture = _addition(workspace, request.POST, shown, as_of)
    return JsonResponse(as_arrays(workspace, picture, shown))


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
        context = entity_panel(workspace, entity_id, as_of)
    except NotFoundError:
        # It was merged or deleted while the picture was open.
        return _gone(request, workspace, entity_id, "ingestion/explorer/entity_gone.html")
    return render(request, "ingestion/explorer/entity.html", context)


@workspace_page(Capability.READ)
def explorer_between(
    request: UserRequest, workspace: Workspace, entity_id: UUID, other_id: UUID
) -> HttpResponse:
    as_of = as_of_date(request.GET.get("as_of"))
    context = between_panel(workspace, entity_id, other_id, as_of)
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
