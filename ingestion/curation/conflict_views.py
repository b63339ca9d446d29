"""Pages of sources that disagree: the list, one conflict, and the form that decides it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse

from ingestion.curation import conflict_queries, conflicts as services, forms
from ingestion.curation.conflict_queries import ConflictFilter
from ingestion.curation.presenters import page_context, refusal_of
from ingestion.curation.views import again
from ingestion.documents import forms as document_forms
from ingestion.history import recording, sentences
from ingestion.knowledge import queries
from ingestion.models import Conflict, ConflictKind, ConflictState, HistoryEvent
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

PER_PAGE: Final = 20
MOST_DOCUMENTS: Final = 60
ALL: Final = "all"


@workspace_page(Capability.READ)
def conflict_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    wanted = filter_of(request.GET)
    rows = conflict_queries.conflict_rows(workspace, wanted)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page", ""))
    context = _context(
        workspace,
        list(page),
        page=page,
        wanted=wanted,
        is_filtered=wanted != ConflictFilter(state=ConflictState.OPEN.value),
        states=[*ConflictState.choices, (ALL, "All")],
        kinds=ConflictKind.choices,
        documents=queries.documents_to_choose(workspace, MOST_DOCUMENTS, wanted.document),
    )
    return render(request, "ingestion/curation/conflict_list.html", context)


@workspace_page(Capability.READ)
def conflict_detail(request: UserRequest, workspace: Workspace, conflict_id: UUID) -> HttpResponse:
    return render(request, DETAIL, _one(workspace, conflict_id))


DETAIL: Final = "ingestion/curation/conflict_detail.html"


@workspace_page(Capability.CURATE, "POST")
def conflict_decide(request: UserRequest, workspace: Workspace, conflict_id: UUID) -> HttpResponse:
    # A button's value says it all: holds:<key>, both or left.
    verdict, _, holds = forms.typed(request.POST, "decision").partition(":")
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = services.conflict_decide(
            change=change, conflict=conflict_id, verdict=verdict, holds=holds
        )
    except (InputError, ConflictError) as error:
        return _refused(request, workspace, conflict_id, error)
    return _done(request, workspace, event)


@workspace_page(Capability.CURATE, "POST")
def conflict_reopen(request: UserRequest, workspace: Workspace, conflict_id: UUID) -> HttpResponse:
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        event = services.conflict_reopen(change=change, conflict=conflict_id)
    except (InputError, ConflictError) as error:
        return _refused(request, workspace, conflict_id, error)
    return _done(request, workspace, event)


def filter_of(given: QueryDict) -> ConflictFilter:
    """Read the filters of an address; those that mean nothing here count as none."""
    state, kind = given.get("state", ConflictState.OPEN), given.get("kind", "")
    return ConflictFilter(
        state="" if state == ALL else state if state in ConflictState.values else "open",
        kind=kind if kind in ConflictKind.values else "",
        document=id_in(given.get("document", "")),
        text=document_forms.words_of(given, "q"),
    )


def _one(workspace: Workspace, conflict_id: UUID) -> dict[str, Any]:
    row = conflict_queries.conflict_get(workspace=workspace, conflict_id=conflict_id)
    return _context(workspace, [row])


def _context(workspace: Workspace, rows: list[Conflict], **more: Any) -> dict[str, Any]:
    context = page_context(workspace, "curation", **more)
    revisions = recording.revisions(workspace, [row.pk for row in rows])
    context["conflicts"] = [
        (view, [f"{view.id}:{revisions[view.id]}"])
        for view in conflict_queries.conflict_views(workspace, rows)
    ]
    return context


def _refused(
    request: UserRequest, workspace: Workspace, conflict_id: UUID, error: InputError | ConflictError
) -> HttpResponse:
    return again(request, DETAIL, _one(workspace, conflict_id), refusal_of(workspace, error))


def _done(request: UserRequest, workspace: Workspace, event: HistoryEvent) -> HttpResponse:
    sentences.add_toast(request, workspace, event)
    default = reverse("ingestion:conflict_list", args=[workspace.slug])
    return HttpResponseRedirect(forms.back_of(request, default))
