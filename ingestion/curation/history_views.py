"""Pages of the history, filtered, and forms that undo events and decide about names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date

from ingestion.curation import (
    forms,
    merging,
    presenters,
    queries as curation_queries,
    undoing,
    views,
)
from ingestion.curation.effects import of_event
from ingestion.curation.presenters import page_context, previewed
from ingestion.documents import forms as document_forms, queries as document_queries
from ingestion.history import queries, sentences
from ingestion.history.queries import EventView
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Document, Entity, EventKind, Verdict
from ingestion.resolution import queries as resolution_queries
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces import access
from workspaces.models import Capability, User, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

# --- what they show -------------------------------------------------------------------------------
EVENTS_PER_PAGE: Final = 40


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of the history; '' and None mean no restriction."""

    person: int | None = None
    kind: str = ""
    since: date | None = None
    until: date | None = None
    before: int | None = None

    @property
    def is_narrow(self) -> bool:
        return bool(self.person or self.kind or self.since or self.until)


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with its effect in words."""

    view: EventView
    moved: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of the history; ``older`` is the ``before`` of the next page, None on the last one."""

    events: tuple[ShownEvent, ...]
    people: tuple[User, ...]
    wanted: Filter
    older: int | None

    @property
    def people_choices(self) -> list[tuple[int, str]]:
        return [(person.pk, str(person)) for person in self.people]

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return queries.LISTED


def filter_of(query: QueryDict) -> Filter:
    """Parse a filter; invalid parts are ignored."""
    kind = query.get("kind", "")
    return Filter(
        person=document_forms.number(query, "person"),
        kind=kind if kind in dict(queries.LISTED) else "",
        since=day_of(query.get("since", "")),
        until=day_of(query.get("until", "")),
        before=document_forms.number(query, "before"),
    )


def day_of(text: str) -> date | None:
    try:
        return parse_date(text[:10])
    except ValueError:
        return None


def history_page(
    *, workspace: Workspace, wanted: Filter, subject_id: UUID | None = None
) -> HistoryPage:
    found = queries.events(
        workspace=workspace,
        subject_id=subject_id,
        user=wanted.person,
        kind=wanted.kind,
        before=wanted.before,
    )
    if wanted.since:
        found = found.filter(created_at__gte=midnight(wanted.since))
    if wanted.until and wanted.until < date.max:
        found = found.filter(created_at__lt=midnight(wanted.until + timedelta(days=1)))
    rows = list(found[: EVENTS_PER_PAGE + 1])
    shown = rows[:EVENTS_PER_PAGE]
    every = queries.events(workspace=workspace, subject_id=subject_id).order_by()
    people = User.objects.filter(pk__in=every.exclude(user=None).values("user_id").distinct())
    return HistoryPage(
        events=tuple(map(shown_event, queries.event_views(workspace=workspace, rows=shown))),
        people=tuple(people.order_by("name", "email")),
        wanted=wanted,
        older=shown[-1].sequence if len(rows) > EVENTS_PER_PAGE else None,
    )


def midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def shown_event(view: EventView) -> ShownEvent:
    effect = of_event(view.event)
    # An undo that changed nothing says why.
    why = effect.notes if view.event.kind == EventKind.UNDO else ()
    return ShownEvent(view, effect.sentence or " ".join(why))


# --- contexts of the pages ------------------------------------------------------------------------
def entity_context(*, workspace: Workspace, entity_id: UUID, query: QueryDict) -> dict[str, Any]:
    """Build the context for an existing or deleted entity. Raises NotFoundError."""
    entity = Entity.objects.in_workspace(workspace).filter(pk=entity_id).first()
    former = entity or curation_queries.entity_gone(workspace=workspace, entity_id=entity_id)
    page = history_page(workspace=workspace, wanted=filter_of(query), subject_id=entity_id)
    return page_context(
        workspace,
        "entities",
        entity=entity,
        entity_id=entity_id,
        name=former.name,
        history=page,
    )


def document_context(
    *, workspace: Workspace, document_id: UUID, query: QueryDict
) -> dict[str, Any]:
    """Build the context for a document, existing or deleted for good. Raises NotFoundError."""
    document = Document.objects.in_workspace(workspace).filter(pk=document_id).first()
    event = queries.events(workspace=workspace, subject_id=document_id).first()
    if document is None and event is None:
        document_queries.document_get(workspace=workspace, document_id=document_id)
    names = event.details.get("names", {}) if event else {}
    name = document.title if document else names.get(str(document_id), "a document")
    page = history_page(workspace=workspace, wanted=filter_of(query), subject_id=document_id)
    return page_context(workspace, "documents", document=document, name=name, history=page)


