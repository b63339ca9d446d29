"""Looks up the entities and relationships to change, or explains why they are gone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import F, Q

from ingestion.curation.validation import UNCHANGED
from ingestion.history.recording import Subjects
from ingestion.history.sentences import passive
from ingestion.models import (
    Entity,
    EventKind,
    HistoryEvent,
    Relationship,
    SubjectKind,
)
from ingestion.resolution.active import last_sense
from ingestion.resolution.keys import Ref, entity_id
from ingestion.resolution.overrides import Reading
from kb_project.errors import ConflictError, NotFoundError
from workspaces.models import Workspace

EntityGiven = Entity | uuid.UUID
RelationshipGiven = Relationship | uuid.UUID


def id_of(given: Entity | Relationship | HistoryEvent | uuid.UUID) -> uuid.UUID:
    return given if isinstance(given, uuid.UUID) else given.pk


def ref_of(entity: Entity) -> Ref:
    return entity.key, entity.sense


def living(workspace: Workspace, given: EntityGiven) -> Entity:
    """Return the entity's current row. Raises ConflictError if it was merged away or deleted."""
    [entity] = all_living(workspace, [given])
    return entity


def all_living(workspace: Workspace, given: Iterable[EntityGiven]) -> list[Entity]:
    """Return several entities' current rows, in order. Raises ConflictError likewise."""
    ids = [id_of(one) for one in given]
    found = Entity.objects.in_workspace(workspace).in_bulk(ids)
    for one in ids:
        if one not in found:
            raise _gone(workspace, one, EventKind.ENTITIES_MERGED, EventKind.ENTITY_DELETED)
    return [found[one] for one in ids]


def living_link(workspace: Workspace, given: RelationshipGiven) -> Relationship:
    """Return the relationship with its ends. Raises ConflictError if it was deleted."""
    rows = Relationship.objects.in_workspace(workspace).select_related("source", "target")
    found = rows.filter(pk=id_of(given)).first()
    if found is None:
        raise _gone(workspace, id_of(given), EventKind.RELATIONSHIP_DELETED)
    return found


def _gone(workspace: Workspace, subject_id: uuid.UUID, *kinds: EventKind) -> Exception:
    events = HistoryEvent.objects.in_workspace(workspace).filter(
        subjects__subject_id=subject_id,
        subjects__workspace=workspace,
        kind__in=kinds,
        undone_at=None,
    )
    event = events.select_related("user").order_by("-sequence").first()
    if event is None or str(subject_id) in (event.details.get("kept"), event.details.get("into")):
        return NotFoundError("Not found in this workspace.")
    is_merged = event.kind == EventKind.ENTITIES_MERGED
    return ConflictError(
        passive(event, of=str(subject_id)) + ".",
        code="merged_away" if is_merged else "deleted_before",
        kept=UNCHANGED,
        next_step=f"Use {_named(event, event.details['kept'])} instead, or undo that first."
        if is_merged
        else "Undo that first.",
        fields={"event": str(event.pk), "into": event.details.get("kept")},
    )


def _named(event: HistoryEvent, one: str) -> str:
    return f"'{event.details['names'].get(one, 'it')}'"


def own_words(row: Entity | Relationship) -> str:
    """Return the description if a person wrote it.

    History outlives documents, so it keeps none of their text.
    """
    return row.description if row.written_by == "person" else ""


def names_of(entities: Iterable[Entity]) -> dict[str, str]:
    return {str(entity.pk): entity.name for entity in entities}


def refs_of(entities: Iterable[Entity]) -> dict[str, Sequence[Any]]:
    return {str(entity.pk): list(ref_of(entity)) for entity in entities}


def as_subjects(*entities: Entity | uuid.UUID) -> Subjects:
    return {id_of(entity): SubjectKind.ENTITY for entity in entities}


def members_of(reading: Reading, entity: Ref) -> list[Ref]:
    """Return everything that is read as an entity, itself included."""
    return sorted({entity, *(ref for ref, read in reading.refs.items() if read == entity)})


def free_ref(workspace: Workspace, key: str) -> Ref:
    """Return an unused entity of that name: a sense is never assigned twice."""
    last = last_sense(workspace.pk, key)
    return key, 0 if last is None else last + 1


# --- names that are taken -------------------------------------------------------------------------
def refuse_taken(
    workspace: Workspace, name: str, key: str, *, reading: Reading, own: Collection[uuid.UUID] = ()
) -> None:
    """Raise ConflictError if an entity other than ``own`` has the name."""
    read = reading.read((key, 0))
    rows = Entity.objects.in_workspace(workspace).exclude(pk__in=list(own))
    holder = Q(key=key) | Q(name__iexact=name) | Q(pk=entity_id(workspace.pk, *read))
    shown = Q(aliases__workspace=workspace, aliases__key=key, aliases__name=F("name"))
    other = rows.filter(holder | shown).order_by("-mention_count", "pk").first()
    if other is None:
        return
    as_it = f" as '{other.name}'" if other.name != name else ""
    raise ConflictError(
        f"An entity named '{name}'{as_it} already exists.",
        code="name_taken",
        kept=UNCHANGED,
        next_step="Merge the two if they are the same, or choose a different name.",
        fields={"entity": shown_entity(other)},
    )


def shown_entity(entity: Entity) -> Mapping[str, str]:
    return {"id": str(entity.pk), "name": entity.name, "type": entity.type}
