"""Forms for deciding whether two names mean one entity, and for undoing a decision."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect

from ingestion.curation import decisions
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, Verdict
from ingestion.resolution import queries as resolution_queries
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

FOLLOWS = "Facts and topics follow in a moment."


@workspace_page(Capability.CURATE, "POST")
def decision_record(request: UserRequest, workspace: Workspace) -> HttpResponse:
    left = _entity(workspace, request.POST, "left")
    right = _entity(workspace, request.POST, "right")
    verdict = Verdict.SAME if request.POST.get("verdict") == Verdict.SAME else Verdict.DIFFERENT
    try:
        decisions.decision_record(
            workspace=workspace, user=request.user, left=left, right=right, verdict=verdict
        )
    except InputError as error:
        messages.warning(request, error.sentence)
        return redirect("ingestion:entity_detail", workspace.slug, left.pk)
    is_same = verdict == Verdict.SAME
    messages.success(request, f"{'One thing' if is_same else 'Two things'} from now on. {FOLLOWS}")
    # A merge keeps the name that sorts first.
    kept = min((left, right), key=lambda entity: entity.key) if is_same else left
    return redirect("ingestion:entity_detail", workspace.slug, kept.pk)


@workspace_page(Capability.CURATE, "POST")
def decision_undo(request: UserRequest, workspace: Workspace, decision_id: UUID) -> HttpResponse:
    decision = resolution_queries.decision_get(workspace=workspace, decision_id=decision_id)
    try:
        decisions.decision_undo(workspace=workspace, decision=decision, user=request.user)
        messages.success(request, f"Taken back. {FOLLOWS}")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    entity = resolution_queries.entity_of_key(workspace=workspace, key=decision.left_key)
    if entity is None:
        return redirect("ingestion:entity_list", workspace.slug)
    return redirect("ingestion:entity_detail", workspace.slug, entity.pk)


def _entity(workspace: Workspace, form: QueryDict, name: str) -> Entity:
    try:
        wanted = UUID(form.get(name, ""))
    except ValueError:
        raise NotFoundError("There is no such entity in this workspace.") from None
    return knowledge_queries.entity_get(workspace=workspace, entity_id=wanted)
