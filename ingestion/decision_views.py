"""Forms about names: whether two are one thing, and taking a decision back."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ingestion import decisions, selectors
from ingestion.models import Entity, Verdict
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces import access
from workspaces.models import Workspace
from workspaces.requests import UserRequest

FOLLOWS = "Facts and topics follow in a moment."


@login_required
@require_POST
def decision_record(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
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
    # Of two names that are one the first in order is kept.
    kept = min((left, right), key=lambda entity: entity.key) if is_same else left
    return redirect("ingestion:entity_detail", workspace.slug, kept.pk)


@login_required
@require_POST
def decision_undo(request: UserRequest, workspace_id: str, decision_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    decision = selectors.decision_get(workspace=workspace, decision_id=decision_id)
    try:
        decisions.decision_undo(workspace=workspace, decision=decision, user=request.user)
        messages.success(request, f"Taken back. {FOLLOWS}")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    entity = selectors.entity_of_key(workspace=workspace, key=decision.left_key)
    if entity is None:
        return redirect("ingestion:entity_list", workspace.slug)
    return redirect("ingestion:entity_detail", workspace.slug, entity.pk)


def _entity(workspace: Workspace, form: QueryDict, name: str) -> Entity:
    try:
        wanted = UUID(form.get(name, ""))
    except ValueError:
        raise NotFoundError("There is no such entity in this workspace.") from None
    return selectors.entity_get(workspace=workspace, entity_id=wanted)
