"""Creating, editing and deleting entities, and the names that people give them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Measure
from ingestion.curation.operation import add_details, apply, operation
from ingestion.curation.validation import (
    EntityGiven,
    aliases_given,
    as_subjects,
    description_given,
    free_ref,
    identities,
    invalid,
    living,
    name_given,
    own_words,
    ref_of,
    refuse_taken,
    type_given,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent, Verdict
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import between, load_resolution
from ingestion.resolution.keys import Ref, entity_id, pair_of
from ingestion.resolution.overrides import NameResolution
from ingestion.resolution.recorder import Recorder
from workspaces.models import Workspace

Field = EntityRuling.Field
NAMES: Final = frozenset({"name", "add_aliases", "remove_aliases"})
"""What of an entity decides which mentions are its."""


# --- create ---------------------------------------------------------------------------------------
def entity_create(
    *,
    change: ChangeContext,
    name: str,
    type: str,
    description: str = "",
    aliases: Iterable[str] = (),
) -> HistoryEvent:
    """Add an entity that needs no document; its id is ``details["entity"]``.

    Raises InputError, and ConflictError (name_taken) if an entity of that name exists.
    """
    shown, key = name_given(name)
    given = aliases_given(aliases)
    words = {
        "name": shown,
        "type": type_given(type),
        "description": description_given(description),
    }
    return operation(change, lambda: _create(change, key, words, given))


def _create(
    change: ChangeContext, key: str, words: dict[str, str], aliases: Mapping[str, str]
) -> HistoryEvent:
    workspace = change.workspace
    before = load_resolution(workspace.pk)
    refuse_taken(workspace, words["name"], key, resolution=before)
    # A deleted name comes back with what documents say of it.
    ref: Ref = (key, 0) if (key, 0) in before.deleted else free_ref(workspace, key)
    made = entity_id(workspace.pk, *ref)
    entity = Entity(workspace=workspace, pk=made, key=key, sense=ref[1], name=words["name"])
    details = identities([entity]) | {
        "entity": str(made),
        "created": [str(made)],
        "after": words | {"aliases": list(aliases.values())},
    }
    event = recording.record(change, EventKind.ENTITY_CREATED, as_subjects(made), details)
    recorder = Recorder(event)
    recorder.entity(ref, Field.CREATED)
    recorder.entity(ref, Field.NAME, words["name"])
    recorder.entity(ref, Field.TYPE, words["type"])
    if words["description"]:
        recorder.entity(ref, Field.DESCRIPTION, words["description"])
    for alias_key, alias in aliases.items():
        _add_alias(recorder, entity, alias, alias_key, before)
    apply(workspace, before, {key, *aliases})
    return event


# --- edit -----------------------------------------------------------------------------------------
def entity_edit(  # noqa: PLR0913  # a keyword for each thing that may be said
    *,
    change: ChangeContext,
    entity: EntityGiven,
    name: str | None = None,
    type: str | None = None,
    description: str | None = None,
    add_aliases: Iterable[str] = (),
    remove_aliases: Iterable[str] = (),
    is_protected: bool | None = None,
    is_confirmed: bool | None = None,
) -> HistoryEvent:
    """Change an entity's wording, aliases, protection or confirmation, overriding the documents.

    Raises InputError (nothing_to_change, …), and ConflictError (name_taken) if another entity has
    the name.
    """
    wanted = {
        "name": None if name is None else name_given(name)[0],
        "type": None if type is None else type_given(type),
        "description": None if description is None else description_given(description),
        "is_protected": is_protected,
        "is_confirmed": is_confirmed,
    }
    added, removed = aliases_given(add_aliases), aliases_given(remove_aliases)
    return operation(change, lambda: _edit(change, entity, wanted, added, removed))


def _edit(
    change: ChangeContext,
    given: EntityGiven,
    wanted: Mapping[str, Any],
    added: Mapping[str, str],
    removed: Mapping[str, str],
) -> HistoryEvent:
    workspace = change.workspace
    entity = living(workspace, given)
    before, after = _changes(entity, wanted, added, removed)
    details = identities([entity]) | {"entity": str(entity.pk), "before": before, "after": after}
    event = recording.record(change, EventKind.ENTITY_EDITED, as_subjects(entity), details)
    recorder = Recorder(event)
    _record_wording(recorder, ref_of(entity), after)
    if NAMES.isdisjoint(after):
        propagate(workspace.pk)
        counts = Effect(reports=effects.reports_about(workspace, [entity.pk])).figures
        return add_details(event, counts=counts)
    # A removed name may belong to another entity from then on.
    measure = Measure(workspace, [entity.pk, *(entity_id(workspace.pk, key) for key in removed)])
    resolution = load_resolution(workspace.pk)
    keys: set[str] = set()
    if "name" in after:
        own = [entity.pk]
        keys.add(rename(recorder, entity, after["name"], resolution=resolution, own=own))
    for key, alias in added.items():
        if alias in after.get("add_aliases", ()):
            _add_alias(recorder, entity, alias, key, resolution)
            keys.add(key)
    if "remove_aliases" in after:
        for key, alias in removed.items():
            _remove_alias(recorder, entity, alias, key)
            keys.add(key)
    apply(workspace, resolution, keys)
    return add_details(event, counts=measure.effect().figures)


def _changes(
    entity: Entity,
    wanted: Mapping[str, Any],
    added: Mapping[str, str],
    removed: Mapping[str, str],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the old and new values of the fields that change."""
    after = {
        field: value
        for field, value in wanted.items()
        if value is not None and value != getattr(entity, field)
    }
    before: dict[str, Any] = {field: getattr(entity, field) for field in after}
    if "description" in before:
        before["description"] = own_words(entity)
    names = set(entity.aliases.filter(workspace=entity.workspace_id).values_list("name", flat=True))
    if new := [name for name in added.values() if name not in names]:
        before["add_aliases"], after["add_aliases"] = [], new
    if old := [name for name in removed.values() if name in names]:
        before["remove_aliases"], after["remove_aliases"] = old, []
    if after.get("is_confirmed") is False:
        raise invalid(
            "A confirmation cannot be edited.", "Undo it on the History page.", "undo_instead"
        )
    if not after:
        raise invalid("There is nothing to change.", "", "nothing_to_change")
    return before, after


