"""Decisions about conflicts: what identifies a conflict, and what state its decision gives it.

Call everything here in the workspace's scope.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ingestion.models import (
    Conflict,
    ConflictRuling,
    ConflictSide,
    ConflictState,
    ConflictVerdict,
    HistoryEvent,
)
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import Ref
from kb_project.text.values import NAME, Value
from workspaces import editions

CONFLICTS: Final = uuid.UUID("7d0c1d64-5a0e-5b52-9d5e-3c1c0f6f52a4")
STATES: Final = {
    ConflictVerdict.HOLDS: ConflictState.DECIDED,
    ConflictVerdict.BOTH: ConflictState.DECIDED,
    ConflictVerdict.LEFT: ConflictState.LEFT,
}
BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision makes of a conflict."""

    state: str = ConflictState.OPEN.value
    holds: str = ""
    event_id: uuid.UUID | None = None


def about_of(kind: str, *parts: str) -> str:
    """Return a digest of what a conflict is about, whichever documents it is found in."""
    return blake2b("\0".join((kind, *parts)).encode(), digest_size=16).hexdigest()


def conflict_id(subject: Ref, about: str) -> uuid.UUID:
    """Return the id of a conflict, the same in a workspace and its editions."""
    return uuid.uuid5(CONFLICTS, "\0".join((subject[0], str(subject[1]), about)))


def apply_rulings(workspace_id: uuid.UUID) -> int:
    """Give every conflict the state that the decisions in force imply; return how many changed."""
    rows = Conflict.objects.in_workspace(workspace_id).select_related("subject")
    decided = _in_force(workspace_id)
    due = [
        one for one in rows if one.state != ConflictState.OPEN or (_ref(one), one.about) in decided
    ]
    keys = _values(workspace_id, [one.pk for one in due])
    changed = []
    for one in due:
        outcome = outcome_of(decided.get((_ref(one), one.about)), keys.get(one.pk, set()))
        if (one.state, one.holds, one.event_id) != (
            outcome.state,
            outcome.holds,
            outcome.event_id,
        ):
            one.state, one.holds, one.event_id = outcome.state, outcome.holds, outcome.event_id
            changed.append(one)
    rows.bulk_update(changed, ["state", "holds", "event"], batch_size=BATCH)
    return len(changed)


def follow(workspace_id: uuid.UUID) -> None:
    """Let conflicts, here and in the editions, follow decisions that have changed."""
    apply_rulings(workspace_id)
    editions.request_sync(workspace_id)


def outcome_of(ruling: ConflictRuling | None, keys: Collection[str]) -> Outcome:
    """Return what a decision makes of a conflict between these values.

    It is open again if there is a value that the decision did not know, or if the value that holds
    is gone.
    """
    if ruling is None:
        return Outcome()
    values = [Value.of_key(key) for key in keys]
    known = [Value.of_key(key) for key in ruling.known]
    if any(not any(one.agrees(its) for its in known) for one in values):
        return Outcome()
    holds = ruling.holds
    if holds and holds not in keys:
        chosen = Value.of_key(holds)
        holds = next((one.key for one in values if chosen.agrees(one)), "")
        if not holds:
            return Outcome()
    return Outcome(STATES[ConflictVerdict(ruling.verdict)].value, holds, ruling.event_id)


def named_in(keys: Collection[str]) -> list[str]:
    """Return the keys of the names among values.

    >>> named_in(["date:1950", "name:ada lind"])
    ['ada lind']
    """
    return [value.parts[0] for value in map(Value.of_key, keys) if value.kind == NAME]


def decides_conflicts(event: HistoryEvent) -> bool:
    """Return whether decisions about conflicts came with the event."""
    rows = ConflictRuling.objects.in_workspace(event.workspace_id)
    return rows.filter(event=event).exists()


def _ref(conflict: Conflict) -> Ref:
    return conflict.subject.key, conflict.subject.sense


def _in_force(workspace_id: uuid.UUID) -> Mapping[tuple[Ref, str], ConflictRuling]:
    """Return the decision that counts about each conflict: the latest, of merged subjects too."""
    rows = ConflictRuling.objects.in_workspace(workspace_id).filter(undone_at=None)
    rulings = list(rows.order_by("sequence", "id"))
    if not rulings:
        return {}
    resolution = load_resolution(workspace_id)
    return {(resolution.resolve((row.key, row.sense)), row.about): row for row in rulings}


def _values(
    workspace_id: uuid.UUID, conflicts: Collection[uuid.UUID]
) -> Mapping[uuid.UUID, set[str]]:
    rows = ConflictSide.objects.in_workspace(workspace_id).filter(conflict__in=list(conflicts))
    keys: defaultdict[uuid.UUID, set[str]] = defaultdict(set)
    for one, key in rows.values_list("conflict_id", "key"):
        keys[one].add(key)
    return keys
