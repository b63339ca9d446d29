"""Rank passages by the entities and relationships that a question led to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import numpy as np

from kb_project.graph import walk as walking
from kb_project.graph.walk_index import Floats, WalkIndex
from retrieval.search import hybrid, walk
from retrieval.search.entities_likeness import Look, on_chunks, positions_of
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.relations_links import Link

NEIGHBOURS: Final = 1.0
"""Weight of an entity at the other end of a relationship, against the one that led to it."""
SHARPER: Final = 2.0
"""Exponent that lets the best entities dominate; otherwise forty weak ones would outweigh them."""
STATED: Final = 0.1
"""Weight of the relationships that a passage states, against the entities it mentions."""
NEAR: Final = 0.5
"""Weight of the passages near the question: not every question is about names."""


def passages_by(
    around: Look, entities: Mapping[UUID, float], links: Sequence[tuple[Link, float]]
) -> Floats:
    """Weigh each passage of the scope, by position: by the entities it mentions, those they are
    related to, and the relationships it states."""
    index = around.index
    chunks = index.to_chunks @ _entity_vector(index, _with_neighbours(entities, links))
    stated = np.zeros(len(index.chunk_ids), np.float32)
    for link, score in links:
        for chunk_id in {one.chunk_id for one in link.evidence}:
            if chunk_id in index.chunk_positions:
                stated[index.chunk_positions[chunk_id]] += score / len(link.evidence)
    near = on_chunks(index, around.question)
    chunks = _shares(chunks) + STATED * _shares(stated) + NEAR * _shares(near)
    if around.within is not None:
        chunks = chunks * around.within
    return np.asarray(chunks, np.float32)


def _with_neighbours(
    entities: Mapping[UUID, float], links: Sequence[tuple[Link, float]]
) -> dict[UUID, float]:
    found = defaultdict(float, entities)
    most = max((score for _, score in links), default=0.0) or 1.0
    for link, score in links:
        for end in link.ends:
            led = NEIGHBOURS * entities.get(link.other(end), 0.0) * score / most
            found[end] = max(found[end], led)
    return found


def _entity_vector(index: WalkIndex, weights: Mapping[UUID, float]) -> Floats:
    found = np.zeros(len(index.entity_ids), np.float32)
    positions = positions_of(index)
    for entity_id, weight in weights.items():
        if entity_id in positions:
            found[positions[entity_id]] = weight**SHARPER
    return found


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total else weights


def ranked_passages(query: Query, around: Look, scores: Floats) -> list[ScoredChunk]:
    """Return the best ``top_k``; passages near the question fill up if the graph finds too few."""
    start = walking.Seeds({}, {}, around.names)
    return topped_up(query, walk.best(query, around.index, start, scores))


def topped_up(query: Query, found: list[ScoredChunk]) -> list[ScoredChunk]:
    """Fill up to ``top_k`` with the nearest passages if a graph or tree finds too few."""
    if len(found) >= query.top_k:
        return found[: query.top_k]
    there = {one.chunk_id for one in found}
    others = [one for one in hybrid.search(query) if one.chunk_id not in there]
    lowest = min((one.score for one in found), default=1.0)
    return [
        *found,
        *(
            ScoredChunk(one.chunk_id, lowest / (1 + place), one.why)
            for place, one in enumerate(others[: query.top_k - len(found)], start=1)
        ),
    ]