def event_context(*, workspace: Workspace, event_id: UUID) -> dict[str, Any]:
    """Build the context of one event, with a preview of undoing it. Raises NotFoundError."""
    event = queries.event_get(workspace=workspace, event_id=event_id)
    [view] = queries.event_views(workspace=workspace, rows=[event])
    is_of_documents = queries.is_of_documents(event)
    allowed = workspace.may(Capability.EDIT) if is_of_documents else workspace.may_curate
    preview = None
    if allowed and view.can_undo:
        preview = previewed(undoing.event_undo, workspace=workspace, event=event)
    return page_context(
        workspace, "history", allowed=allowed, item=shown_event(view), seen=[], preview=preview
    )


# --- the pages ------------------------------------------------------------------------------------
FOLLOWS: Final = "Facts and topics follow in a moment."


@workspace_page(Capability.READ)
def workspace_history(request: UserRequest, workspace: Workspace) -> HttpResponse:
    page = history_page(workspace=workspace, wanted=filter_of(request.GET))
    context = page_context(workspace, "history", history=page)
    return render(request, "ingestion/curation/workspace_history.html", context)


@workspace_page(Capability.READ)
def entity_history(request: UserRequest, workspace: Workspace, entity_id: UUID) -> HttpResponse:
    context = entity_context(workspace=workspace, entity_id=entity_id, query=request.GET)
    return render(request, "ingestion/curation/entity_history.html", context)


@workspace_page(Capability.READ)
def document_history(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    context = document_context(workspace=workspace, document_id=document_id, query=request.GET)
    return render(request, "ingestion/curation/document_history.html", context)


@workspace_page(Capability.READ)
def event_detail(request: UserRequest, workspace: Workspace, event_id: UUID) -> HttpResponse:
    context = event_context(workspace=workspace, event_id=event_id)
    return render(request, "ingestion/curation/event_detail.html", context)


@workspace_page(Capability.READ, "POST", at_source=True)
def event_undo(request: UserRequest, workspace: Workspace, event_id: UUID) -> HttpResponse:
    event = queries.event_get(workspace=workspace, event_id=event_id)
    if queries.is_of_documents(event):
        access.workspace_for_writing(user=request.user, workspace_id=workspace.pk)
    else:
        access.workspace_for_curating(user=request.user, workspace_id=workspace.pk)
    change = forms.change_of(workspace, request.user, request.POST)
    try:
        undone = undoing.event_undo(change=change, event=event)
    except (InputError, ConflictError) as error:
        context = event_context(workspace=workspace, event_id=event_id)
        refusal = presenters.refusal_of(workspace, error)
        return views.again(request, "ingestion/curation/event_detail.html", context, refusal)
    sentences.add_toast(request, workspace, undone)
    default = reverse("ingestion:event_detail", args=[workspace.slug, undone.pk])
    return HttpResponseRedirect(forms.back_of(request, default))


# --- decisions about names ------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "POST")
def decision_record(request: UserRequest, workspace: Workspace) -> HttpResponse:
    left = _entity(workspace, request.POST, "left")
    right = _entity(workspace, request.POST, "right")
    verdict = Verdict.SAME if request.POST.get("verdict") == Verdict.SAME else Verdict.DIFFERENT
    try:
        merging.decision_record(
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
        undoing.decision_undo(workspace=workspace, decision=decision, user=request.user)
        messages.success(request, f"Undone. {FOLLOWS}")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    entity = resolution_queries.entity_of_key(workspace=workspace, key=decision.left_key)
    if entity is None:
        return redirect("ingestion:entity_list", workspace.slug)
    return redirect("ingestion:entity_detail", workspace.slug, entity.pk)


def _entity(workspace: Workspace, form: QueryDict, name: str) -> Entity:
    wanted = id_in(form.get(name, ""))
    if wanted is None:
        raise NotFoundError("There is no such entity in this workspace.")
    return knowledge_queries.entity_get(workspace=workspace, entity_id=wanted)
