"""Merging entities that are the same, and deciding that names are, or are not, one entity.

A person's decision is a merge, distinction or split of entities, with its event in the history; the
decision row records it for a pair of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Final
from uuid import UUID

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Measure
from ingestion.curation.entities import rename
from ingestion.curation.operation import add_details, apply, operation
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.validation import (
    EntityGiven,
    all_living,
    as_subjects,
    id_of,
    identities,
    invalid,
    ref_of,
)
from ingestion.extractors.extraction import NAME
from ingestion.history import recording
from ingestion.history.recording import REASON_LENGTH, ChangeContext
from ingestion.models import (
    Document,
    Entity,
    EntityRuling,
    EventKind,
    HistoryEvent,
    ResolutionDecision,
    Verdict,
)
from ingestion.pipeline import runner
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import distinct_decisions, load_resolution, suggestions_of
from ingestion.resolution.keys import Ref
from ingestion.resolution.overrides import NameResolution
from ingestion.resolution.recorder import Recorder
from ingestion.stages.resolve.applying import record_decisions
from workspaces import access
from workspaces.models import User, Workspace


# --- decisions about names ------------------------------------------------------------------------
def decision_record(
    *,
    workspace: Workspace,
    user: User,
    left: Entity,
    right: Entity,
    verdict: Verdict,
    reason: str = "",
) -> ResolutionDecision:
    """Decide whether two entities are one. The decision wins over any later one by a model.

    Raises InputError if the two are one row or have the same name: see ``sense_record``.
    """
    if left.key == right.key:
        raise invalid(
            "These two entities have the same name.",
            "Decide for each document which of the two it means.",
            "same_name",
        )
    if left.sense or right.sense:
        raise invalid(
            "A name with several meanings cannot be merged with another name.",
            "",
            "several_meanings",
        )
    change = ChangeContext(workspace, user, reason)
    kept, other = sorted((left, right), key=lambda entity: entity.key)
    if verdict == Verdict.UNSURE:
        return _unsure(change, kept, other)
    with access.in_workspace(workspace.pk):
        if verdict == Verdict.SAME:
            event = entities_merge(change=change, kept=kept, others=[other])
        else:
            event = entities_differ(change=change, entities=[kept, other])
        rows = ResolutionDecision.objects.in_workspace(workspace).select_related("user")
        return rows.get(event=event, left_key=kept.key, right_key=other.key)


def sense_record(
    *, workspace: Workspace, user: User, entity: Entity, document: Document, reason: str = ""
) -> ResolutionDecision:
    """Decide that in a document the name of ``entity`` means another, new entity."""
    with access.in_workspace(workspace.pk):
        event = entity_split(
            change=ChangeContext(workspace, user, reason),
            entity=entity,
            selection=Selection(documents=(document.pk,)),
            name=entity.name,
        )
        key, sense = event.details["refs"][event.details["into"]]
        return Recorder(event).sense((key, sense), document)


def _unsure(change: ChangeContext, left: Entity, right: Entity) -> ResolutionDecision:
    """Record that a person is unsure; its only effect is that no model is asked."""
    decision = ResolutionDecision(
        workspace=change.workspace,
        left_key=left.key,
        right_key=right.key,
        verdict=Verdict.UNSURE,
        reason=" ".join(change.reason.replace("\0", "").split())[:REASON_LENGTH],
        by=ResolutionDecision.By.PERSON,
        user=change.user,
    )
    with access.in_workspace(change.workspace.pk):
        record_decisions(change.workspace.pk, [decision])
        runner.request_refresh(change.workspace.pk)
    return decision


# --- merging --------------------------------------------------------------------------------------
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
    given = _checked([kept, *others])
    return operation(change, lambda: _merge(change, given, name))


def merge_effect(
    *,
    workspace: Workspace,
    kept: EntityGiven,
    others: Iterable[EntityGiven],
    name: str | None = None,
) -> Effect:
    """Compute the effect of a merge without doing it. Call in the workspace's scope."""
    entities = all_living(workspace, _checked([kept, *others]))
    refs = [ref_of(entity) for entity in entities]
    resolution = load_resolution(workspace.pk)
    apart = distinct_decisions(workspace.pk, refs, resolution)
    ids = [entity.pk for entity in entities]
    return effects.of_merge(
        workspace,
        ids[0],
        ids[1:],
        hidden=_deleted_links(workspace, refs[0], resolution),
        reports=effects.reports_about(workspace, ids),
        conflicts=len(differences(entities)),
        notes=tuple(_notes(entities, apart)),
    )


def _deleted_links(
    workspace: Workspace, ref: Ref, resolution: NameResolution
) -> list[tuple[UUID, UUID]]:
    """Return the ends of the entity's relationships that people deleted."""
    pairs = [pair for pair in resolution.dropped if ref in pair]
    keys = {key for pair in pairs for key, _ in pair}
    rows = Entity.objects.in_workspace(workspace).filter(key__in=keys)
    ids = {ref_of(entity): entity.pk for entity in rows.only("key", "sense")}
    return [(ids[a], ids[b]) for a, b in pairs if a in ids and b in ids]


