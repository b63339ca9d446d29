"""Who did what, in sentences, and whether it can be undone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from django.db.models import QuerySet

from ingestion.history.sentences import active, passive, who
from ingestion.models import EventKind, HistoryEvent
from kb_project.errors import found
from kb_project.sql import run_sql
from workspaces.models import User, Workspace

# The latest event that blocks an undo, or the one that is for good. Of two events that create or
# remove the same entity, or change the same document's lifecycle, the later one blocks; so does any
# change to what the earlier event created. An undo counts as the kind of event it undoes.
BLOCKERS: Final[LiteralString] = """
WITH asked AS (
    SELECT id, sequence, batch, details,
           CASE WHEN kind = 'undo' THEN details->>'undoes_kind' ELSE kind END AS kind
      FROM ingestion_historyevent
     WHERE workspace_id = %(workspace)s AND id = ANY(%(events)s::uuid[])
)
SELECT DISTINCT ON (e.id) e.id, l.id, s.subject_id
  FROM asked AS e
  JOIN ingestion_historysubject AS s ON s.workspace_id = %(workspace)s AND s.event_id = e.id
  JOIN ingestion_historysubject AS t ON t.workspace_id = %(workspace)s
       AND t.subject_id = s.subject_id AND t.sequence > e.sequence
  JOIN ingestion_historyevent AS l ON l.workspace_id = %(workspace)s AND l.id = t.event_id
 WHERE l.undone_at IS NULL AND l.kind <> 'undo'
   AND (e.batch IS NULL OR l.batch IS DISTINCT FROM e.batch)
   AND ((s.kind = 'entity' AND e.kind = ANY(%(identity)s::text[])
         AND l.kind = ANY(%(identity)s::text[]))
        OR (s.kind = 'document' AND e.kind = ANY(%(life)s::text[])
            AND l.kind = ANY(%(life)s::text[]))
        OR jsonb_exists(e.details->'created', s.subject_id::text))
 ORDER BY e.id, l.kind = ANY(%(for_good)s::text[]) DESC, l.sequence DESC
"""


Kind = EventKind

IDENTITY: Final = (
    Kind.ENTITY_CREATED,
    Kind.ENTITY_DELETED,
    Kind.ENTITIES_MERGED,
    Kind.ENTITY_SPLIT,
    Kind.MENTIONS_MOVED,
    Kind.DECISION_UNDONE,
    Kind.GRAPH_IMPORTED,
)
"""Events that create and remove entities: those on one entity are undone in reverse order."""
LIFE: Final = (
    Kind.DOCUMENT_ADDED,
    Kind.DOCUMENT_REPLACED,
    Kind.DOCUMENT_DISABLED,
    Kind.DOCUMENT_ENABLED,
    Kind.DOCUMENT_TRASHED,
    Kind.DOCUMENT_RESTORED,
    Kind.DOCUMENT_DELETED,
)
"""A document's lifecycle, whose order cannot be changed afterwards."""
FOR_GOOD: Final = (
    Kind.DOCUMENT_DELETED,
    Kind.COLLECTION_CREATED,
    Kind.COLLECTION_RENAMED,
    Kind.COLLECTION_DELETED,
)
"""Events that cannot be undone. A collection has nothing to lose: it can be made again."""
LISTED: Final = [(str(one), str(label)) for one, label in Kind.choices if one != Kind.COPIED]
"""The kinds that are listed, with their labels: what was copied into an edition never is."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """A later event that must be undone first, or that is for good."""

    event_id: uuid.UUID
    sentence: str
    is_for_good: bool


@dataclass(frozen=True, slots=True)
class EventView:
    """One event, for display.

    ``sentence`` says who did what. ``before`` and ``after`` are values by field, if there are any.
    ``names`` are those of its subjects at the time, by id.
    """

    event: HistoryEvent
    sentence: str
    who: str
    when: datetime
    reason: str
    is_undone: bool
    can_undo: bool
    blocked_by: Blocker | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    counts: Mapping[str, int]
    names: Mapping[str, str]


def events(
    *,
    workspace: Workspace,
    subject_id: uuid.UUID | None = None,
    user: User | int | None = None,
    kind: str = "",
    before: int | None = None,
) -> QuerySet[HistoryEvent]:
    """Latest first. ``before`` is a sequence number: only earlier events."""
    rows = HistoryEvent.objects.in_workspace(workspace).exclude(kind=EventKind.COPIED)
    if subject_id is not None:
        rows = rows.filter(subjects__subject_id=subject_id, subjects__workspace=workspace)
    if user is not None:
        rows = rows.filter(user=user)
    if kind:
        rows = rows.filter(kind=kind)
    if before is not None:
        rows = rows.filter(sequence__lt=before)
    return rows.select_related("user", "undone_by").order_by("-sequence")


def event_get(*, workspace: Workspace, event_id: uuid.UUID) -> HistoryEvent:
    """Raises NotFoundError."""
    return found(events(workspace=workspace).filter(pk=event_id).first(), "event")


def event_views(*, workspace: Workspace, rows: Sequence[HistoryEvent]) -> list[EventView]:
    shown = list(rows)
    blocked = blockers(workspace=workspace, events=[row.pk for row in shown if is_open(row)])
    return [_view(row, blocked.get(row.pk)) for row in shown]


def event_sentences(
    *, workspace: Workspace, event_ids: Collection[uuid.UUID]
) -> list[dict[str, str]]:
    """What was done, in order, for API clients."""
    rows = events(workspace=workspace).filter(pk__in=event_ids).order_by("sequence")
    return [{"id": str(row.pk), "sentence": f"{active(row)}."} for row in rows]


def blockers(*, workspace: Workspace, events: Collection[uuid.UUID]) -> dict[uuid.UUID, Blocker]:
    """For each event that cannot be undone now, the later event that prevents it."""
    if not events:
        return {}
    values = {"workspace": workspace.pk, "events": list(events)}
    kinds = {"identity": list(IDENTITY), "life": list(LIFE), "for_good": list(FOR_GOOD)}
    rows = run_sql(BLOCKERS, values | kinds)
    later = (
        HistoryEvent.objects.in_workspace(workspace)
        .select_related("user")
        .in_bulk({blocker_id for _, blocker_id, _ in rows})
    )
    return {
        event_id: Blocker(
            blocker_id,
            f"{passive(later[blocker_id], of=str(subject), again=True)}.",
            is_for_good=kind_of(later[blocker_id]) in FOR_GOOD,
        )
        for event_id, blocker_id, subject in rows
    }


def kind_of(event: HistoryEvent) -> str:
    """The event's kind; for an undo, that of the event undone."""
    return str(event.details.get("undoes_kind", event.kind))


def is_of_documents(event: HistoryEvent) -> bool:
    """Whether it concerns documents and collections rather than the graph."""
    return kind_of(event).startswith(("document_", "collection_"))


def is_open(event: HistoryEvent) -> bool:
    """Whether it is of a kind that can be undone, and has not been undone."""
    return event.undone_at is None and kind_of(event) not in FOR_GOOD


def _view(event: HistoryEvent, blocker: Blocker | None) -> EventView:
    details = event.details
    return EventView(
        event=event,
        sentence=f"{active(event)}.",
        who=who(event),
        when=event.created_at,
        reason=event.reason,
        is_undone=event.undone_at is not None,
        can_undo=is_open(event) and blocker is None,
        blocked_by=blocker,
        before=details.get("before", {}),
        after=details.get("after", {}),
        counts=details.get("counts", {}),
        names=details.get("names", {}),
    )
