"""The page that lists entities, and what curators do there with several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from ingestion.curation import bulk, forms
from ingestion.curation.presenters import page_context, refusal_of, seen
from ingestion.curation.views import again
from ingestion.documents import forms as document_forms
from ingestion.history import sentences
from ingestion.history.recording import ChangeContext
from ingestion.knowledge import queries, topics
from ingestion.knowledge.queries import Certainty, EntityOrder
from ingestion.models import Entity, HistoryEvent
from kb_project.errors import ConflictError, InputError
from kb_project.http.paging import long_page
from kb_project.text.words import counted
from workspaces import access
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

ENTITIES_PER_PAGE: Final = 48
MOST_CHOICES: Final = 60
"""Topics and documents to choose from."""
LIST: Final = "ingestion/entity_list.html"


@workspace_page(Capability.READ)
def entity_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    return render(request, LIST, _list_context(workspace, request.GET))


def _list_context(workspace: Workspace, given: QueryDict) -> dict[str, Any]:
    filters = _filters(given)
    found = queries.entities(workspace=workspace, **filters)
    page = long_page(found, given.get("page", ""), ENTITIES_PER_PAGE)
    context = page_context(
        workspace,
        "entities",
        page=page,
        wanted=filters,
        is_filtered=any(value for name, value in filters.items() if name != "order"),
        types=queries.entity_types(workspace=workspace),
        topics=topics.topics_to_choose(workspace, MOST_CHOICES, filters["topic"]),
        documents=queries.documents_to_choose(workspace, MOST_CHOICES, filters["document"]),
        certainties=Certainty.choices,
        orders=EntityOrder.choices,
    )
    if context["is_curator"]:
        context["seen"] = seen(workspace, [entity.pk for entity in page])
    if not context["is_filtered"]:
        context["terms"] = queries.terms_count(workspace=workspace)
    return context


def _filters(given: QueryDict) -> dict[str, Any]:
    """Read the filters of an address; those that mean nothing here count as none."""
    certainty, order = given.get("certainty", ""), given.get("order", "")
    return {
        "text": document_forms.words_of(given, "q"),
        "type_name": document_forms.words_of(given, "type"),
        "topic": id_in(given.get("topic", "")),
        "document": id_in(given.get("document", "")),
        "certainty": certainty if certainty in Certainty.values else "",
        "order": order if order in EntityOrder.values else EntityOrder.MENTIONS.value,
    }


# --- several at once ------------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "POST")
def entities_bulk(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Retype, confirm or delete the chosen entities, or open the only one to rename it."""
    given = request.POST
    ids = forms.ids_of(given, "ids")
    action = given.get("action", "")
    if action == "rename" and len(ids) == 1:
        page = reverse("ingestion:entity_detail", args=[workspace.slug, ids[0]])
        return HttpResponseRedirect(f"{page}?edit=name")
    if action == "delete" and given.get("sure") != "yes" and ids:
        return _delete_page(request, workspace, ids)
    try:
        events = _work(action)(_change(workspace, request, ids), ids, given)
    except (InputError, ConflictError) as error:
        refusal = refusal_of(workspace, error)
        context = _list_context(workspace, request.GET) | {"chosen": set(ids)}
        return again(request, LIST, context, refusal)
    sentences.add_toast(request, workspace, events[0], _done(action, events, given))
    default = reverse("ingestion:entity_list", args=[workspace.slug])
    return redirect(forms.back_of(request, default))


Work = Callable[[ChangeContext, Sequence[UUID], QueryDict], list[HistoryEvent]]


def _work(action: str) -> Work:
    works: dict[str, Work] = {
        "retype": lambda change, ids, given: bulk.entities_retype(
            change=change, entities=ids, type=forms.typed(given, "type")
        ),
        "confirm": lambda change, ids, _: bulk.entities_confirm(change=change, entities=ids),
        "delete": lambda change, ids, _: bulk.entities_delete(change=change, entities=ids),
    }
    if action not in works:
        raise InputError(
            "Only one entity can be renamed at a time."
            if action == "rename"
            else "No action is chosen.",
            kept="Nothing was changed.",
            next_step="Select one entity, then choose Rename."
            if action == "rename"
            else "Choose what to do with the selected entities.",
        )
    return works[action]


def _change(workspace: Workspace, request: UserRequest, ids: Sequence[UUID]) -> ChangeContext:
    """Only what was chosen must be as it was seen: the rest of the page may have changed."""
    change = forms.change_of(workspace, request.user, request.POST)
    return replace(change, expected={one: n for one, n in change.expected.items() if one in ids})


def _done(action: str, events: Sequence[HistoryEvent], given: QueryDict) -> str:
    if len(events) == 1:
        return ""
    entities = f"{len(events):,} entities"
    if action == "retype":
        return f"Changed the type of {entities} to {forms.typed(given, 'type').lower()}."
    return f"{'Confirmed' if action == 'confirm' else 'Deleted'} {entities}."


def _delete_page(request: UserRequest, workspace: Workspace, ids: list[UUID]) -> HttpResponse:
    with access.in_workspace(workspace.pk):
        found = Entity.objects.in_workspace(workspace).in_bulk(ids)
        living = [found[one] for one in ids if one in found]
        effect = bulk.delete_effect(workspace=workspace, entities=list(found)) if living else None
    context = page_context(
        workspace,
        "entities",
        entities=living,
        effect=effect,
        title=f"Delete {counted(len(living), 'entity', 'entities')}?",
        next=forms.back_of(request, reverse("ingestion:entity_list", args=[workspace.slug])),
        seen=seen(workspace, [one.pk for one in living]),
    )
    return render(request, "ingestion/curation/entities_delete.html", context)
