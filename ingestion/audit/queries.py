"""Who did what in a workspace: its settings and members, documents, and graph, as one list.

Two tables hold it: ``AuditEvent``, and ``HistoryEvent`` of what can be undone.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Value
from django.utils.text import capfirst

from ingestion.history import queries as history_queries, sentences as history_sentences
from ingestion.models import EventKind, HistoryEvent, HistorySubject, SubjectKind
from workspaces import audit
from workspaces.models import AuditAction, AuditEvent, User, Workspace

VIA: Final = {"page": "Page", "api": "API", "command": "Command", "schedule": "Schedule"}
ACTIONS: Final = [*AuditAction.choices, *history_queries.LISTED]
_AUDIT, _HISTORY = "audit", "history"
EventT = TypeVar("EventT", bound=Model)

Place = tuple[datetime, uuid.UUID, str]
"""When an event was, its id, and which table has it."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of the audit; '' and None mean no restriction. ``until`` itself is left out."""

    person: int | None = None
    action: str = ""
    kind: str = ""
    via: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action. ``before`` and ``after`` hold what changed, by field."""

    id: uuid.UUID
    when: datetime
    who: str
    token: str
    via: str
    action: str
    label: str
    sentence: str
    object_kind: str
    object_id: str
    object_name: str
    reason: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    request_id: str
    is_undone: bool = False

    @property
    def object_label(self) -> str:
        return object_label(self.object_kind)


def object_label(kind: str) -> str:
    """
    >>> object_label("relationship"), object_label("group")
    ('Fact', 'Group')
    """
    return str(dict(SubjectKind.choices).get(kind, capfirst(kind)))


def places(*, workspace: Workspace, wanted: AuditFilter) -> QuerySet[Any, Place]:
    """Return where the matching events are, newest first."""
    audit = _matching(AuditEvent.objects.in_workspace(workspace), wanted)
    history = _matching(HistoryEvent.objects.in_workspace(workspace), wanted)
    if wanted.action:
        audit = audit.filter(action=wanted.action)
        history = history.filter(kind=wanted.action)
    if wanted.kind:
        audit = audit.filter(object_kind=wanted.kind)
        subjects = HistorySubject.objects.in_workspace(workspace)
        named = subjects.filter(event_id=OuterRef("pk"), kind=wanted.kind)
        history = history.filter(Exists(named))
    both = _places(audit, _AUDIT).union(_places(history, _HISTORY), all=True)
    return both.order_by("-created_at", "-pk")


def entries(*, workspace: Workspace, at: Sequence[Place]) -> list[AuditEntry]:
    """Return the events at these places, in their order."""
    audit = AuditEvent.objects.in_workspace(workspace)
    known_audit = audit.in_bulk([pk for _, pk, table in at if table == _AUDIT])
    history = history_queries.events(workspace=workspace)
    known_history = history.in_bulk([pk for _, pk, table in at if table == _HISTORY])
    return [
        _of_audit(known_audit[pk]) if table == _AUDIT else _of_history(known_history[pk])
        for _, pk, table in at
    ]


def people(*, workspace: Workspace) -> list[User]:
    """Return everyone who did something here and still has an account."""
    ids = AuditEvent.objects.in_workspace(workspace).order_by().values("user_id")
    others = HistoryEvent.objects.in_workspace(workspace).order_by().values("user_id")
    return list(User.objects.filter(Q(pk__in=ids) | Q(pk__in=others)).order_by("name", "email"))


def object_kinds(*, workspace: Workspace) -> list[str]:
    rows = AuditEvent.objects.in_workspace(workspace).exclude(object_kind="").order_by()
    found = rows.values_list("object_kind", flat=True).distinct()
    return sorted({*found, *map(str, SubjectKind.values)})


def _matching(rows: QuerySet[EventT], wanted: AuditFilter) -> QuerySet[EventT]:
    """Apply the filters that both tables share."""
    if wanted.person is not None:
        rows = rows.filter(user_id=wanted.person)
    if wanted.via:
        # The history leaves it empty for pages.
        rows = rows.filter(via__in=[wanted.via, ""] if wanted.via == "page" else [wanted.via])
    if wanted.since is not None:
        rows = rows.filter(created_at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(created_at__lt=wanted.until)
    return rows


def _places(rows: QuerySet[EventT], table: str) -> QuerySet[EventT, Place]:
    found: QuerySet[EventT, Place] = (
        rows.order_by().annotate(table=Value(table)).values_list("created_at", "pk", "table")
    )
    return found


def _of_audit(event: AuditEvent) -> AuditEntry:
    return AuditEntry(
        id=event.pk,
        when=event.created_at,
        who=event.actor,
        token=event.token,
        via=event.via,
        action=event.action,
        label=audit.label(event.action),
        sentence=audit.sentence(event),
        object_kind=event.object_kind,
        object_id=event.object_id,
        object_name=event.object_name,
        reason="",
        before=event.before,
        after=event.after,
        request_id=event.request_id,
    )


def _of_history(event: HistoryEvent) -> AuditEntry:
    names = history_sentences.names_in(event)
    kind = history_queries.kind_of(event).partition("_")[0]
    who = history_sentences.who(event)
    return AuditEntry(
        id=event.pk,
        when=event.created_at,
        who=who[0].upper() + who[1:],
        token="",
        via=event.via or "page",
        action=event.kind,
        label=str(EventKind(event.kind).label),
        sentence=f"{history_sentences.active(event)}.",
        object_kind=kind if kind in SubjectKind.values else SubjectKind.ENTITY.value,
        object_id=next(iter(names), ""),
        object_name=", ".join(list(names.values())[: history_sentences.MOST_NAMES]),
        reason=event.reason,
        before=event.details.get("before") or {},
        after=event.details.get("after") or {},
        request_id=event.request_id,
        is_undone=event.undone_at is not None,
    )
