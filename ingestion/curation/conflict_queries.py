"""Sources that disagree: listed, counted, and shown with their quotes and what was decided."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When

from ingestion.history.sentences import who
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import (
    Conflict,
    ConflictSide,
    ConflictState,
    ConflictVerdict,
    Entity,
    EventKind,
)
from kb_project.errors import found
from workspaces.models import Workspace

MOST_ON_ENTITY: Final = 20


@dataclass(frozen=True, slots=True)
class ConflictFilter:
    """Which conflicts to list; '' and None are any."""

    state: str = ""
    kind: str = ""
    document: uuid.UUID | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class ValueView:
    """A value, and the quotes that give it."""

    key: str
    label: str
    sources: tuple[SourceSpan, ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A conflict with its values, those of the earliest documents first.

    ``verdict`` is that of the decision in force, '' if there is none. ``who`` decided is '' where
    that is not known, as in an edition.
    """

    conflict: Conflict
    values: tuple[ValueView, ...]
    verdict: str
    who: str
    when: datetime | None
    reason: str

    @property
    def id(self) -> uuid.UUID:
        own_id: uuid.UUID = self.conflict.pk
        return own_id

    @property
    def subject(self) -> Entity:
        return self.conflict.subject

    @property
    def is_open(self) -> bool:
        return self.conflict.state == ConflictState.OPEN

    @property
    def holding(self) -> ValueView | None:
        return next((value for value in self.values if value.holds), None)

    @property
    def documents(self) -> int:
        return len({span.document.pk for value in self.values for span in value.sources})

    @property
    def decision(self) -> str:
        """What was decided, in words; '' while it is open."""
        if holding := self.holding:
            return f"“{holding.label}” holds"
        return {
            ConflictVerdict.BOTH.value: "All of them are right",
            ConflictVerdict.LEFT.value: "Left open",
        }.get(self.verdict, "")


def conflict_rows(workspace: Workspace, wanted: ConflictFilter) -> QuerySet[Conflict]:
    """Return conflicts, open ones first, then the latest."""
    rows = Conflict.objects.in_workspace(workspace)
    for name in ("state", "kind"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: value})
    if wanted.document:
        sides = ConflictSide.objects.in_workspace(workspace)
        rows = rows.filter(Exists(sides.filter(conflict=OuterRef("pk"), document=wanted.document)))
    if wanted.text:
        rows = rows.filter(
            Q(subject__name__icontains=wanted.text) | Q(topic__icontains=wanted.text)
        )
    is_closed = Case(When(state=ConflictState.OPEN, then=Value(0)), default=Value(1))
    rows = rows.select_related("subject", "event__user")
    return rows.order_by(is_closed, "-found_at", "id")


def conflict_get(*, workspace: Workspace, conflict_id: uuid.UUID) -> Conflict:
    """Return the conflict with its subject and event. Raises NotFoundError."""
    rows = Conflict.objects.in_workspace(workspace).select_related("subject", "event__user")
    return found(rows.filter(pk=conflict_id).first(), "conflict")


def about_entity(workspace: Workspace, entity: Entity) -> list[ConflictView]:
    """Return the conflicts about an entity, open ones first."""
    rows = conflict_rows(workspace, ConflictFilter()).filter(subject=entity)
    return conflict_views(workspace, list(rows[:MOST_ON_ENTITY]))


def conflict_views(workspace: Workspace, rows: Sequence[Conflict]) -> list[ConflictView]:
    """Return any number of conflicts with their sides, in one query."""
    sides = ConflictSide.objects.in_workspace(workspace).filter(conflict__in=[r.pk for r in rows])
    by_conflict: defaultdict[uuid.UUID, list[ConflictSide]] = defaultdict(list)
    for side in sides.select_related("chunk__document").order_by("ordinal"):
        by_conflict[side.conflict_id].append(side)
    return [_view(row, by_conflict[row.pk]) for row in rows]


def _view(conflict: Conflict, sides: Iterable[ConflictSide]) -> ConflictView:
    by_key: defaultdict[str, list[ConflictSide]] = defaultdict(list)
    for side in sides:
        by_key[side.key].append(side)
    event = conflict.event
    is_known = event is not None and event.kind != EventKind.COPIED
    return ConflictView(
        conflict,
        tuple(
            ValueView(
                key,
                several[0].value,
                tuple(span_of(one) for one in several),
                holds=bool(key) and key == conflict.holds,
            )
            for key, several in by_key.items()
        ),
        verdict=_verdict(conflict),
        who=who(event) if event and is_known else "",
        when=event.created_at if event and is_known else None,
        reason=event.reason if event else "",
    )


def _verdict(conflict: Conflict) -> str:
    if conflict.state == ConflictState.OPEN:
        return ""
    if conflict.state == ConflictState.LEFT:
        return ConflictVerdict.LEFT.value
    return ConflictVerdict.HOLDS.value if conflict.holds else ConflictVerdict.BOTH.value
