"""Pages of facts and claims, of the passages behind them, and of sources that disagree."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse

from ingestion.curation import claims, conflict_queries, conflicts as services, forms
from ingestion.curation.conflict_queries import ConflictFilter
from ingestion.curation.presenters import claim_context, page_context, previewed, refusal_of
from ingestion.curation.queries import claim_get, relationship_get
from ingestion.curation.views import DETAIL, again, form_page
from ingestion.documents import forms as document_forms
from ingestion.history import recording, sentences
from ingestion.knowledge import facts, presenters, queries
from ingestion.models import Conflict, ConflictKind, ConflictState, HistoryEvent
from kb_project.errors import ConflictError, InputError
from kb_project.http.paging import long_page
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

# --- facts ----------------------------------------------------------------------------------------
PASSAGES_PER_PAGE: Final = 50


@workspace_page(Capability.READ)
def entity_facts(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = queries.entity_get(workspace=workspace, entity_id=entity_id)
    found = presenters.facts_page(workspace, entity, request.GET)
    context = page_context(workspace, "entities", entity=entity, **found)
    return render(request, "ingestion/entity_facts.html", context)


@workspace_page(Capability.READ)
def entity_claims(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = queries.entity_get(workspace=workspace, entity_id=entity_id)
    found = presenters.claims_page(workspace, entity, request.GET)
    context = page_context(workspace, "entities", entity=entity, **found)
    return render(request, "ingestion/entity_claim_list.html", context)


@workspace_page(Capability.READ)
def fact_passages(
    request: UserRequest, workspace: Workspace, relationship_id: UUID
) -> HttpResponse:
    link = relationship_get(workspace=workspace, relationship_id=relationship_id)
    rows = facts.evidence_rows(workspace=workspace, relationship=link)
    page = long_page(rows, request.GET.get("page", ""), PASSAGES_PER_PAGE)
    passages = facts.evidence_spans_of(page)
    context = page_context(workspace, "entities", link=link, page=page, passages=passages)
    return render(request, "ingestion/fact_passages.html", context)


# --- claims ---------------------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "GET", "POST")
def claim_edit(request: UserRequest, workspace: Workspace, claim_id: UUID) -> HttpResponse:
    claim = claim_get(workspace=workspace, claim_id=claim_id)
    fields = ("description", "type", "status", "period_start", "period_end")
    return form_page(
        request,
        "ingestion/curation/claim_edit.html",
        claim_context(workspace=workspace, claim=claim, given=request.POST),
        lambda change: claims.claim_edit(
            change=change,
            claim=claim,
            **{name: forms.typed(request.POST, name) for name in fields if name in request.POST},
        ),
        DETAIL,
        claim.subject_id,
    )


@workspace_page(Capability.CURATE, "GET", "POST")
def claim_delete(request: UserRequest, workspace: Workspace, claim_id: UUID) -> HttpResponse:
    service = claims.claim_delete
    claim = claim_get(workspace=workspace, claim_id=claim_id)
    context = claim_context(workspace=workspace, claim=claim, given=request.POST)
    return form_page(
        request,
        "ingestion/curation/claim_delete.html",
        context | {"preview": previewed(service, workspace=workspace, claim=claim)},
        lambda change: service(change=change, claim=claim),
        DETAIL,
        claim.subject_id,
    )


# --- sources that disagree ------------------------------------------------------------------------
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
    return render(request, CONFLICT_DETAIL, _one(workspace, conflict_id))


CONFLICT_DETAIL: Final = "ingestion/curation/conflict_detail.html"


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
    return again(
        request, CONFLICT_DETAIL, _one(workspace, conflict_id), refusal_of(workspace, error)
    )


def _done(request: UserRequest, workspace: Workspace, event: HistoryEvent) -> HttpResponse:
    sentences.add_toast(request, workspace, event)
    default = reverse("ingestion:conflict_list", args=[workspace.slug])
    return HttpResponseRedirect(forms.back_of(request, default))
