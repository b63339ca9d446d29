"""Splitting: some mentions of an entity move to a new entity or to another existing one.

A selection by document, passage or name becomes one decision if that covers exactly these mentions:
it then also applies to text read there later. The remaining mentions get a decision each, by
position.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Q

from ingestion.curation.effects import Measure
from ingestion.curation.operation import add_details, operation
from ingestion.curation.validation import (
    UNCHANGED,
    EntityGiven,
    all_living,
    as_subjects,
    free_ref,
    id_of,
    identities,
    invalid,
    living,
    name_given,
    ref_of,
    refuse_taken,
    type_given,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Entity,
    EntityRuling,
    EventKind,
    HistoryEvent,
    Mention,
    MentionPlacement,
    MentionPosition,
)
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import entity_id, key_of_name
from ingestion.resolution.recorder import Recorder
from kb_project.errors import ConflictError
from workspaces.models import Workspace

Field = EntityRuling.Field


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of mentions that match any of these. ``aliases`` are names as written."""

    documents: Collection[uuid.UUID] = ()
    chunks: Collection[uuid.UUID] = ()
    aliases: Collection[str] = ()
    mentions: Collection[uuid.UUID] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.documents or self.chunks or self.aliases or self.mentions)


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
    words = {Field.NAME: shown} | ({} if type is None else {Field.TYPE: type_given(type)})
    return operation(change, lambda: _split(change, entity, selection, key, words))


def mentions_move(
    *, change: ChangeContext, entity: EntityGiven, selection: Selection, target: EntityGiven
) -> HistoryEvent:
    """Move the selected mentions to another existing entity. Raises the errors of a split."""
    if id_of(entity) == id_of(target):
        raise invalid(
            "These mentions already belong to this entity.",
            "Choose another entity.",
            "same_entity",
        )
    return operation(change, lambda: _move(change, entity, selection, target))


def _split(
    change: ChangeContext,
    given: EntityGiven,
    selection: Selection,
    key: str,
    words: Mapping[Field, str],
) -> HistoryEvent:
    workspace = change.workspace
    entity, name = living(workspace, given), words[Field.NAME]
    chosen = _chosen(entity, selection, "Rename the entity, or select less.")
    resolution = load_resolution(workspace.pk)
    if key not in {member for member, _ in resolution.members(ref_of(entity))}:
        refuse_taken(workspace, name, key, resolution=resolution, own=[entity.pk])
    _, sense = free_ref(workspace, key)
    made = entity_id(workspace.pk, key, sense)
    target = Entity(workspace=workspace, pk=made, key=key, sense=sense, name=name)
    return _reassign(change, entity, target, chosen, words)


def _move(
    change: ChangeContext, given: EntityGiven, selection: Selection, other: EntityGiven
) -> HistoryEvent:
    entity, target = all_living(change.workspace, [given, other])
    chosen = _chosen(entity, selection, "Merge the two instead, or select less.")
    return _reassign(change, entity, target, chosen, {})


def _reassign(
    change: ChangeContext,
    entity: Entity,
    target: Entity,
    chosen: Chosen,
    words: Mapping[Field, str],
) -> HistoryEvent:
    """Reassign mentions to ``target``, which is new if there are words about it."""
    into = str(target.pk)
    measure = Measure(change.workspace, [entity.pk, target.pk])
    details = identities([entity, target]) | {
        "from": str(entity.pk),
        "into": into,
        "created": [into] if words else [],
        "before": {"names": [entity.name]},
        "after": {"names": [entity.name, target.name]},
    }
    kind = EventKind.ENTITY_SPLIT if words else EventKind.MENTIONS_MOVED
    event = recording.record(change, kind, as_subjects(entity, target), details)
    recorder = Recorder(event)
    recorder.reassign(chosen.placements, ref_of(target))
    for field, value in words.items():
        recorder.entity(ref_of(target), field, value)
    propagate(change.workspace.pk, documents=chosen.documents)
    return add_details(event, counts=measure.effect().figures)


# --- the mentions selected ------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class SelectableMention:
    """A mention with its name as written, and its key before any decision."""

    id: uuid.UUID
    key: str
    label: str
    position: MentionPosition


@dataclass(frozen=True, slots=True)
class Chosen:
    """The decisions that reassign the selected mentions, and the documents these are in."""

    placements: Sequence[MentionPlacement]
    documents: Sequence[uuid.UUID]


