"""Pairs of entities that were decided about, and by whom: no one is asked about those again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from ingestion.models import Entity, EventKind, HistoryEvent, ResolutionDecision, Verdict
from ingestion.resolution.active import load_joined
from ingestion.resolution.keys import Ref

Pair = tuple[uuid.UUID, uuid.UUID]
"""Two entities, the lower id first."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision in force on a pair. ``model`` is '' and ``user_id`` None for a former member.

    ``decision_id`` is None if a split or a move keeps them apart.
    """

    verdict: str
    user_id: int | None
    model: str
    created_at: datetime
    reason: str
    decision_id: uuid.UUID | None
    event_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class _Said:
    """Two things, by their names at the time, and what was decided about them."""

    ends: tuple[Ref, Ref]
    decided: Decided
    is_by_person: bool

    @property
    def rank(self) -> tuple[bool, datetime, str]:
        """Sort key: the decision that counts comes last, a person's before the latest."""
        row = self.decided.decision_id or self.decided.event_id
        return self.is_by_person, self.decided.created_at, str(row)


def decided_pairs(workspace_id: uuid.UUID) -> dict[Pair, Decided]:
    """Decisions between entities as they resolve now; a person's before a model's.

    A decision about a name holds for the entity that it was merged into. A model's unsure answer
    leaves the pair open. Splitting an entity, or moving its mentions to another one, rules the two
    distinct, and so does a document in which a name means something else. Call in the workspace's
    scope.
    """
    said = [*_of_decisions(workspace_id), *_of_parted(workspace_id)]
    if not said:
        return {}
    read = load_joined(workspace_id).read
    ends = [(_ends(one, read), one.decided) for one in sorted(said, key=lambda one: one.rank)]
    ids = _ids(workspace_id, {ref for pair, _ in ends for ref in pair})
    return {
        pair_of(ids[left], ids[right]): decided
        for (left, right), decided in ends
        if left in ids and right in ids
    }


def _of_decisions(workspace_id: uuid.UUID) -> Iterator[_Said]:
    rows = ResolutionDecision.objects.in_workspace(workspace_id).filter(undone_at=None)
    for row in rows.exclude(verdict=Verdict.UNSURE):
        if row.right_key:
            yield _said((row.left_key, row.left_sense), (row.right_key, row.right_sense), row)
        elif row.verdict == Verdict.DIFFERENT:
            # A new sense of a name is distinct from all earlier ones.
            for earlier in range(row.sense):
                yield _said((row.left_key, earlier), (row.left_key, row.sense), row)


def _of_parted(workspace_id: uuid.UUID) -> Iterator[_Said]:
    """Splits and moves that have not been undone."""
    events = HistoryEvent.objects.in_workspace(workspace_id).filter(
        kind__in=(EventKind.ENTITY_SPLIT, EventKind.MENTIONS_MOVED), undone_at=None
    )
    for event in events:
        refs = event.details["refs"]
        (key, sense), (other, its) = (refs[event.details[end]] for end in ("from", "into"))
        decided = Decided(
            Verdict.DIFFERENT, event.user_id, "", event.created_at, event.reason, None, event.pk
        )
        yield _Said(((key, sense), (other, its)), decided, is_by_person=True)


def pair_of(one: uuid.UUID, other: uuid.UUID) -> Pair:
    return (one, other) if one < other else (other, one)


def _ids(workspace_id: uuid.UUID, refs: Collection[Ref]) -> dict[Ref, uuid.UUID]:
    """The existing entities' ids, by reference."""
    rows = Entity.objects.in_workspace(workspace_id).filter(key__in={key for key, _ in refs})
    return {(key, sense): pk for key, sense, pk in rows.values_list("key", "sense", "pk")}


def _ends(said: _Said, read: Callable[[Ref], Ref]) -> tuple[Ref, Ref]:
    """The entities it is about now; if both resolve to one, the two originally meant."""
    left, right = (read(ref) for ref in said.ends)
    return said.ends if left == right else (left, right)


def _said(left: Ref, right: Ref, row: ResolutionDecision) -> _Said:
    decided = Decided(
        row.verdict, row.user_id, row.model, row.created_at, row.reason, row.pk, row.event_id
    )
    return _Said((left, right), decided, row.by == ResolutionDecision.By.PERSON)
