"""Explain why a passage was reached: the names that lead from the question to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.sql import run_sql
from retrieval.search import sql

SHOWN: Final = 3
NEAR: Final = ("Close to the question",)


def reasons(
    workspace_id: UUID,
    index: WalkIndex,
    start: Seeds,
    scores: Floats,
    chunk_ids: Sequence[UUID],
) -> dict[UUID, tuple[str, ...]]:
    """Return for each chunk the question's names it mentions, else the name that led to it."""
    asked = {place: name for name, found in start.names.items() for place in found}
    entities = index.to_entities @ scores
    rows = {chunk_id: _mentioned(index, chunk_id) for chunk_id in chunk_ids}
    bridges = {
        chunk_id: max(row, key=lambda place: row[place] * float(entities[place]), default=None)
        for chunk_id, row in rows.items()
        if not asked.keys() & row.keys()
    }
    names = _names(workspace_id, index, [place for place in bridges.values() if place is not None])
    found: dict[UUID, tuple[str, ...]] = {}
    for chunk_id, row in rows.items():
        direct = dict.fromkeys(asked[place] for place in asked if place in row)
        bridge = names.get(bridges.get(chunk_id))
        if direct:
            found[chunk_id] = ("Mentions “" + "”, “".join(list(direct)[:SHOWN]) + "”",)
        else:
            found[chunk_id] = (f"Reached through “{bridge}”",) if bridge else NEAR
    return found


def _mentioned(index: WalkIndex, chunk_id: UUID) -> dict[int, float]:
    """Return a chunk's entities, each with the share of its walk that leads here."""
    place = index.chunk_positions[chunk_id]
    first, last = index.to_chunks.indptr[place : place + 2].tolist()
    entities = index.to_chunks.indices[first:last].tolist()
    return dict(zip(entities, index.to_chunks.data[first:last].tolist(), strict=True))


def _names(workspace_id: UUID, index: WalkIndex, places: Sequence[int]) -> dict[int | None, str]:
    ids = {place: index.entity_ids[place] for place in places}
    wanted = [entity_id for entity_id in set(ids.values()) if entity_id != NO_ENTITY]
    if not wanted:
        return {}
    rows = run_sql(sql.NAMES_OF_ENTITIES, {"workspace": workspace_id, "entities": wanted})
    names: dict[UUID, str] = dict(rows)
    return {place: names[entity_id] for place, entity_id in ids.items() if entity_id in names}
