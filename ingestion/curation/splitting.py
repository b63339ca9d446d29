"""Splitting: some mentions of an entity mean something else, a new entity or another one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion import history
from ingestion.curation import effects
from ingestion.curation.carrying import carried_out, tell
from ingestion.curation.given import UNCHANGED, name_given, type_given
from ingestion.curation.placing import Selection, Spot, chosen_of, placements_for
from ingestion.curation.ruled import Rules
from ingestion.curation.settling import read_anew
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
from ingestion.history import Deed
from ingestion.identity import Ref, entity_id
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent
from ingestion.standing import load_reading
from kb_project.errors import InputError

__all__ = ["Selection", "entity_split", "mentions_move"]


@dataclass(frozen=True, slots=True)
class _Move:
    """Mentions that leave an entity, and where they go."""

    entity: Entity
    chosen: Sequence[Spot]
    target: Ref
    target_id: uuid.UUID
    target_name: str


def entity_split(
    *,
    deed: Deed,
    entity: EntityGiven,
    selection: Selection,
    name: str,
    type: str | None = None,
) -> HistoryEvent:
    """Have the selected mentions mean a new entity; its id is ``details["into"]``.

    The name may be the old one: two things may be called the same. Raises InputError
    (nothing_selected, everything_selected, …), ConflictError (mentions_changed, name_taken).
    """
    shown, key = name_given(name)
    kind = None if type is None else type_given(type)
    return carried_out(deed, lambda: _split(deed, entity, selection, (shown, key, kind)))


def mentions_move(
    *, deed: Deed, entity: EntityGiven, selection: Selection, target: EntityGiven
) -> HistoryEvent:
    """Have the selected mentions mean another entity that is there. Raises as a split does."""
    if id_of(entity) == id_of(target):
        raise InputError(
            "These mentions are the entity's already.",
            code="same_entity",
            kept=UNCHANGED,
            next_step="Choose another entity.",
        )
    return carried_out(deed, lambda: _move(deed, entity, selection, target))


def _split(
    deed: Deed, given: EntityGiven, selection: Selection, wanted: tuple[str, str, str | None]
) -> HistoryEvent:
    workspace = deed.workspace
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

    return _carry(deed, EventKind.ENTITY_SPLIT, move, selection, rule, created=[str(made)])


def _move(deed: Deed, given: EntityGiven, selection: Selection, other: EntityGiven) -> HistoryEvent:
    entity, target = all_living(deed.workspace, [given, other])
    chosen = _chosen(entity, selection, "Merge the two instead, or select less.")
    move = _Move(entity, chosen, ref_of(target), target.pk, target.name)
    return _carry(deed, EventKind.MENTIONS_MOVED, move, selection, lambda rules: None, created=[])


def _chosen(entity: Entity, selection: Selection, instead: str) -> Sequence[Spot]:
    chosen, total = chosen_of(entity, selection)
    if not chosen:
        raise InputError(
            f"Nothing of '{entity.name}' is selected.",
            code="nothing_selected",
            kept=UNCHANGED,
            next_step="Select a document, a passage, a name or single mentions.",
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
    deed: Deed,
    kind: EventKind,
    move: _Move,
    selection: Selection,
    rule: Callable[[Rules], None],
    created: Sequence[str],
) -> HistoryEvent:
    workspace = deed.workspace
    ids = [move.entity.pk, move.target_id]
    before = effects.state_of(workspace, ids)
    reports = effects.reports_about(workspace, ids)
    event = history.record(deed, kind, as_subjects(*ids), _details(move, created))
    rules = Rules(deed, event)
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
