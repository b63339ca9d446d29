"""Pages of an entity's facts and claims in full, of the passages behind a fact, and of a claim."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from ingestion.curation import claims, forms
from ingestion.curation.presenters import claim_context, page_context, previewed
from ingestion.curation.queries import claim_get, relationship_get
from ingestion.curation.views import DETAIL, form_page
from ingestion.knowledge import facts, presenters, queries
from kb_project.http.paging import long_page
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

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
