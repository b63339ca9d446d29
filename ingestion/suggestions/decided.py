"""Which pairs of entities were decided about, and by whom: nobody is asked about those again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from ingestion.identity import Ref
from ingestion.models import Entity, ResolutionDecision, Verdict
from ingestion.standing import load_reading

Pair = tuple[uuid.UUID, uuid.UUID]
"""Two entities, the lower id first."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What stands about a pair. ``model`` is '' and ``user_id`` None for somebody who has left."""

    verdict: str
    user_id: int | None
    model: str
    created_at: datetime
    reason: str
    decision_id: uuid.UUID
    event_id: uuid.UUID | None


def decided_pairs(workspace_id: uuid.UUID) -> dict[Pair, Decided]:
    """What stands between entities as they are read now; a person's word before a model's.

    What was said of a name holds for the entity that it was merged into. What a model was not sure
    of is open. Call in the workspace's scope.
    """
    rows = list(
        ResolutionDecision.objects.in_workspace(workspace_id)
        .filter(undone_at=None)
        .exclude(right_key="")
        .exclude(verdict=Verdict.UNSURE)
    )
    # By name, PERSON sorts behind MODEL: the word that counts comes last.
    rows.sort(key=lambda row: (row.by, row.created_at, row.pk))
    read = load_reading(workspace_id, []).read if rows else _itself
    ends = [_ends(row, read) for row in rows]
    ids = _ids(workspace_id, {ref for pair in ends for ref in pair})
    return {
        pair_of(ids[left], ids[right]): _decided(row)
        for row, (left, right) in zip(rows, ends, strict=True)
        if left in ids and right in ids
    }


def pair_of(one: uuid.UUID, other: uuid.UUID) -> Pair:
    return (one, other) if one < other else (other, one)


def _ids(workspace_id: uuid.UUID, refs: Collection[Ref]) -> dict[Ref, uuid.UUID]:
    """The entities that are there, by what they are named by."""
    rows = Entity.objects.in_workspace(workspace_id).filter(key__in={key for key, _ in refs})
    return {(key, sense): pk for key, sense, pk in rows.values_list("key", "sense", "pk")}


def _ends(row: ResolutionDecision, read: Callable[[Ref], Ref]) -> tuple[Ref, Ref]:
    """What a decision is about now; of two that are read as one, the two that were meant."""
    meant = (row.left_key, row.left_sense), (row.right_key, row.right_sense)
    left, right = (read(ref) for ref in meant)
    return meant if left == right else (left, right)


def _itself(ref: Ref) -> Ref:
    return ref


def _decided(row: ResolutionDecision) -> Decided:
    return Decided(
        row.verdict, row.user_id, row.model, row.created_at, row.reason, row.pk, row.event_id
    )
