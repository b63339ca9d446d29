"""Changing many entities at once: one type, a confirmation, or deletion, undone together."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Measure, Verb
from ingestion.curation.operation import operation
from ingestion.curation.validation import (
    all_living,
    as_subjects,
    identities,
    invalid,
    own_words,
    ref_of,
    type_given,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.recorder import Recorder
from workspaces.models import Workspace

Field = EntityRuling.Field
MOST: Final = 200
"""Entities changed at once: four pages of the list."""


def entities_retype(
    *, change: ChangeContext, entities: Sequence[uuid.UUID], type: str
) -> list[HistoryEvent]:
    """Give several entities one type; returns an event for each whose type was another.

    Undoing any of the events undoes all. Raises InputError (nothing_to_change, …), and
    ConflictError for entities that are gone.
    """
    kind = type_given(type)

    def edit(entity: Entity) -> tuple[dict[str, Any], dict[str, Any]] | None:
        return None if entity.type == kind else ({"type": entity.type}, {"type": kind})

    return _edit_all(change, entities, edit, Field.TYPE, kind)


def entities_confirm(*, change: ChangeContext, entities: Sequence[uuid.UUID]) -> list[HistoryEvent]:
    """Confirm those of the entities that are not confirmed yet, as ``entities_retype``."""

    def edit(entity: Entity) -> tuple[dict[str, Any], dict[str, Any]] | None:
        return None if entity.is_confirmed else ({"is_confirmed": False}, {"is_confirmed": True})

    return _edit_all(change, entities, edit, Field.CONFIRMED)


def entities_delete(*, change: ChangeContext, entities: Sequence[uuid.UUID]) -> list[HistoryEvent]:
    """Delete entities, whatever documents say of them later, as ``entities_retype``."""
    return _together(change, entities, _delete_all)


def delete_effect(*, workspace: Workspace, entities: Sequence[uuid.UUID]) -> Effect:
    """Compute what deleting them hides without doing it. Call in the workspace's scope."""
    ids = [entity.pk for entity in all_living(workspace, _checked(entities))]
    return Measure(workspace, ids).hidden()


Edit = Callable[[Entity], tuple[dict[str, Any], dict[str, Any]] | None]


def _edit_all(
    change: ChangeContext,
    entities: Sequence[uuid.UUID],
    edit: Edit,
    field: EntityRuling.Field,
    value: str = "",
) -> list[HistoryEvent]:
    def work(each: ChangeContext, living: Sequence[Entity]) -> list[HistoryEvent]:
        edits = [(entity, values) for entity in living if (values := edit(entity)) is not None]
        if not edits:
            raise invalid("There is nothing to change.", "", "nothing_to_change")
        events = []
        for entity, (before, after) in edits:
            details = identities([entity]) | {
                "entity": str(entity.pk),
                "before": before,
                "after": after,
            }
            subjects = as_subjects(entity)
            event = recording.record(each, EventKind.ENTITY_EDITED, subjects, details)
            Recorder(event).entity(ref_of(entity), field, value)
            events.append(event)
        propagate(each.workspace.pk)
        return events

    return _together(change, entities, work)


def _delete_all(each: ChangeContext, living: Sequence[Entity]) -> list[HistoryEvent]:
    workspace = each.workspace
    resolution = load_resolution(workspace.pk)
    events, keys = [], set()
    for entity in living:
        state = effects.state_of(workspace, [entity.pk])
        hidden = Effect(verb=Verb.HIDE, mentions=len(state.mentions), facts=len(state.links))
        details = identities([entity]) | {
            "entity": str(entity.pk),
            "before": {
                "name": entity.name,
                "type": entity.type,
                "description": own_words(entity),
            },
            "counts": hidden.figures,
        }
        event = recording.record(each, EventKind.ENTITY_DELETED, as_subjects(entity), details)
        Recorder(event).entity(ref_of(entity), Field.DELETED)
        keys |= {key for key, _ in resolution.members(ref_of(entity))}
        events.append(event)
    propagate(workspace.pk, keys, may_wait=True)
    return events


def _together(
    change: ChangeContext,
    entities: Sequence[uuid.UUID],
    work: Callable[[ChangeContext, Sequence[Entity]], list[HistoryEvent]],
) -> list[HistoryEvent]:
    """Do the work in one transaction; its events form a batch, so that one undo reverts them."""
    ids = _checked(entities)
    each = replace(change, batch=change.batch or uuid.uuid4())
    events: list[HistoryEvent] = []

    def whole() -> HistoryEvent:
        events[:] = work(each, all_living(change.workspace, ids))
        return events[0]

    operation(change, whole)
    return events


def _checked(entities: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    ids = list(dict.fromkeys(entities))
    if not ids:
        raise invalid("No entity is selected.", "Select at least one.", "none_selected")
    if len(ids) > MOST:
        raise invalid(
            f"{len(ids):,} entities are too many at once.", f"Select at most {MOST}.", "too_many"
        )
    return ids
