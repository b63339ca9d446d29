"""The history of a workspace, an entity or a document, filtered."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date

from ingestion.curation import previewing, queries as curation_queries
from ingestion.curation.effects import of_event
from ingestion.curation.presenters import previewed, rights
from ingestion.documents import forms, queries as document_queries
from ingestion.history import queries
from ingestion.history.queries import EventView
from ingestion.models import Document, Entity, EventKind, HistoryEvent
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
    def kinds(self) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in EventKind.choices]


def filter_of(query: QueryDict) -> Filter:
    """Parse a filter; invalid parts are ignored."""
    kind = query.get("kind", "")
    return Filter(
        person=forms.number(query, "person"),
        kind=kind if kind in EventKind.values else "",
        since=_day(query.get("since", "")),
        until=_day(query.get("until", "")),
        before=forms.number(query, "before"),
    )


def _day(text: str) -> date | None:
    try:
        return parse_date(text[:10])
    except ValueError:
        return None


def history_page(
    *, workspace: Workspace, wanted: Filter, subject_id: uuid.UUID | None = None
) -> HistoryPage:
    found = _narrowed(
        queries.events(
            workspace=workspace,
            subject_id=subject_id,
            user=wanted.person,
            kind=wanted.kind,
            before=wanted.before,
        ),
        wanted,
    )
    rows = list(found[: EVENTS_PER_PAGE + 1])
    shown = rows[:EVENTS_PER_PAGE]
    return HistoryPage(
        events=tuple(
            shown_event(view) for view in queries.event_views(workspace=workspace, rows=shown)
        ),
        people=tuple(_people(queries.events(workspace=workspace, subject_id=subject_id))),
        wanted=wanted,
        older=shown[-1].sequence if len(rows) > EVENTS_PER_PAGE else None,
    )


def _narrowed(rows: QuerySet[HistoryEvent], wanted: Filter) -> QuerySet[HistoryEvent]:
    if wanted.since:
        rows = rows.filter(created_at__gte=_midnight(wanted.since))
    if wanted.until and wanted.until < date.max:
        rows = rows.filter(created_at__lt=_midnight(wanted.until + timedelta(days=1)))
    return rows


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def _people(rows: QuerySet[HistoryEvent]) -> QuerySet[User]:
    users = rows.order_by().exclude(user=None).values("user_id").distinct()
    return User.objects.filter(pk__in=users).order_by("name", "email")


def shown_event(view: EventView) -> ShownEvent:
    effect = of_event(view.event)
    return ShownEvent(view, effect.sentence if any(effect.figures.values()) else "")


def history_context(
    *, workspace: Workspace, query: QueryDict, subject_id: uuid.UUID | None = None
) -> dict[str, Any]:
    """Build the context of ``ingestion/curation/history_list.html``, except the workspace."""
    page = history_page(workspace=workspace, wanted=filter_of(query), subject_id=subject_id)
    return {"history": page}


# --- one entity, one document, one event ----------------------------------------------------------
def entity_context(*, workspace: Workspace, entity_id: uuid.UUID) -> dict[str, Any]:
    """Build the context for an existing or deleted entity. Raises NotFoundError."""
    entity = Entity.objects.in_workspace(workspace).filter(pk=entity_id).first()
    gone = None
    if entity is None:
        gone = curation_queries.entity_gone(workspace=workspace, entity_id=entity_id)
    context = {"workspace": workspace, "section": "entities", "entity": entity}
    context |= {"entity_id": entity_id, "name": entity.name if entity else gone and gone.name}
    return context | rights(workspace)


def document_context(*, workspace: Workspace, document_id: uuid.UUID) -> dict[str, Any]:
    """Build the context for a document, existing or deleted for good. Raises NotFoundError."""
    document = Document.objects.in_workspace(workspace).filter(pk=document_id).first()
    past_rows = queries.events(workspace=workspace, subject_id=document_id)
    event = past_rows.first()
    if document is None and event is None:
        document_queries.document_get(workspace=workspace, document_id=document_id)
    told = event.details.get("names", {}) if event else {}
    name = document.title if document else told.get(str(document_id), "a document")
    context = {"workspace": workspace, "section": "documents", "document": document, "name": name}
    return context | rights(workspace)


def may_undo(workspace: Workspace, event: HistoryEvent) -> bool:
    needed = Capability.EDIT if queries.is_of_documents(event) else Capability.CURATE
    return workspace.may(needed)


def event_context(*, workspace: Workspace, event_id: uuid.UUID) -> dict[str, Any]:
    """Build the context of one event, with a preview of undoing it. Raises NotFoundError."""
    event = queries.event_get(workspace=workspace, event_id=event_id)
    [view] = queries.event_views(workspace=workspace, rows=[event])
    allowed = may_undo(workspace, event)
    context: dict[str, Any] = {"workspace": workspace, "section": "history", "allowed": allowed}
    context |= {"item": shown_event(view), "seen": [], "preview": None} | rights(workspace)
    if allowed and view.can_undo:
        context["preview"] = previewed(
            workspace, lambda: previewing.undo(workspace=workspace, event=event)
        )
    return context
