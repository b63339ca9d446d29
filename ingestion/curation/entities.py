"""Creating, editing and deleting entities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ingestion.curation import effects, renaming
from ingestion.curation.effects import Verb
from ingestion.curation.operation import operation, tell
from ingestion.curation.records import Rules
from ingestion.curation.subjects import (
    EntityGiven,
    as_subjects,
    free_ref,
    living,
    members_of,
    names_of,
    own_words,
    ref_of,
    refs_of,
    refuse_taken,
)
from ingestion.curation.validation import (
    UNCHANGED,
    aliases_given,
    description_given,
    name_given,
    type_given,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent
from ingestion.pipeline.propagate import read_anew, settle
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import Ref, entity_id
from ingestion.resolution.overrides import Reading
from ingestion.stages.resolve.pairs import read_otherwise
from kb_project.errors import InputError
from workspaces.models import Workspace

Field = EntityRuling.Field


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
    words = _Words(
        type=type_given(type),
        description=description_given(description) or None,
        aliases=aliases_given(aliases),
    )
    return operation(change, lambda: _create(change, shown, key, words))


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
    words = _Words(
        name=name,
        type=None if type is None else type_given(type),
        description=None if description is None else description_given(description),
        aliases=aliases_given(add_aliases),
        refused=aliases_given(remove_aliases),
        is_protected=is_protected,
        is_confirmed=is_confirmed,
    )
    if words.name is not None:
        name_given(words.name)
    return operation(change, lambda: _edit(change, entity, words))


def entity_delete(*, change: ChangeContext, entity: EntityGiven) -> HistoryEvent:
    """Delete an entity, whatever documents say of it later."""
    return operation(change, lambda: _delete(change, entity))


@dataclass(frozen=True, slots=True)
class _Words:
    """The requested values; None or empty leaves a field unchanged."""

    name: str | None = None
    type: str | None = None
    description: str | None = None
    aliases: dict[str, str] | None = None
    refused: dict[str, str] | None = None
    is_protected: bool | None = None
    is_confirmed: bool | None = None


# --- create ---------------------------------------------------------------------------------------
def _create(change: ChangeContext, name: str, key: str, words: _Words) -> HistoryEvent:
    workspace = change.workspace
    reading = load_reading(workspace.pk, [])
    refuse_taken(workspace, name, key, reading=reading)
    # A deleted name comes back with what documents say of it.
    ref: Ref = (key, 0) if (key, 0) in reading.deleted else free_ref(workspace, key)
    made = entity_id(workspace.pk, *ref)
    after = {"name": name, "type": words.type, "description": words.description or ""}
    event = recording.record(
        change,
        EventKind.ENTITY_CREATED,
        as_subjects(made),
        {
            "names": {str(made): name},
            "refs": {str(made): list(ref)},
            "entity": str(made),
            "created": [str(made)],
            "after": after | {"aliases": list((words.aliases or {}).values())},
        },
    )
    rules = Rules(change, event)
    rules.entity(ref, Field.CREATED)
    rules.entity(ref, Field.NAME, name)
    rules.entity(ref, Field.TYPE, words.type or "")
    if words.description:
        rules.entity(ref, Field.DESCRIPTION, words.description)
    shell = Entity(workspace=workspace, pk=made, key=key, sense=ref[1], name=name)
    for alias_key, alias in (words.aliases or {}).items():
        renaming.add_alias(rules, shell, alias, alias_key, reading=reading)
    read_anew(workspace.pk, {key, *(words.aliases or {})})
    return event


# --- edit -----------------------------------------------------------------------------------------
def _edit(change: ChangeContext, given: EntityGiven, words: _Words) -> HistoryEvent:
    workspace = change.workspace
    entity = living(workspace, given)
    before, after = _changes(entity, words)
    if not after:
        raise InputError("There is nothing to change.", code="nothing_to_change", kept=UNCHANGED)
    # A removed name may belong to another entity from then on.
    ids = [entity.pk, *(entity_id(workspace.pk, key) for key in words.refused or {})]
    state = effects.state_of(workspace, ids)
    reports = effects.reports_about(workspace, ids)
    event = recording.record(
        change,
        EventKind.ENTITY_EDITED,
        as_subjects(entity),
        {
            "names": names_of([entity]),
            "refs": refs_of([entity]),
            "entity": str(entity.pk),
            "before": before,
            "after": after,
        },
    )
    _rule(Rules(change, event), entity, words, after)
    effect = effects.between(state, effects.state_of(workspace, ids), reports=reports)
    return tell(event, {"counts": effect.figures})


def _changes(entity: Entity, words: _Words) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the old and new values of the fields that change."""
    wanted: dict[str, Any] = {
        "name": None if words.name is None else name_given(words.name)[0],
        "type": words.type,
        "description": words.description,
        "is_protected": words.is_protected,
        "is_confirmed": words.is_confirmed,
    }
    after = {
        field: value
        for field, value in wanted.items()
        if value is not None and value != getattr(entity, field)
    }
    before: dict[str, Any] = {field: getattr(entity, field) for field in after}
    if "description" in before:
        before["description"] = own_words(entity)
    names = set(entity.aliases.filter(workspace=entity.workspace_id).values_list("name", flat=True))
    added = [name for name in (words.aliases or {}).values() if name not in names]
    removed = [name for name in (words.refused or {}).values() if name in names]
    if added:
        before["add_aliases"], after["add_aliases"] = [], added
    if removed:
        before["remove_aliases"], after["remove_aliases"] = removed, []
    _refuse_unconfirming(after)
    return before, after


