"""Undoing events and decisions: they are out of force, and derived data is as without them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.utils import timezone

from ingestion.curation import effects, values
from ingestion.curation.effects import Effect, Measure, Verb
from ingestion.curation.operation import add_details, operation
from ingestion.curation.validation import UNCHANGED, as_subjects, id_of
from ingestion.documents import lifecycle, versions
from ingestion.history import queries as history_queries, recording
from ingestion.history.recording import ChangeContext
from ingestion.history.sentences import active
from ingestion.models import (
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    HistorySubject,
    ResolutionDecision,
    SubjectKind,
)
from ingestion.pipeline.propagate import propagate
from ingestion.resolution import conflicts, decisions
from ingestion.resolution.keys import Ref, entity_id
from kb_project.errors import ConflictError, found
from workspaces.models import User, Workspace

FOR_GOOD: Final[Mapping[str, str]] = {
    EventKind.DOCUMENT_DELETED: "To bring a deleted document back, add its file again.",
    EventKind.COLLECTION_CREATED: "Delete the collection instead.",
    EventKind.COLLECTION_RENAMED: "Rename the collection instead.",
    EventKind.COLLECTION_DELETED: "Create the collection again.",
}
"""What to do instead of an undo."""
NO_REPORTS: Final = (EventKind.CONFLICT_DECIDED, EventKind.NOT_THE_SAME)


def event_undo(*, change: ChangeContext, event: HistoryEvent | uuid.UUID) -> HistoryEvent:
    """Undo an event and its whole batch. Undoing an undo redoes the change.

    Raises ConflictError: already_undone; undo_blocked, naming the later event that prevents it;
    not_undoable for permanent deletions.
    """
    return operation(change, lambda: _undo(change, id_of(event)))


def _undo(change: ChangeContext, event_id: uuid.UUID) -> HistoryEvent:
    workspace = change.workspace
    events = _batch(workspace, event_id)
    for event in events:
        _refuse_what_cannot_be(event)
    _refuse_what_is_blocked(workspace, events)
    rows = HistorySubject.objects.in_workspace(workspace).filter(event__in=events)
    subjects = {one: SubjectKind(kind) for one, kind in rows.values_list("subject_id", "kind")}
    documents = [one for one, kind in subjects.items() if kind == SubjectKind.DOCUMENT]
    held = effects.of_documents(workspace, documents)
    entities = [one for one, kind in subjects.items() if kind == SubjectKind.ENTITY]
    measure = Measure(workspace, entities)
    edits = _origins(events)
    old = values.read(edits)
    undo = recording.record(change, EventKind.UNDO, subjects, _details(events), undoes=events[0])
    waits = _carry_out(change, events, are_of_documents=bool(documents))
    for event in edits:
        decisions.suggest_again(workspace.pk, event.details.get("suggestions", ()))
    if documents:
        effect = effects.between_documents(held, effects.of_documents(workspace, documents))
    else:
        effect = effects.of_return(events) if waits else measure.effect(verb=Verb.RETURN)
        effect = replace(effect, reports=_reports(workspace, entities, effect, edits))
    effect, details = _with_values(effect, edits, old, waits=waits)
    return add_details(undo, counts=effect.figures, verb=effect.verb.value, **details)


def _with_values(
    effect: Effect,
    edits: Sequence[HistoryEvent],
    old: Sequence[values.Values] | None,
    *,
    waits: bool,
) -> tuple[Effect, dict[str, Any]]:
    """Return the effect, none if nothing changed, and in details what values became and why."""
    details: dict[str, Any] = {}
    notes = [_how_many(edits)] if len(edits) > 1 else []
    new = values.read(edits)
    if old and new:
        pairs = list(zip(edits, old, new, strict=True))
        kept = [event for event, was, now in pairs if was == now]
        # Of several changes, the first that the undo turned is shown.
        _, was, now = next((one for one in pairs if one[1] != one[2]), pairs[0])
        details = {"before": was.shown, "after": now.shown}
        if len(kept) == len(edits) and not (waits or effect.mentions or effect.facts):
            effect = Effect(verb=Verb.RETURN)
            notes.append(_why_unchanged(edits[0]))
        elif kept:
            notes.append(_which_are_kept(kept))
    return effect, details | ({"notes": notes} if notes else {})


def _carry_out(
    change: ChangeContext, events: Sequence[HistoryEvent], *, are_of_documents: bool
) -> bool:
    """Undo the events; returns whether a worker applies what follows, as ``propagate`` does."""
    workspace = change.workspace
    before = decisions.load_resolution(workspace.pk)
    keys: set[str] = set()
    for event in events:
        keys |= _undo_one(change, event)
    _mark(change, events)
    if are_of_documents and not keys:
        return False
    after = decisions.load_resolution(workspace.pk)
    refs = [*before.refs.items(), *after.refs.items()]
    keys |= {entity[0] for ref, entity in refs if ref[0] in keys}
    # Documents may state a fact that is deleted again, or no longer.
    keys |= {key for link in before.dropped ^ after.dropped for key, _ in link}
    names = keys | after.changed_since(before)
    return propagate(workspace.pk, names, after, may_wait=True)


def _reports(
    workspace: Workspace,
    entities: Iterable[uuid.UUID],
    effect: Effect,
    done: Iterable[HistoryEvent],
) -> int:
    """Count the reports to rewrite; none for a decision on a conflict, or a pair, that moves
    nothing."""
    moves = effect.mentions or effect.facts
    if not moves and all(event.kind in NO_REPORTS for event in done):
        return 0
    return effects.reports_about(workspace, entities)


def _origins(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    """Return what the events did, newest first: of an undo, the events whose effect it turned."""
    found: list[HistoryEvent] = []
    for event in events:
        found += _origins(_undone_by(event)) if event.kind == EventKind.UNDO else [event]
    return sorted(found, key=lambda one: -one.sequence)


def _why_unchanged(event: HistoryEvent) -> str:
    later = values.later_change(event)
    nothing = "nothing visible changes"
    return (
        f"A later change is in force; {nothing}: {later}" if later else f"{nothing.capitalize()}."
    )


def _how_many(events: Sequence[HistoryEvent]) -> str:
    return f"This undoes all {len(events)} changes that were made together."


def _which_are_kept(events: Sequence[HistoryEvent]) -> str:
    """Say how many of several changes an undo leaves as they are, and for the newest, why."""
    verb = "changes" if len(events) == 1 else "change"
    later = values.later_change(events[0])
    why = f" A later change is in force: {later}" if later else ""
    return f"{len(events)} of them {verb} nothing visible.{why}"


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
    if not history_queries.is_open(event):
        raise ConflictError(
            "This can't be undone.",
            code="not_undoable",
            kept=UNCHANGED,
            next_step=FOR_GOOD.get(event.kind, ""),
            fields={"event": str(event.pk)},
        )


def _refuse_what_is_blocked(workspace: Workspace, events: Sequence[HistoryEvent]) -> None:
    blocked = history_queries.blockers(workspace=workspace, events=[event.pk for event in events])
    for event in events:
        blocker = blocked.get(event.pk)
        if blocker is not None:
            raise ConflictError(
                blocker.sentence,
                code="undo_blocked",
                kept=UNCHANGED,
                next_step=_instead(event) if blocker.is_for_good else "Undo that first.",
                fields={"event": str(blocker.event_id)},
            )


def _instead(event: HistoryEvent) -> str:
    """Say how to bring back the rest of several documents, one of which is gone for good."""
    if event.kind != EventKind.DOCUMENT_TRASHED:
        return ""
    documents = Document.objects.in_workspace(event.workspace_id).exclude(trashed_at=None)
    waits = documents.filter(pk__in=event.subjects.values("subject_id")).exists()
    return "Restore the others from the trash." if waits else ""


def _details(events: Sequence[HistoryEvent]) -> dict[str, Any]:
    """Return an undo's details: the first event in words, all of them by id."""
    first = events[0]
    names = {one: name for event in events for one, name in event.details.get("names", {}).items()}
    kinds = [event.details.get("undoes_kind", event.kind) for event in events]
    more = f" and {len(events) - 1} more" if len(events) > 1 else ""
    return {
        "names": names,
        "undone": [str(event.pk) for event in events],
        "undoes_kind": next((kind for kind in kinds if kind in history_queries.IDENTITY), kinds[0]),
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
def _undo_one(change: ChangeContext, event: HistoryEvent) -> set[str]:
    """Undo one event; returns the names to resolve again."""
    if history_queries.is_of_documents(event):
        _turn(change, event, redo=False)
        return set()
    return _set_active(event, is_active=False)


def _turn(change: ChangeContext, event: HistoryEvent, *, redo: bool) -> None:
    """Undo an event about documents, or do it again; of an undo, the events it undid."""
    if event.kind == EventKind.UNDO:
        undone = _undone_by(event)
        for one in undone if not redo else reversed(undone):
            _turn(change, one, redo=not redo)
    elif event.kind == EventKind.DOCUMENT_REPLACED:
        turn = versions.redo_event if redo else versions.undo_event
        turn(change=change, event=event)
    else:
        lifecycle.undo_event(change=change, event=event, redo=redo)


def _set_active(event: HistoryEvent, *, is_active: bool) -> set[str]:
    """Put an event's decisions in or out of force; returns the names they concern."""
    keys = decisions.names_in(event)
    for one in _undone_by(event):
        keys |= _set_active(one, is_active=not is_active)
    decisions.set_active(event, is_active=is_active)
    if conflicts.decides_conflicts(event):
        conflicts.follow(event.workspace_id)
    return keys


# --- decisions without an event -------------------------------------------------------------------
def decision_undo(*, workspace: Workspace, decision: ResolutionDecision, user: User) -> None:
    """Undo a decision: names resolve as without it, and entities keep their ids.

    No one is asked about the pair again. Raises ConflictError: already_undone, or undo_blocked if a
    later change depends on it.
    """
    change = ChangeContext(workspace, user)
    if decision.event_id is not None:
        event_undo(change=change, event=decision.event_id)
    else:
        operation(change, lambda: _undo_decision(change, decision.pk))


def _undo_decision(change: ChangeContext, decision_id: uuid.UUID) -> HistoryEvent:
    workspace = change.workspace
    rows = ResolutionDecision.objects.in_workspace(workspace).filter(pk=decision_id)
    decision = rows.filter(undone_at=None).first()
    if decision is None:
        raise ConflictError("This decision has already been undone.", code="already_undone")
    before = decisions.load_resolution(workspace.pk)
    refs: set[Ref] = {(decision.left_key, 0), (decision.left_key, decision.sense)}
    if decision.right_key:
        refs = {*decision.ends}.union(
            *(before.members(before.resolve(end)) for end in decision.ends)
        )
    ids = {entity_id(workspace.pk, *ref): ref for ref in sorted(refs)}
    measure = Measure(workspace, ids)
    named = Entity.objects.in_workspace(workspace).in_bulk(ids)
    details = {
        "names": {str(one): named[one].name if one in named else ids[one][0] for one in ids},
        "refs": {str(one): list(ref) for one, ref in ids.items()},
        "decision": str(decision.pk),
        "left": decision.left_key,
        "right": decision.right_key,
        "verdict": decision.verdict,
    }
    event = recording.record(change, EventKind.DECISION_UNDONE, as_subjects(*ids), details)
    decisions.undo(decision)
    propagate(workspace.pk, {key for key, _ in refs}, may_wait=True)
    effect = measure.effect(verb=Verb.RETURN, reports=0)
    return add_details(event, counts=effect.figures)