def _checked(given: Sequence[EntityGiven]) -> Sequence[EntityGiven]:
    ids = [id_of(one) for one in given]
    if len(ids) > MOST:
        raise invalid(
            f"{len(ids)} entities are too many for one merge.",
            f"Merge at most {MOST} at a time.",
            "too_many",
        )
    if len(set(ids)) < len(ids):
        raise invalid(
            "An entity cannot be merged with itself.", "Select each entity once.", "same_entity"
        )
    if len(ids) < 2:
        raise invalid(
            "A merge needs at least two entities.",
            "Select the entities that are the same.",
            "nothing_to_merge",
        )
    return given


def _merge(change: ChangeContext, given: Sequence[EntityGiven], name: str | None) -> HistoryEvent:
    workspace = change.workspace
    entities = all_living(workspace, given)
    kept, *others = entities
    ids = [entity.pk for entity in entities]
    measure = Measure(workspace, ids)
    conflicts = differences(entities)
    refs = [ref_of(entity) for entity in entities]
    before = load_resolution(workspace.pk)
    apart = distinct_decisions(workspace.pk, refs, before)
    notes = _notes(entities, apart)
    details = identities(entities) | {
        "kept": str(kept.pk),
        "others": [str(one.pk) for one in others],
        "before": {"names": [one.name for one in entities]},
        "after": {"names": [kept.name]},
        # They go with the entities, and come back with them at once.
        "suggestions": suggestions_of(workspace.pk, ids[1:]),
    }
    event = recording.record(change, EventKind.ENTITIES_MERGED, as_subjects(*entities), details)
    recorder = Recorder(event)
    # A model's links within a group wait while a pair was never judged, so every member of the
    # group is decided about. Pairs that were declared different are overruled one by one.
    members = {member for ref in refs for member in before.members(ref)} - {refs[0]}
    recorder.pairs(Verdict.SAME, ((refs[0], one) for one in sorted(members)), keeps=refs[0])
    overruled = dict.fromkeys(row.ends for row in apart if refs[0] not in row.ends)
    recorder.pairs(Verdict.SAME, overruled)
    if len({entity.type for entity in entities}) > 1:
        recorder.entity(refs[0], EntityRuling.Field.TYPE, clear_type(entities))
    if name is not None:
        rename(recorder, kept, name, resolution=before, own=ids)
    if apply(workspace, before, {key for key, _ in members}):
        hidden = _deleted_links(workspace, refs[0], before)
        expected = {"reports": measure.reports, "conflicts": len(conflicts)}
        effect = effects.of_merge(workspace, ids[0], ids[1:], hidden, **expected)
    else:
        effect = measure.effect(joined=ids, conflicts=len(conflicts))
    return add_details(event, counts=effect.figures, conflicts=conflicts, notes=notes)


def entities_differ(*, change: ChangeContext, entities: Iterable[EntityGiven]) -> HistoryEvent:
    """Record that no two of the entities are the same, whatever a later run finds.

    Raises InputError, ConflictError, NotFoundError, PreconditionError.
    """
    given = list(entities)
    if len({id_of(one) for one in given}) < 2 or len(given) > MOST:
        raise invalid(
            f"Two to {MOST} entities can be marked as not the same at once.",
            f"Select two to {MOST} entities, each of them once.",
            "number_of_entities",
        )
    return operation(change, lambda: _differ(change, given))


def _differ(change: ChangeContext, given: Sequence[EntityGiven]) -> HistoryEvent:
    workspace = change.workspace
    entities = {entity.pk: entity for entity in all_living(workspace, given)}.values()
    event = recording.record(
        change, EventKind.NOT_THE_SAME, as_subjects(*entities), identities(entities)
    )
    before = load_resolution(workspace.pk)
    Recorder(event).pairs(Verdict.DIFFERENT, combinations(map(ref_of, entities), 2))
    # A recent join by a model is undone.
    changed = load_resolution(workspace.pk).changed_since(before)
    if changed:
        propagate(workspace.pk, changed, may_wait=True)
    return event


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


def differences(entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Return fields with different values of which only one can be shown.

    ``[{"field", "shown", "values": [{"entity", "name", "value", "by"}, …]}, …]``; every value is
    kept, in its decision or in the documents that state it.
    """
    found = []
    if len({entity.type for entity in entities}) > 1:
        values = [
            _value(one, one.type, "person" if "type" in one.proposed else "documents")
            for one in entities
        ]
        found.append({"field": "type", "shown": clear_type(entities), "values": values})
    written = [entity for entity in entities if entity.written_by == "person"]
    if len({entity.description for entity in written}) > 1:
        values = [_value(entity, entity.description, "person") for entity in written]
        found.append({"field": "description", "shown": written[0].description, "values": values})
    return found


def _value(entity: Entity, value: str, by: str) -> dict[str, str]:
    return {"entity": str(entity.pk), "name": entity.name, "value": value, "by": by}


def _notes(entities: Sequence[Entity], apart: Iterable[ResolutionDecision]) -> list[str]:
    notes = []
    types = list(dict.fromkeys(entity.type for entity in entities))
    if len(types) > 1:
        listed = ", ".join(one or "none" for one in types)
        notes.append(f"Their types differ ({listed}); '{clear_type(entities)}' is kept.")
    people = dict.fromkeys(
        str(row.user) if row.user else "A former member" for row in apart if row.is_by_person
    )
    return notes + [f"{person} marked two of them as not the same." for person in people]