def _record_wording(recorder: Recorder, ref: Ref, after: Mapping[str, Any]) -> None:
    for field in (Field.TYPE, Field.DESCRIPTION):
        if field.value in after:
            recorder.entity(ref, field, after[field.value])
    if "is_protected" in after:
        recorder.entity(ref, Field.PROTECTED if after["is_protected"] else Field.UNPROTECTED)
    if "is_confirmed" in after:
        recorder.entity(ref, Field.CONFIRMED)


# --- names ----------------------------------------------------------------------------------------
def rename(
    recorder: Recorder,
    entity: Entity,
    text: str,
    *,
    resolution: NameResolution,
    own: Collection[uuid.UUID],
) -> str:
    """Give the entity a new displayed name, which documents may use too; returns its key.

    ``own`` are entities whose names are free to take. Raises InputError, ConflictError.
    """
    name, key = name_given(text)
    refuse_taken(recorder.workspace, name, key, resolution=resolution, own=own)
    recorder.entity(ref_of(entity), Field.NAME, name)
    _resolve_to(recorder, entity, key, resolution)
    return key


def _add_alias(
    recorder: Recorder, entity: Entity, name: str, key: str, resolution: NameResolution
) -> None:
    """Add an alias that documents may use for the entity. Raises ConflictError."""
    refuse_taken(recorder.workspace, name, key, resolution=resolution, own=[entity.pk])
    recorder.entity(ref_of(entity), Field.ALIAS, name)
    _resolve_to(recorder, entity, key, resolution)


def _remove_alias(recorder: Recorder, entity: Entity, name: str, key: str) -> None:
    """Hide the alias, and stop resolving it to the entity if a person added it."""
    ref = ref_of(entity)
    recorder.entity(ref, Field.NO_ALIAS, name)
    pair = pair_of(ref, (key, 0))
    rows = between(recorder.workspace.pk, [ref[0], key])
    if any(row.ends == pair and row.is_by_person and row.verdict == Verdict.SAME for row in rows):
        recorder.pairs(Verdict.DIFFERENT, [pair])


def _resolve_to(recorder: Recorder, entity: Entity, key: str, resolution: NameResolution) -> None:
    """Resolve the name to the entity, unless it already does."""
    ref = ref_of(entity)
    if resolution.resolve((key, 0)) != ref and key != entity.key:
        recorder.pairs(Verdict.SAME, [(ref, (key, 0))], keeps=ref)


# --- delete ---------------------------------------------------------------------------------------
def entity_delete(*, change: ChangeContext, entity: EntityGiven) -> HistoryEvent:
    """Delete an entity, whatever documents say of it later."""
    return operation(change, lambda: _delete(change, entity))


def _delete(change: ChangeContext, given: EntityGiven) -> HistoryEvent:
    workspace = change.workspace
    entity = living(workspace, given)
    words = {"name": entity.name, "type": entity.type, "description": own_words(entity)}
    details = identities([entity]) | {
        "entity": str(entity.pk),
        "before": words,
        "counts": Measure(workspace, [entity.pk]).hidden().figures,
    }
    event = recording.record(change, EventKind.ENTITY_DELETED, as_subjects(entity), details)
    members = load_resolution(workspace.pk).members(ref_of(entity))
    Recorder(event).entity(ref_of(entity), Field.DELETED)
    propagate(workspace.pk, {key for key, _ in members}, may_wait=True)
    return event


def delete_effect(*, workspace: Workspace, entity: EntityGiven) -> Effect:
    """Compute what deleting an entity hides without doing it. Call in the workspace's scope."""
    return Measure(workspace, [living(workspace, entity).pk]).hidden()
