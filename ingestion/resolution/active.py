"""Load the decisions currently in force. Call in the workspace's scope."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from ingestion.resolution import sql
from ingestion.resolution.keys import Ref
from ingestion.resolution.overrides import Curated, Reading, Ruling, reading_of
from ingestion.resolution.reassignments import Placement
from kb_project.sql import run_sql


def load_reading(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> Reading:
    """How names are resolved now, and what they mean in these documents."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    rulings = _rulings(values)
    placements = tuple(
        Placement(key, own, document, chunk, offset, (target, sense), sequence)
        for key, own, document, chunk, offset, target, sense, sequence in run_sql(
            sql.PLACEMENTS, values
        )
    )
    deleted = frozenset((key, sense) for key, sense in run_sql(sql.DELETED, values))
    dropped = frozenset((row[:2], row[2:]) for row in map(tuple, run_sql(sql.DROPPED, values)))
    return reading_of(rulings, Curated(placements, deleted, dropped))


def load_joined(workspace_id: uuid.UUID) -> Reading:
    """Which names are resolved to which others, ignoring reassigned, deleted or dropped ones."""
    return reading_of(_rulings({"workspace": workspace_id, "documents": []}))


def _rulings(values: Mapping[str, object]) -> list[Ruling]:
    return [Ruling(*row) for row in run_sql(sql.RULINGS, values)]


def told_apart(
    workspace_id: uuid.UUID, entities: Sequence[Ref], reading: Reading
) -> list[tuple[Ref, Ref]]:
    """Pairs ruled distinct whose ends resolve to two different ones of these entities.

    Merging the entities anyway requires a decision on each pair that it is the same.
    """
    wanted = {reading.read(one) for one in entities}
    found = []
    for left, left_sense, right, right_sense in run_sql(
        sql.TOLD_APART, {"workspace": workspace_id}
    ):
        pair: tuple[Ref, Ref] = ((left, left_sense), (right, right_sense))
        ends = {reading.read(end) for end in pair}
        if len(ends) == 2 and ends <= wanted:
            found.append(pair)
    return found


def last_sense(workspace_id: uuid.UUID, key: str) -> int | None:
    """The greatest sense number ever used for this name, or None."""
    last: int | None
    [(last,)] = run_sql(sql.LAST_SENSE, {"workspace": workspace_id, "key": key})
    return last


def next_sense(workspace_id: uuid.UUID, key: str) -> int:
    """An unused sense number for this name. Call while holding the names' lock."""
    return 1 + (last_sense(workspace_id, key) or 0)
