"""Finds rulings that reassign the chosen mentions and no others.

A selection by document, passage or name becomes one ruling if that covers exactly these mentions:
it then also applies to text read there later. The remaining mentions get a ruling each, by
position.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import F, Q

from ingestion.curation.validation import UNCHANGED
from ingestion.models import Entity, Mention, MentionPlacement
from ingestion.resolution.keys import key_of_name
from ingestion.resolution.reassignments import Place, Placement
from kb_project.errors import ConflictError
from workspaces.models import Workspace


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


@dataclass(frozen=True, slots=True)
class Spot:
    """One mention: its entity, the key it is read as before any ruling, and its place."""

    mention_id: uuid.UUID
    entity_id: uuid.UUID
    key: str
    label: str
    place: Place


def chosen_of(entity: Entity, selection: Selection) -> tuple[list[Spot], int]:
    """Return the selected mentions of an entity, and its total number of mentions.

    Raises ConflictError if a mention no longer exists: they are rewritten whenever their document
    is read.
    """
    spots = _spots(entity.workspace_id, Q(entity=entity))
    chosen = [spot for spot in spots if _is_selected(spot, selection)]
    missing = set(selection.mentions) - {spot.mention_id for spot in spots}
    if missing:
        raise ConflictError(
            f"{len(missing)} of the selected mentions no longer exist.",
            code="mentions_changed",
            kept=UNCHANGED,
            next_step="Reload the mentions and select them again.",
        )
    return chosen, len(spots)


def _is_selected(spot: Spot, selection: Selection) -> bool:
    return (
        spot.place.document_id in selection.documents
        or spot.place.chunk_id in selection.chunks
        or spot.label in selection.aliases
        or spot.mention_id in selection.mentions
    )


def _spots(workspace: Workspace | uuid.UUID, wanted: Q) -> list[Spot]:
    rows = (
        Mention.objects.in_workspace(workspace)
        .filter(wanted)
        .annotate(offset=F("start") - F("chunk__start"))
        .order_by("document_id", "chunk_id", "start", "pk")
        .values_list(
            "pk", "entity_id", "key", "own_key", "label", "surface", "entity__key",
            "document_id", "chunk_id", "offset",
        )
    )  # fmt: skip
    return [_spot(*row) for row in rows]


def _spot(  # noqa: PLR0913  # the columns of a row
    pk: uuid.UUID, entity_id: uuid.UUID, key: str, own: str, label: str, surface: str,
    entity_key: str, document: uuid.UUID, chunk: uuid.UUID, offset: int,
) -> Spot:  # fmt: skip
    own = own or key_of_name(surface)
    return Spot(pk, entity_id, key or entity_key, label or surface,
                Place(document, chunk, own, offset))  # fmt: skip


# --- the rulings ----------------------------------------------------------------------------------
def placements_for(
    entity: Entity, chosen: Sequence[Spot], selection: Selection
) -> list[MentionPlacement]:
    """Return rulings that reassign exactly the chosen mentions, with the target still to be set."""
    keys = {spot.key for spot in chosen}
    around = _spots(entity.workspace_id, Q(key__in=keys) | Q(entity=entity))
    standing = _standing(entity.workspace_id, keys)
    wanted = {spot.mention_id: spot for spot in chosen}
    left = dict(wanted)
    rows: list[MentionPlacement] = []
    for candidate in _candidates(chosen, selection):
        covered = [spot for spot in around if spot.key == candidate.key
                   and candidate.holds(spot.place)]  # fmt: skip
        rivals = [one for one in standing if one.key == candidate.key
                  and one.weight[:-1] > candidate.weight[:-1]]  # fmt: skip
        if not _says_just(covered, rivals, wanted):
            continue
        rows.append(_row(candidate))
        for spot in covered:
            left.pop(spot.mention_id, None)
    return rows + [_row(_exactly(spot)) for spot in left.values()]


def _says_just(
    covered: Sequence[Spot], rivals: Sequence[Placement], wanted: Collection[uuid.UUID]
) -> bool:
    """Whether a ruling covers only chosen mentions, and no stronger ruling overrides it."""
    return (
        bool(covered)
        and all(spot.mention_id in wanted for spot in covered)
        and not any(rival.holds(spot.place) for rival in rivals for spot in covered)
    )


def _candidates(chosen: Sequence[Spot], selection: Selection) -> Iterable[Placement]:
    by_key: defaultdict[str, list[Spot]] = defaultdict(list)
    for spot in chosen:
        by_key[spot.key].append(spot)
    for key, spots in sorted(by_key.items()):
        owns = {spot.place.own_key for spot in spots if spot.label in selection.aliases}
        yield from (_ruling(key, own=own) for own in sorted(owns))
        documents = {spot.place.document_id for spot in spots} & set(selection.documents)
        yield from (_ruling(key, document=one) for one in sorted(documents))
        chunks = {
            (spot.place.document_id, spot.place.chunk_id)
            for spot in spots
            if spot.place.chunk_id in selection.chunks
        }
        yield from (
            _ruling(key, document=document, chunk=chunk)
            for document, chunk in sorted(chunks, key=str)
        )


def _ruling(
    key: str,
    *,
    own: str = "",
    document: uuid.UUID | None = None,
    chunk: uuid.UUID | None = None,
    offset: int | None = None,
) -> Placement:
    return Placement(key, own, document, chunk, offset, ("", 0), 0)


def _exactly(spot: Spot) -> Placement:
    place = spot.place
    return _ruling(
        spot.key,
        own=place.own_key,
        document=place.document_id,
        chunk=place.chunk_id,
        offset=place.offset,
    )


def _standing(workspace_id: uuid.UUID, keys: Collection[str]) -> list[Placement]:
    rows = MentionPlacement.objects.in_workspace(workspace_id).filter(
        key__in=list(keys), undone_at=None
    )
    return [
        Placement(
            row.key, row.own_key, row.document_id, row.chunk_id, row.offset,
            (row.target_key, row.target_sense), row.sequence,
        )
        for row in rows
    ]  # fmt: skip


def _row(said: Placement) -> MentionPlacement:
    return MentionPlacement(
        key=said.key,
        own_key=said.own_key,
        document_id=said.document_id,
        chunk_id=said.chunk_id,
        offset=said.offset,
    )
