"""Walk: personalised PageRank over passages and the names they share.

Starts at the names in the question and, with little weight, at the passages nearest to it; reaches
passages that share no word with the question through the names between. See
``kb_project.graph.walk``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ingestion.models import Entity, WalkSnapshot
from kb_project.errors import UnavailableError
from kb_project.graph import walk as walking
from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.sql import run_sql
from retrieval.search import dense, hybrid, lexical, sql
from retrieval.search.process_cache import CACHE
from retrieval.search.query import Query, ScoredChunk

NODE_BYTES: Final = 250
NAME_BYTES: Final = 700
"""An id with its places in dictionaries, and a name with its words; both measured."""
NEAREST: Final = 100
"""Passages whose similarity sets the scale of those the walk starts from."""
CANDIDATES: Final = 200
"""At least this many passages have their score raised by similarity to the question."""
MEANING: Final = 2.0
WORDS: Final = 1.0
"""Measured: without words 0.70 of single-passage evidence is within the first 5, with them 0.76,
and the evidence of multi-hop questions stays within the first 8."""
SHOWN: Final = 3
"""Names given as the reason for a passage."""


def search(query: Query) -> list[ScoredChunk]:
    index = newest_index(query)
    if index is None:
        return hybrid.search(query)
    start = walking.seeds(index, query.question, nearest(query))
    scores = walking.walk(index, start, within=within(query, index), walk_on=walking.WALK_ON)
    return best(query, index, start, scores)


def best(query: Query, index: WalkIndex, start: Seeds, scores: Floats) -> list[ScoredChunk]:
    """Return the ``top_k`` passages by their scores and their similarity to the question."""
    candidates = walking.ranked(index, scores, max(CANDIDATES, query.top_k))
    found = nearer_first(query, candidates)[: query.top_k]
    return explained(query, index, start, scores, found)


def nearest(query: Query) -> list[tuple[UUID, float]]:
    """Return passages near the question by their vectors, or by its words while there are none."""
    found = dense.nearest(query, NEAREST)
    dense.note_pending(query)
    return found or [(chunk_id, score) for chunk_id, score, _ in lexical.best(query, NEAREST)]


def within(query: Query, index: WalkIndex) -> NDArray[np.bool_] | None:
    """Return a mask of the index's chunks in the scope; None if all are."""
    if query.documents is None:
        return None
    rows = run_sql(sql.CHUNKS_OF_DOCUMENTS, query.parameters())
    positions = (index.chunk_positions.get(chunk_id) for (chunk_id,) in rows)
    mask = np.zeros(len(index.chunk_ids), bool)
    mask[[position for position in positions if position is not None]] = True
    return mask


def nearer_first(query: Query, found: list[tuple[UUID, float]]) -> list[tuple[UUID, float]]:
    """Raise scores by ``exp(2 · cosine + BM25 / best BM25)``.

    A passage without a vector counts as the farthest, one that shares no word as zero.
    """
    cosines = dense.cosines(query, [chunk_id for chunk_id, _ in found])
    farthest = min(cosines.values(), default=0.0)
    by_words = {chunk_id: score for chunk_id, score, _ in lexical.best(query, CANDIDATES)}
    most = max(by_words.values(), default=1.0)

    def raised(chunk_id: UUID, score: float) -> float:
        meaning = MEANING * cosines.get(chunk_id, farthest)
        return score * math.exp(meaning + WORDS * by_words.get(chunk_id, 0.0) / most)

    ranked = [(chunk_id, raised(chunk_id, score)) for chunk_id, score in found]
    return sorted(ranked, key=lambda one: (-one[1], one[0]))


# --- the matrices, cached in the process ----------------------------------------------------------


def newest_index(query: Query) -> WalkIndex | None:
    """Return the latest graph from the snapshot stage; None, with a note, if there is none.

    Every search looks up the newest number, so a process never walks an old graph; what it loads
    for a number never changes.
    """
    numbers = WalkSnapshot.objects.in_workspace(query.workspace_id).order_by("-number")
    number = numbers.values_list("number", flat=True).first()
    if number is None:
        query.note("graph_pending", f"The graph of names is still being built. {hybrid.INSTEAD}")
        return None
    try:
        load = partial(_load, query.workspace_id, number)
        return CACHE.get(query.workspace_id, number, load, bytes_held)
    except UnavailableError as error:
        query.note(error.code, f"{error.happened} {hybrid.INSTEAD}")
        return None


def bytes_held(index: WalkIndex) -> int:
    """Estimate what an index takes in memory with what is derived from it on first use."""
    matrices = (index.to_entities, index.to_chunks)
    arrays = sum(one.data.nbytes + one.indices.nbytes + one.indptr.nbytes for one in matrices)
    nodes = len(index.chunk_ids) + len(index.entity_ids)
    return int(arrays) + NODE_BYTES * nodes + NAME_BYTES * len(index.name_keys)


def _load(workspace_id: UUID, number: int) -> WalkIndex:
    rows = WalkSnapshot.objects.in_workspace(workspace_id).filter(number=number)
    payload = rows.values_list("payload", flat=True).first()
    if payload is None:  # replaced since the number was read
        raise UnavailableError(
            "The graph was rebuilt while you were searching.",
            code="snapshot_renewed",
            next_step="Ask again.",
        )
    return WalkIndex.from_bytes(bytes(payload))


# --- why a passage was reached --------------------------------------------------------------------


def explained(
    query: Query,
    index: WalkIndex,
    start: Seeds,
    scores: Floats,
    found: Sequence[tuple[UUID, float]],
) -> list[ScoredChunk]:
    """Give each passage its reason: the question's names it mentions, else the name that led to
    it."""
    asked = {place: name for name, places in start.names.items() for place in places}
    entities = index.to_entities @ scores
    rows = {chunk_id: _mentioned(index, chunk_id) for chunk_id, _ in found}
    bridges = {
        chunk_id: max(row, key=lambda place: row[place] * float(entities[place]))
        for chunk_id, row in rows.items()
        if row and not asked.keys() & row.keys()
    }
    names = _names(query, index, bridges)

    def reason(chunk_id: UUID) -> str:
        mentioned = dict.fromkeys(name for place, name in asked.items() if place in rows[chunk_id])
        if mentioned:
            return f"Mentions “{'”, “'.join(list(mentioned)[:SHOWN])}”"
        bridge = names.get(chunk_id)
        return f"Reached through “{bridge}”" if bridge else "Close to the question"

    return [ScoredChunk(chunk_id, score, (reason(chunk_id),)) for chunk_id, score in found]


def _mentioned(index: WalkIndex, chunk_id: UUID) -> dict[int, float]:
    """Return a chunk's entities, each with the share of its walk that leads here."""
    place = index.chunk_positions[chunk_id]
    first, last = index.to_chunks.indptr[place : place + 2].tolist()
    entities = index.to_chunks.indices[first:last].tolist()
    return dict(zip(entities, index.to_chunks.data[first:last].tolist(), strict=True))


def _names(query: Query, index: WalkIndex, bridges: dict[UUID, int]) -> dict[UUID, str]:
    """Return the name of each chunk's entity."""
    ids = {chunk_id: index.entity_ids[place] for chunk_id, place in bridges.items()}
    rows = Entity.objects.in_workspace(query.workspace_id)
    wanted = set(ids.values()) - {NO_ENTITY}
    names = dict(rows.filter(pk__in=wanted).values_list("pk", "name"))
    return {chunk_id: names[one] for chunk_id, one in ids.items() if one in names}
