"""Merging several entities into one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ingestion.curation import effects, renaming, suggested
from ingestion.curation.effects import Effect
from ingestion.curation.operation import operation, tell
from ingestion.curation.records import Pair, Rules, who_told_apart
from ingestion.curation.subjects import (
    EntityGiven,
    all_living,
    as_subjects,
    id_of,
    members_of,
    names_of,
    ref_of,
    refs_of,
)
from ingestion.curation.validation import UNCHANGED
from ingestion.extractors.found import NAME
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent, Verdict
from ingestion.pipeline.propagate import read_anew
from ingestion.resolution.active import load_reading, told_apart
from ingestion.resolution.keys import Ref
from ingestion.stages.resolve.pairs import read_otherwise
from kb_project.errors import InputError
from workspaces.models import Workspace

MOST: Final = 50
"""Entities in one merge: as many as a person can review."""


def entities_merge(
    *,
    change: ChangeContext,
    kept: EntityGiven,
    others: Iterable[EntityGiven],
    name: str | None = None,
) -> HistoryEvent:
    """Merge ``others`` into ``kept``, under its id: evidence is combined, facts between them go.

    ``name`` is a new one for the kept entity. Raises InputError, ConflictError (codes merged_away,
    deleted_before, name_taken), NotFoundError, PreconditionError.
    """
    given = [kept, *others]
    _refuse_what_is_no_merge(given)
    return operation(change, lambda: _merge(change, given, name))


def merge_effect(workspace: Workspace, kept: EntityGiven, others: Sequence[EntityGiven]) -> Effect:
    """Compute the effect of a merge without doing it. Call in the workspace's scope."""
    given = [kept, *others]
    _refuse_what_is_no_merge(given)
    first, *rest = all_living(workspace, given)
    refs = [ref_of(entity) for entity in (first, *rest)]
    apart = told_apart(workspace.pk, refs, load_reading(workspace.pk, []))
    return effects.of_merge(
        workspace,
        first.pk,
        [entity.pk for entity in rest],
        reports=effects.reports_about(workspace, [first.pk, *(one.pk for one in rest)]),
        conflicts=len(differences([first, *rest])),
        notes=tuple(_notes(workspace, [first, *rest], apart)),
    )


def _refuse_what_is_no_merge(given: Sequence[EntityGiven]) -> None:
    ids = [id_of(one) for one in given]
    if len(ids) > MOST:
        raise InputError(
            f"{len(ids)} entities are too many for one merge.",
            code="too_many",
            kept=UNCHANGED,
            next_step=f"Merge at most {MOST} at a time.",
        )
    if len(set(ids)) < len(ids):
        raise InputError(
            "An entity cannot be merged with itself.",
            code="same_entity",
            kept=UNCHANGED,
            next_step="Select each entity once.",
        )
    if len(ids) < 2:
        raise InputError(
            "A merge needs at least two entities.",
            code="nothing_to_merge",
            kept=UNCHANGED,
            next_step="Select the entities that are the same.",
        )


def _merge(change: ChangeContext, given: Sequence[EntityGiven], name: str | None) -> HistoryEvent:
    workspace = change.workspace
    entities = all_living(workspace, given)
    kept = entities[0]
    ids = [entity.pk for entity in entities]
    before = effects.state_of(workspace, ids)
    reports = effects.reports_about(workspace, ids)
    conflicts = differences(entities)
    refs = [ref_of(entity) for entity in entities]
    reading = load_reading(workspace.pk, [])
    apart = told_apart(workspace.pk, refs, reading)
    notes = _notes(workspace, entities, apart)
    event = recording.record(
        change, EventKind.ENTITIES_MERGED, as_subjects(*entities), _details(entities)
    )
    members = {member for ref in refs for member in members_of(reading, ref)}
    rules = Rules(change, event)
    said = _same(rules, ref_of(kept), members, apart)
    rules.keep()
    _keep_type(rules, entities)
    if name is not None:
        renaming.rename(rules, kept, name, reading=reading, own=ids)
    suggested.show(workspace, entities, Verdict.SAME)
    keys = {key for pair in said for key, _ in pair} | {kept.key}
    read_anew(workspace.pk, keys | read_otherwise(reading, load_reading(workspace.pk, [])))
    effect = effects.between(
        before,
        effects.state_of(workspace, ids),
        joined=ids,
        reports=reports,
        conflicts=len(conflicts),
    )
    return tell(event, {"counts": effect.figures, "conflicts": conflicts, "notes": notes})


def _details(entities: Sequence[Entity]) -> dict[str, Any]:
    kept, *others = entities
    return {
        "names": names_of(entities),
        "refs": refs_of(entities),
        "kept": str(kept.pk),
        "others": [str(one.pk) for one in others],
        "before": {"names": [one.name for one in entities]},
        "after": {"names": [kept.name]},
    }


def _same(rules: Rules, kept: Ref, members: Iterable[Ref], apart: Iterable[Pair]) -> set[Pair]:
    """Record that everything read as one of the entities is the kept one.

    A model's links within a group need that: they wait while a pair was never judged. Pairs that a
    person declared different are overruled one by one.
    """
    said = {(kept, one) for one in members if one != kept}
    for one, other in said:
        rules.pair(one, other, Verdict.SAME, keeps=one)
    for one, other in apart:
        if kept not in (one, other):
            rules.pair(one, other, Verdict.SAME)
    return said


# --- what differs ---------------------------------------------------------------------------------
def clear_type(entities: Sequence[Entity]) -> str:
    """Return the type to keep: the kept entity's, unless only another one is more than a generic
    name.

    Among the others, the most mentioned entity comes first.
    """
    kept, *others = entities
    by_weight = sorted(others, key=lambda one: (-one.mention_count, one.key))
    clear = [one.type for one in (kept, *by_weight) if one.type and one.type.lower() != NAME]
    return clear[0] if clear else kept.type


def _keep_type(rules: Rules, entities: Sequence[Entity]) -> None:
    if len({entity.type for entity in entities}) > 1:
        rules.entity(ref_of(entities[0]), EntityRuling.Field.TYPE, clear_type(entities))


def differences(entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Return fields with different values of which only one can be shown.

    ``[{"field", "shown", "values": [{"entity", "name", "value", "by"}, …]}, …]``; every value is
    kept, in its ruling or in the documents that state it.
    """
    found = []
    if len({entity.type for entity in entities}) > 1:
        values = [_value(entity, entity.type, _by(entity, "type")) for entity in entities]
        found.append({"field": "type", "shown": clear_type(entities), "values": values})
    written = [entity for entity in entities if entity.written_by == "person"]
    if len({entity.description for entity in written}) > 1:
        values = [_value(entity, entity.description, "person") for entity in written]
        found.append({"field": "description", "shown": written[0].description, "values": values})
    return found


def _by(entity: Entity, field: str) -> str:
    return "person" if field in entity.proposed else "documents"


def _value(entity: Entity, value: str, by: str) -> dict[str, str]:
    return {"entity": str(entity.pk), "name": entity.name, "value": value, "by": by}


def _notes(workspace: Workspace, entities: Sequence[Entity], apart: Sequence[Pair]) -> list[str]:
    notes = []
    types = list(dict.fromkeys(entity.type for entity in entities))
    if len(types) > 1:
        listed = ", ".join(one or "none" for one in types)
        notes.append(f"Their types differ ({listed}); '{clear_type(entities)}' is kept.")
    notes += [
        f"{person} marked two of them as not the same."
        for person in who_told_apart(workspace, apart)
    ]
    return notes
