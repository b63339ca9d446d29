"""Undoing events: an event's rulings no longer count, and derived data is as without them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q
from django.utils import timezone

from ingestion.curation import effects, suggested
from ingestion.curation.effects import Effect
from ingestion.curation.operation import operation, tell
from ingestion.curation.subjects import id_of
from ingestion.curation.validation import UNCHANGED
from ingestion.documents import lifecycle, versions
from ingestion.history import queries as told, recording
from ingestion.history.recording import ChangeContext
from ingestion.history.sentences import active
from ingestion.models import (
    EntityRuling,
    EventKind,
    HistoryEvent,
    HistorySubject,
    MentionPlacement,
    RelationshipRuling,
    ResolutionDecision,
    SubjectKind,
)
from ingestion.pipeline.propagate import read_anew
from ingestion.resolution.active import load_reading
from ingestion.resolution.overrides import Reading
from ingestion.stages.resolve.pairs import read_otherwise
from kb_project.errors import ConflictError, found
from workspaces.models import Workspace

RULINGS = (MentionPlacement, EntityRuling, RelationshipRuling, ResolutionDecision)


def event_undo(*, change: ChangeContext, event: HistoryEvent | uuid.UUID) -> HistoryEvent:
    """Undo an event and its whole batch. Undoing an undo redoes the change.

    Raises ConflictError: already_undone; undo_blocked, naming the later event to undo first;
    not_undoable for permanent deletions.
    """
    return operation(change, lambda: _undo(change, id_of(event)))


def _undo(change: ChangeContext, event_id: uuid.UUID) -> HistoryEvent:
    events = _batch(change.workspace, event_id)
    for event in events:
        _refuse_what_cannot_be(event)
    _refuse_what_is_blocked(change.workspace, events)
    subjects = _subjects(change.workspace, events)
    measure = _Measure(change.workspace, subjects)
    undoing = recording.record(change, EventKind.UNDO, subjects, _details(events), undoes=events[0])
    reading = load_reading(change.workspace.pk, [])
    keys: set[str] = set()
    for event in events:
        keys |= _take_back(change, event)
    _mark(change, events)
    if keys:
        after = load_reading(change.workspace.pk, [])
        keys |= _as_read(reading, keys)
        keys |= _as_read(after, keys)
        read_anew(change.workspace.pk, keys | read_otherwise(reading, after))
    effect = measure.effect()
    return tell(undoing, {"counts": effect.figures, "verb": effect.verb.value})


class _Measure:
    """Measures how entities and documents change between two moments."""

    def __init__(self, workspace: Workspace, subjects: recording.Subjects) -> None:
        self.workspace = workspace
        of_kind = {kind: [one for one in subjects if subjects[one] == kind] for kind in SubjectKind}
        self.entities = of_kind[SubjectKind.ENTITY]
        self.documents = of_kind[SubjectKind.DOCUMENT]
        self.state = effects.state_of(workspace, self.entities)
        self.held = effects.of_documents(workspace, self.documents)

    def effect(self) -> Effect:
        if self.documents:
            held = effects.of_documents(self.workspace, self.documents)
            return effects.between_documents(self.held, held)
        return effects.between(
            self.state,
            effects.state_of(self.workspace, self.entities),
            verb=effects.Verb.RETURN,
            reports=effects.reports_about(self.workspace, self.entities),
        )


def _batch(workspace: Workspace, event_id: uuid.UUID) -> list[HistoryEvent]:
    """Return the event and the other events of its batch, newest first."""
    rows = HistoryEvent.objects.in_workspace(workspace).select_related("user")
    event = found(rows.filter(pk=event_id).first(), "event")
    if event.batch is None or event.undone_at is not None:
        return [event]
    others = rows.filter(batch=event.batch, undone_at=None).exclude(kind=EventKind.UNDO)
    return sorted({event, *others}, key=lambda one: -one.sequence)


def _refuse_what_cannot_be(event: HistoryEvent) -> None:
    if event.undone_at is not None:
        raise ConflictError(
            "This has already been undone.",
            code="already_undone",
            kept=UNCHANGED,
            fields={"event": str(event.pk)},
        )
    if not told.is_open(event):
        raise ConflictError(
            "This can't be undone.",
            code="not_undoable",
            kept=UNCHANGED,
            next_step="To bring a deleted document back, add its file again.",
            fields={"event": str(event.pk)},
        )


def _refuse_what_is_blocked(workspace: Workspace, events: Sequence[HistoryEvent]) -> None:
    blocked = told.blockers(workspace=workspace, events=[event.pk for event in events])
    for event in events:
        blocker = blocked.get(event.pk)
        if blocker is not None:
            raise ConflictError(
                blocker.sentence,
                code="undo_blocked",
                kept=UNCHANGED,
                next_step="Undo that first.",
                fields={"event": str(blocker.event_id)},
            )


def _subjects(workspace: Workspace, events: Sequence[HistoryEvent]) -> recording.Subjects:
    rows = HistorySubject.objects.in_workspace(workspace).filter(event__in=events)
    return {one: SubjectKind(kind) for one, kind in rows.values_list("subject_id", "kind")}


def _details(events: Sequence[HistoryEvent]) -> dict[str, Any]:
    """Return an undo's details: the first event in words, all of them by id."""
    first = events[0]
    names = {one: name for event in events for one, name in event.details.get("names", {}).items()}
    kinds = [event.details.get("undoes_kind", event.kind) for event in events]
    more = f" and {len(events) - 1} more" if len(events) > 1 else ""
    return {
        "names": names,
        "undone": [str(event.pk) for event in events],
        "undoes_kind": next((kind for kind in kinds if kind in told.IDENTITY), kinds[0]),
        "undid": active(first) + more,
        "before": first.details.get("after", {}),
        "after": first.details.get("before", {}),
    }


