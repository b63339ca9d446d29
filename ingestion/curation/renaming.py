"""Names that people give an entity: its displayed name and its aliases."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from ingestion.curation.records import Rules
from ingestion.curation.subjects import ref_of, refuse_taken
from ingestion.curation.validation import name_given
from ingestion.models import Entity, EntityRuling, ResolutionDecision, Verdict
from ingestion.resolution.keys import Ref
from ingestion.resolution.overrides import Reading
from workspaces.models import Workspace

Field = EntityRuling.Field


def rename(
    rules: Rules, entity: Entity, text: str, *, reading: Reading, own: Collection[uuid.UUID]
) -> str:
    """Give the entity a new displayed name, which documents may use too; returns it.

    ``own`` are entities whose names are free to take. Raises InputError, ConflictError.
    """
    name, key = name_given(text)
    refuse_taken(rules.workspace, name, key, reading=reading, own=own)
    rules.entity(ref_of(entity), Field.NAME, name)
    _mean(rules, entity, key, reading)
    return name


def add_alias(rules: Rules, entity: Entity, name: str, key: str, *, reading: Reading) -> None:
    """Add an alias that documents may use for the entity. Raises ConflictError."""
    refuse_taken(rules.workspace, name, key, reading=reading, own=[entity.pk])
    rules.entity(ref_of(entity), Field.ALIAS, name)
    _mean(rules, entity, key, reading)


def remove_alias(rules: Rules, entity: Entity, name: str, key: str) -> None:
    """Hide the alias, and stop reading it as the entity if a person added it."""
    rules.entity(ref_of(entity), Field.NO_ALIAS, name)
    ref = ref_of(entity)
    if ref != (key, 0) and _was_given(rules.workspace, ref, (key, 0)):
        rules.pair(ref, (key, 0), Verdict.DIFFERENT)
        rules.keep()


def _mean(rules: Rules, entity: Entity, key: str, reading: Reading) -> None:
    """Read the name as the entity, unless it already is."""
    ref = ref_of(entity)
    if reading.read((key, 0)) != ref and key != entity.key:
        rules.pair(ref, (key, 0), Verdict.SAME, keeps=ref)
        rules.keep()


def _was_given(workspace: Workspace, ref: Ref, name: Ref) -> bool:
    left, right = sorted((ref, name))
    return (
        ResolutionDecision.objects.in_workspace(workspace)
        .filter(
            left_key=left[0],
            left_sense=left[1],
            right_key=right[0],
            right_sense=right[1],
            verdict=Verdict.SAME,
            by=ResolutionDecision.By.PERSON,
            undone_at=None,
        )
        .exists()
    )