def _chosen(entity: Entity, selection: Selection, instead: str) -> Chosen:
    chosen, total = chosen_of(entity, selection)
    if not chosen:
        raise invalid(
            f"No mention of '{entity.name}' is selected.",
            "Select a document, a passage, a name or individual mentions.",
            "nothing_selected",
        )
    if len(chosen) == total:
        raise invalid(
            f"Every mention of '{entity.name}' is selected.", instead, "everything_selected"
        )
    documents = sorted({one.position.document_id for one in chosen})
    return Chosen(placements_for(entity, chosen, selection), documents)


def chosen_of(entity: Entity, selection: Selection) -> tuple[list[SelectableMention], int]:
    """Return the selected mentions of an entity, and its total number of mentions.

    Raises ConflictError if a mention no longer exists: they are rewritten whenever their document
    is read.
    """
    mentions = _mentions(entity.workspace_id, Q(entity=entity))
    chosen = [
        one
        for one in mentions
        if one.position.document_id in selection.documents
        or one.position.chunk_id in selection.chunks
        or one.label in selection.aliases
        or one.id in selection.mentions
    ]
    missing = set(selection.mentions) - {one.id for one in mentions}
    if missing:
        raise ConflictError(
            f"{len(missing)} of the selected mentions no longer exist.",
            code="mentions_changed",
            kept=UNCHANGED,
            next_step="Reload the mentions and select them again.",
        )
    return chosen, len(mentions)


def _mentions(workspace: Workspace | uuid.UUID, wanted: Q) -> list[SelectableMention]:
    rows = (
        Mention.objects.in_workspace(workspace)
        .filter(wanted)
        .order_by("document_id", "chunk_id", "start", "pk")
    )
    columns = rows.values_list(
        "pk", "key", "entity__key", "label", "surface", "own_key", "document_id", "chunk_id",
        F("start") - F("chunk__start"),
    )  # fmt: skip
    return [
        SelectableMention(
            pk,
            key or entity_key,
            label or surface,
            MentionPosition(document, chunk, own_key or key_of_name(surface), offset),
        )
        for pk, key, entity_key, label, surface, own_key, document, chunk, offset in columns
    ]


# --- their decisions ------------------------------------------------------------------------------
def placements_for(
    entity: Entity, chosen: Sequence[SelectableMention], selection: Selection
) -> list[MentionPlacement]:
    """Return decisions that reassign exactly the chosen mentions, without their target."""
    keys = {one.key for one in chosen}
    around = _mentions(entity.workspace_id, Q(key__in=keys) | Q(entity=entity))
    active = MentionPlacement.objects.in_workspace(entity.workspace_id).filter(
        key__in=keys, undone_at=None
    )
    left = {one.id: one for one in chosen}
    wanted = set(left)
    found: list[MentionPlacement] = []
    for row in _candidates(chosen, selection):
        covered = [one for one in around if one.key == row.key and row.covers(one.position)]
        stronger = [
            one for one in active if one.key == row.key and one.specificity > row.specificity
        ]
        is_overridden = any(other.covers(one.position) for other in stronger for one in covered)
        if covered and not is_overridden and wanted.issuperset(one.id for one in covered):
            found.append(row)
            for one in covered:
                left.pop(one.id, None)
    return found + [
        MentionPlacement(
            key=one.key,
            own_key=one.position.own_key,
            document_id=one.position.document_id,
            chunk_id=one.position.chunk_id,
            offset=one.position.offset,
        )
        for one in left.values()
    ]


def _candidates(
    chosen: Sequence[SelectableMention], selection: Selection
) -> Iterable[MentionPlacement]:
    by_key: defaultdict[str, list[SelectableMention]] = defaultdict(list)
    for one in chosen:
        by_key[one.key].append(one)
    for key, mentions in sorted(by_key.items()):
        positions = [one.position for one in mentions]
        for own in sorted({o.position.own_key for o in mentions if o.label in selection.aliases}):
            yield MentionPlacement(key=key, own_key=own)
        for document in sorted({one.document_id for one in positions} & set(selection.documents)):
            yield MentionPlacement(key=key, document_id=document)
        chunks = {
            (one.document_id, one.chunk_id) for one in positions if one.chunk_id in selection.chunks
        }
        for document, chunk in sorted(chunks, key=str):
            yield MentionPlacement(key=key, document_id=document, chunk_id=chunk)