def _refuse_unconfirming(after: dict[str, Any]) -> None:
    if after.get("is_confirmed") is False:
        raise InputError(
            "A confirmation cannot be edited.",
            code="undo_instead",
            kept=UNCHANGED,
            next_step="Undo it on the History page.",
        )


def _rule(rules: Rules, entity: Entity, words: _Words, after: dict[str, Any]) -> None:
    ref = ref_of(entity)
    reading = load_reading(rules.workspace.pk, [])
    for field in (Field.TYPE, Field.DESCRIPTION):
        if field.value in after:
            rules.entity(ref, field, after[field.value])
    if "is_protected" in after:
        rules.entity(ref, Field.PROTECTED if after["is_protected"] else Field.UNPROTECTED)
    if "is_confirmed" in after:
        rules.entity(ref, Field.CONFIRMED)
    keys = _names(rules, entity, words, after, reading)
    if keys:
        keys |= {key for key, _ in members_of(reading, ref)}
        keys |= read_otherwise(reading, load_reading(rules.workspace.pk, []))
        read_anew(rules.workspace.pk, keys)
    else:
        settle(rules.workspace.pk)


def _names(
    rules: Rules, entity: Entity, words: _Words, after: dict[str, Any], reading: Reading
) -> set[str]:
    """Record name changes; returns the keys to read again."""
    keys: set[str] = set()
    if "name" in after:
        renaming.rename(rules, entity, after["name"], reading=reading, own=[entity.pk])
        keys.add(name_given(after["name"])[1])
    for key, alias in (words.aliases or {}).items():
        if alias in after.get("add_aliases", ()):
            renaming.add_alias(rules, entity, alias, key, reading=reading)
            keys.add(key)
    for key, alias in (words.refused or {}).items():
        if "remove_aliases" in after:
            renaming.remove_alias(rules, entity, alias, key)
            keys.add(key)
    return keys


# --- delete ---------------------------------------------------------------------------------------
def _delete(change: ChangeContext, given: EntityGiven) -> HistoryEvent:
    workspace = change.workspace
    entity = living(workspace, given)
    before = effects.state_of(workspace, [entity.pk])
    reports = effects.reports_about(workspace, [entity.pk])
    event = recording.record(
        change,
        EventKind.ENTITY_DELETED,
        as_subjects(entity),
        {
            "names": names_of([entity]),
            "refs": refs_of([entity]),
            "entity": str(entity.pk),
            "before": _shown(entity),
        },
    )
    members = members_of(load_reading(workspace.pk, []), ref_of(entity))
    Rules(change, event).entity(ref_of(entity), Field.DELETED)
    read_anew(workspace.pk, {key for key, _ in members})
    after = effects.state_of(workspace, [entity.pk])
    effect = effects.between(before, after, verb=Verb.HIDE, reports=reports)
    return tell(event, {"counts": effect.figures})


def _shown(entity: Entity) -> dict[str, str]:
    return {"name": entity.name, "type": entity.type, "description": own_words(entity)}


def delete_effect(workspace: Workspace, given: EntityGiven) -> effects.Effect:
    """Compute what deleting an entity hides without doing it. Call in the workspace's scope."""
    entity = living(workspace, given)
    state = effects.state_of(workspace, [entity.pk])
    return effects.Effect(
        verb=Verb.HIDE,
        mentions=len(state.mentions),
        facts=len(state.links),
        reports=effects.reports_about(workspace, [entity.pk]),
    )
