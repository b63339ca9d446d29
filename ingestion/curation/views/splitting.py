"""Pages for splitting: the selection of mentions, a preview, and the split."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render

from ingestion.curation import forms, presenters, splitting
from ingestion.curation.views import answers
from ingestion.curation.views.entities import DETAIL
from ingestion.history.recording import ChangeContext
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, HistoryEvent
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

TEMPLATE = "ingestion/curation/split.html"


@workspace_page(Capability.CURATE, "GET", "POST")
def entity_split(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    entity = knowledge_queries.entity_get(workspace=workspace, entity_id=entity_id)
    given = request.POST
    if request.method != "POST" or not _is_what_was_previewed(given):
        return render(request, TEMPLATE, _context(workspace, entity, given))
    try:
        event = _carry_out(forms.change_of(workspace, request.user, given), entity, given)
    except (InputError, ConflictError) as error:
        refusal = presenters.refusal_of(workspace, error)
        return answers.again(request, TEMPLATE, _context(workspace, entity, given), refusal)
    return answers.done(request, workspace, event, DETAIL, event.details["into"])


def _is_what_was_previewed(given: QueryDict) -> bool:
    """Whether the submitted selection is exactly the one that was previewed."""
    return given.get("do") == _digest(given)


def _digest(given: QueryDict) -> str:
    into = f"{given.get('into', '')}{given.get('target', '')}"
    return f"{forms.selected(forms.selection_of(given))}{into}"


def _context(workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    context = presenters.split_context(workspace=workspace, entity=entity, given=given)
    if given and "search" not in given:
        preview = presenters.split_preview(workspace=workspace, entity=entity, given=given)
        context |= {"preview": preview, "digest": _digest(given), "is_changed": "do" in given}
    return context


def _carry_out(change: ChangeContext, entity: Entity, given: QueryDict) -> HistoryEvent:
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
