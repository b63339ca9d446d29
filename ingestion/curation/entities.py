"""Entities that people make, word, and delete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ingestion import history
from ingestion.curation import effects, renaming
from ingestion.curation.carrying import carried_out, tell
from ingestion.curation.effects import Verb
from ingestion.curation.given import (
    UNCHANGED,
    aliases_given,
    description_given,
    name_given,
    type_given,
)
from ingestion.curation.ruled import Rules
from ingestion.curation.settling import read_anew, settle
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
from ingestion.history import Deed
from ingestion.identity import Ref, entity_id
from ingestion.models import Entity, EntityRuling, EventKind, HistoryEvent
from ingestion.rulings import Reading
from ingestion.stages.resolve.pairs import read_otherwise
from ingestion.standing import load_reading
from kb_project.errors import InputError
from workspaces.models import Workspace

Field = EntityRuling.Field


def entity_create(
    *, deed: Deed, name: str, type: str, description: str = "", aliases: Iterable[str] = ()
) -> HistoryEvent:
    """Add an entity that stands without a document; its id is ``details["entity"]``.

    Raises InputError, and ConflictError (name_taken) where an entity of that name exists.
    """
    shown, key = name_given(name)
    words = _Words(
        type=type_given(type),
        description=description_given(description) or None,
        aliases=aliases_given(aliases),
    )
    return carried_out(deed, lambda: _create(deed, shown, key, words))


def entity_edit(  # noqa: PLR0913  # a keyword for each thing that may be said
    *,
    deed: Deed,
    entity: EntityGiven,
    name: str | None = None,
    type: str | None = None,
    description: str | None = None,
    add_aliases: Iterable[str] = (),
    remove_aliases: Iterable[str] = (),
    is_protected: bool | None = None,
    is_confirmed: bool | None = None,
) -> HistoryEvent:
    """Say what an entity is called and what it is, whatever documents say.

    Raises InputError (nothing_to_change, …), and ConflictError (name_taken) where another entity
    has the name.
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
    return carried_out(deed, lambda: _edit(deed, entity, words))


def entity_delete(*, deed: Deed, entity: EntityGiven) -> HistoryEvent:
    """Keep nothing of an entity, whatever documents say of it later."""
    return carried_out(deed, lambda: _delete(deed, entity))


@dataclass(frozen=True, slots=True)
class _Words:
    """What is to be said; None, or nothing, for what stays as it is."""

    name: str | None = None
    type: str | None = None
    description: str | None = None
    aliases: dict[str, str] | None = None
    refused: dict[str, str] | None = None
    is_protected: bool | None = None
    is_confirmed: bool | None = None


# --- create ---------------------------------------------------------------------------------------
def _create(deed: Deed, name: str, key: str, words: _Words) -> HistoryEvent:
    workspace = deed.workspace
    reading = load_reading(workspace.pk, [])
    refuse_taken(workspace, name, key, reading=reading)
    # A name that was deleted comes back with what documents say of it.
    ref: Ref = (key, 0) if (key, 0) in reading.deleted else free_ref(workspace, key)
    made = entity_id(workspace.pk, *ref)
    after = {"name": name, "type": words.type, "description": words.description or ""}
    event = history.record(
        deed,
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
    rules = Rules(deed, event)
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
def _edit(deed: Deed, given: EntityGiven, words: _Words) -> HistoryEvent:
    workspace = deed.workspace
    entity = living(workspace, given)
    before, after = _changes(entity, words)
    if not after:
        raise InputError("There is nothing to change.", code="nothing_to_change", kept=UNCHANGED)
    # A name that is taken away may be another thing's from then on.
    ids = [entity.pk, *(entity_id(workspace.pk, key) for key in words.refused or {})]
    state = effects.state_of(workspace, ids)
    reports = effects.reports_about(workspace, ids)
    event = history.record(
        deed,
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
    _rule(Rules(deed, event), entity, words, after)
    effect = effects.between(state, effects.state_of(workspace, ids), reports=reports)
    return tell(event, {"counts": effect.figures})


def _changes(entity: Entity, words: _Words) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values by field, as they are and as they are to be; only of what is to be otherwise."""
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
            "A confirmation can only be undone.",
            code="undo_instead",
            kept=UNCHANGED,
            next_step="Undo it in the history.",
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
    """Rule on names; returns the keys that are read anew for it."""
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
def _delete(deed: Deed, given: EntityGiven) -> HistoryEvent:
    workspace = deed.workspace
    entity = living(workspace, given)
    before = effects.state_of(workspace, [entity.pk])
    reports = effects.reports_about(workspace, [entity.pk])
    event = history.record(
        deed,
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
    Rules(deed, event).entity(ref_of(entity), Field.DELETED)
    read_anew(workspace.pk, {key for key, _ in members})
    after = effects.state_of(workspace, [entity.pk])
    effect = effects.between(before, after, verb=Verb.HIDE, reports=reports)
    return tell(event, {"counts": effect.figures})


def _shown(entity: Entity) -> dict[str, str]:
    return {"name": entity.name, "type": entity.type, "description": own_words(entity)}


def delete_effect(workspace: Workspace, given: EntityGiven) -> effects.Effect:
    """What deleting an entity hides, reckoned without doing it. In the workspace's scope."""
    entity = living(workspace, given)
    state = effects.state_of(workspace, [entity.pk])
    return effects.Effect(
        verb=Verb.HIDE,
        mentions=len(state.mentions),
        facts=len(state.links),
        reports=effects.reports_about(workspace, [entity.pk]),
    )
