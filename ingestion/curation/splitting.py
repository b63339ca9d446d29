"""Splitting: some mentions of an entity move to a new entity or to another existing one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.curation import effects
from ingestion.curation.operation import operation, tell
from ingestion.curation.reassign import Selection, Spot, chosen_of, placements_for
from ingestion.curation.records import Rules
from ingestion.curation.subjects import (
    EntityGiven,
    all_living,
    as_subjects,
    free_ref,
    id_of,
    living,
    members_of,
    names_of,
    ref_of,
    refs_of,
    refuse_taken,
)
from ingestion.curation.validation import UNCHANGED, name_given, type_given
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent
from ingestion.pipeline.propagate import read_anew
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import Ref, entity_id
from kb_project.errors import InputError

__all__ = ["Selection", "entity_split", "mentions_move"]


@dataclass(frozen=True, slots=True)
class _Move:
    """Mentions that leave an entity, and their target."""

    entity: Entity
    chosen: Sequence[Spot]
    target: Ref
    target_id: uuid.UUID
    target_name: str


def entity_split(
    *,
    change: ChangeContext,
    entity: EntityGiven,
    selection: Selection,
    name: str,
    type: str | None = None,
) -> HistoryEvent:
    """Move the selected mentions to a new entity; its id is ``details["into"]``.

    The new entity may keep the old name, as a homonym. Raises InputError (nothing_selected,
    everything_selected, …), ConflictError (mentions_changed, name_taken).
    """
    shown, key = name_given(name)
    kind = None if type is None else type_given(type)
    return operation(change, lambda: _split(change, entity, selection, (shown, key, kind)))


def mentions_move(
    *, change: ChangeContext, entity: EntityGiven, selection: Selection, target: EntityGiven
) -> HistoryEvent:
    """Move the selected mentions to another existing entity. Raises the errors of a split."""
    if id_of(entity) == id_of(target):
        raise InputError(
            "These mentions already belong to this entity.",
            code="same_entity",
            kept=UNCHANGED,
            next_step="Choose another entity.",
        )
    return operation(change, lambda: _move(change, entity, selection, target))


def _split(
    change: ChangeContext,
    given: EntityGiven,
    selection: Selection,
    wanted: tuple[str, str, str | None],
) -> HistoryEvent:
    workspace = change.workspace
    name, key, kind = wanted
    entity = living(workspace, given)
    chosen = _chosen(entity, selection, "Rename the entity, or select less.")
    reading = load_reading(workspace.pk, [])
    if key not in {member for member, _ in members_of(reading, ref_of(entity))}:
        refuse_taken(workspace, name, key, reading=reading, own=[entity.pk])
    target = free_ref(workspace, key)
    made = entity_id(workspace.pk, *target)
    move = _Move(entity, chosen, target, made, name)

    def rule(rules: Rules) -> None:
        rules.entity(target, EntityRuling.Field.NAME, name)
        if kind is not None:
            rules.entity(target, EntityRuling.Field.TYPE, kind)

    return _carry(change, EventKind.ENTITY_SPLIT, move, selection, rule, created=[str(made)])


def _move(
    change: ChangeContext, given: EntityGiven, selection: Selection, other: EntityGiven
) -> HistoryEvent:
    entity, target = all_living(change.workspace, [given, other])
    chosen = _chosen(entity, selection, "Merge the two instead, or select less.")
    move = _Move(entity, chosen, ref_of(target), target.pk, target.name)
    return _carry(change, EventKind.MENTIONS_MOVED, move, selection, lambda rules: None, created=[])


def _chosen(entity: Entity, selection: Selection, instead: str) -> Sequence[Spot]:
    chosen, total = chosen_of(entity, selection)
    if not chosen:
        raise InputError(
            f"No mention of '{entity.name}' is selected.",
            code="nothing_selected",
            kept=UNCHANGED,
            next_step="Select a document, a passage, a name or individual mentions.",
        )
    if len(chosen) == total:
        raise InputError(
            f"Every mention of '{entity.name}' is selected.",
            code="everything_selected",
            kept=UNCHANGED,
            next_step=instead,
        )
    return chosen


def _carry(
    change: ChangeContext,
    kind: EventKind,
    move: _Move,
    selection: Selection,
    rule: Callable[[Rules], None],
    created: Sequence[str],
) -> HistoryEvent:
    workspace = change.workspace
    ids = [move.entity.pk, move.target_id]
    before = effects.state_of(workspace, ids)
    reports = effects.reports_about(workspace, ids)
    event = recording.record(change, kind, as_subjects(*ids), _details(move, created))
    rules = Rules(change, event)
    placements = placements_for(move.entity, move.chosen, selection)
    rules.place(placements, move.target)
    rule(rules)
    keys = {move.entity.key, move.target[0], *(one.key for one in placements)}
    read_anew(workspace.pk, keys)
    after = effects.state_of(workspace, ids)
    effect = effects.between(before, after, reports=reports)
    return tell(event, {"counts": effect.figures})


def _details(move: _Move, created: Sequence[str]) -> dict[str, Any]:
    into = str(move.target_id)
    return {
        "names": names_of([move.entity]) | {into: move.target_name},
        "refs": refs_of([move.entity]) | {into: list(move.target)},
        "from": str(move.entity.pk),
        "into": into,
        "created": list(created),
        "before": {"names": [move.entity.name]},
        "after": {"names": [move.entity.name, move.target_name]},
    }