def _mark(change: ChangeContext, events: Iterable[HistoryEvent], *, is_undone: bool = True) -> None:
    """Mark events as undone, or as active; events they had undone get the opposite mark."""
    for event in events:
        HistoryEvent.objects.in_workspace(change.workspace).filter(pk=event.pk).update(
            undone_at=timezone.now() if is_undone else None,
            undone_by=change.user if is_undone else None,
        )
        _mark(change, _undone_by(event), is_undone=not is_undone)


def _undone_by(event: HistoryEvent) -> list[HistoryEvent]:
    if event.kind != EventKind.UNDO:
        return []
    rows = HistoryEvent.objects.in_workspace(event.workspace_id)
    return list(rows.filter(pk__in=event.details["undone"]).order_by("sequence"))


# --- the inverse of each kind ---------------------------------------------------------------------
def _take_back(change: ChangeContext, event: HistoryEvent) -> set[str]:
    """Undo one event; returns the names to read again."""
    if event.kind == EventKind.DOCUMENT_REPLACED:
        versions.take_back(change=change, event=event)
        return set()
    if event.kind.startswith("document_"):
        lifecycle.take_back(change=change, event=event)
        return set()
    return _turn(change.workspace, event, stands=False)


def _turn(workspace: Workspace, event: HistoryEvent, *, stands: bool) -> set[str]:
    """Activate or deactivate an event's rulings; returns the names they concern."""
    keys = _keys(workspace, event)
    for one in _undone_by(event):
        keys |= _turn(workspace, one, stands=not stands)
    undone_at = None if stands else timezone.now()
    for model in RULINGS:
        model.objects.in_workspace(workspace).filter(event=event).update(undone_at=undone_at)
    if event.kind == EventKind.DECISION_UNDONE:
        # The event itself deactivated a decision, so without the event the decision is active.
        rows = ResolutionDecision.objects.in_workspace(workspace)
        rows.filter(pk=event.details["decision"]).update(
            undone_at=timezone.now() if stands else None
        )
    suggested.show_standing(workspace, _pairs(workspace, event))
    return keys


def _decisions(workspace: Workspace, event: HistoryEvent) -> Iterable[ResolutionDecision]:
    mine = Q(event=event) | Q(pk=event.details.get("decision"))
    return ResolutionDecision.objects.in_workspace(workspace).filter(mine)


def _pairs(workspace: Workspace, event: HistoryEvent) -> list[tuple[str, str]]:
    rows = _decisions(workspace, event)
    return [
        (row.left_key, row.right_key)
        for row in rows
        if row.right_key and not row.left_sense and not row.right_sense
    ]


def _keys(workspace: Workspace, event: HistoryEvent) -> set[str]:
    """Return every name that the event's rulings concern."""
    keys = {key for key, _ in event.details.get("refs", {}).values()}
    for row in _decisions(workspace, event):
        keys |= {row.left_key, row.right_key}
    placed = MentionPlacement.objects.in_workspace(workspace).filter(event=event)
    for key, target in placed.values_list("key", "target_key"):
        keys |= {key, target}
    return keys - {""}


def _as_read(reading: Reading, keys: set[str]) -> set[str]:
    """Return the keys that entities of these names are read as."""
    return {read[0] for ref, read in reading.refs.items() if ref[0] in keys}
