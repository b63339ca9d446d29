"""What stands of decisions and rulings, read for those who obey it. In the workspace's scope."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from ingestion import rulings_sql as sql
from ingestion.identity import Ref
from ingestion.placements import Placement
from ingestion.rulings import Curated, Reading, Ruling, reading_of
from kb_project.sql import run_sql


def load_reading(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> Reading:
    """How names are read now, and what they mean in these documents."""
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
    """Which names are read as which others; nothing of what was placed, deleted or dropped."""
    return reading_of(_rulings({"workspace": workspace_id, "documents": []}))


def _rulings(values: Mapping[str, object]) -> list[Ruling]:
    return [Ruling(*row) for row in run_sql(sql.RULINGS, values)]


def told_apart(
    workspace_id: uuid.UUID, entities: Sequence[Ref], reading: Reading
) -> list[tuple[Ref, Ref]]:
    """Pairs said to differ, of which the two are read as different ones of these entities.

    Who merges the entities all the same has to say of each pair that it is the same.
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
    """The greatest number that a thing of this name ever had; None where there never was one."""
    last: int | None
    [(last,)] = run_sql(sql.LAST_SENSE, {"workspace": workspace_id, "key": key})
    return last


def next_sense(workspace_id: uuid.UUID, key: str) -> int:
    """A number for another thing of this name, which none ever had; after the names are held."""
    return 1 + (last_sense(workspace_id, key) or 0)
