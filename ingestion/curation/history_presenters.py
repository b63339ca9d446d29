"""The history of a workspace, an entity or a document, filtered."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date

from ingestion.curation import queries as curation_queries
from ingestion.curation.effects import of_event
from ingestion.curation.presenters import page_context, previewed
from ingestion.curation.undoing import event_undo
from ingestion.documents import forms, queries as document_queries
from ingestion.history import queries
from ingestion.history.queries import EventView
from ingestion.models import Document, Entity, EventKind
from workspaces.models import Capability, User, Workspace

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
        person=forms.number(query, "person"),
        kind=kind if kind in dict(queries.LISTED) else "",
        since=day_of(query.get("since", "")),
        until=day_of(query.get("until", "")),
        before=forms.number(query, "before"),
    )


def day_of(text: str) -> date | None:
    try:
        return parse_date(text[:10])
    except ValueError:
        return None


def history_page(
    *, workspace: Workspace, wanted: Filter, subject_id: uuid.UUID | None = None
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


# --- the pages ------------------------------------------------------------------------------------
def workspace_context(*, workspace: Workspace, query: QueryDict) -> dict[str, Any]:
    page = history_page(workspace=workspace, wanted=filter_of(query))
    return page_context(workspace, "history", history=page)


def entity_context(
    *, workspace: Workspace, entity_id: uuid.UUID, query: QueryDict
) -> dict[str, Any]:
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
    *, workspace: Workspace, document_id: uuid.UUID, query: QueryDict
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


def event_context(*, workspace: Workspace, event_id: uuid.UUID) -> dict[str, Any]:
    """Build the context of one event, with a preview of undoing it. Raises NotFoundError."""
    event = queries.event_get(workspace=workspace, event_id=event_id)
    [view] = queries.event_views(workspace=workspace, rows=[event])
    is_of_documents = queries.is_of_documents(event)
    allowed = workspace.may(Capability.EDIT) if is_of_documents else workspace.may_curate
    preview = None
    if allowed and view.can_undo:
        preview = previewed(event_undo, workspace=workspace, event=event)
    return page_context(
        workspace, "history", allowed=allowed, item=shown_event(view), seen=[], preview=preview
    )
