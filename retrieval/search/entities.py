"""Entities: from the names in a question to what is known of them (LightRAG's local search).

Low-level keywords find entities, these bring their relationships, and both their passages. A
passage scores by the entities it mentions and the links it states, raised by its own likeness to
the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from kb_project.graph import walk as walking
from kb_project.graph.walk_index import Floats, WalkIndex
from retrieval.search import entities_likeness as likeness
from retrieval.search import fuse, snapshots, walk
from retrieval.search.entities_likeness import Look
from retrieval.search.entities_records import Known, entities_of, entity_records
from retrieval.search.found import Found, Seed
from retrieval.search.keywords import Keywords, keywords, vectors
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.reasons import reasons
from retrieval.search.relations_links import Link, link_records, links_of, relevance
from workspaces import access

ENTITIES: Final = 40
LINKS: Final = 40
"""Entities and relationships found, as LightRAG's ``top_k``."""
LINKS_WEIGHED: Final = 400
"""Relationships whose relevance is told; a hub has thousands."""
NEIGHBOURS: Final = 0.5
"""What an entity at the other end of a link weighs, beside the one that led to it."""
STATED: Final = 0.5
"""What the links that a passage states weigh, beside the entities that it mentions."""
SEEDS: Final = 12

INSTEAD: Final = "hybrid"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is looked up by; ``vectors`` are those of keywords."""

    keywords: Keywords
    vectors: Mapping[str, str]


def search(query: Query) -> Found:
    return search_by(query, lambda asked: asked.low, by_entities)


def search_by(
    query: Query,
    chosen: Callable[[Keywords], Iterable[str]],
    find: Callable[[Query, Look, Asked], Found],
) -> Found:
    """Keywords first, outside transactions; then rows. Without a graph, meaning and words."""
    with access.in_workspace(query.workspace_id):
        index = snapshots.newest(query)
        if index is None:
            return Found(fuse.search(query), mode=INSTEAD)
    known = walking.names_in(index, query.question)
    told = keywords(query, known)
    asked = Asked(told, vectors(query, chosen(told), known))
    with access.in_workspace(query.workspace_id):
        return find(query, likeness.look(query, index, asked.vectors), asked)


def by_entities(query: Query, around: Look, asked: Asked) -> Found:
    """The entities of the low-level keywords, then their relationships by relevance."""
    weights = likeness.weigh(query, around, asked.keywords.low)
    best = dict(likeness.strongest(around.index, weights, ENTITIES))
    links = links_of(query, list(best), LINKS_WEIGHED)
    known = entities_of(query, [*best, *(end for link in links for end in link.ends)])
    relevant = relevance(query, around, links, known, best)[:LINKS]
    records = [
        *entity_records(query, around, known, [(one, score, ()) for one, score in best.items()]),
        *link_records(query, around, relevant, known),
    ]
    scores = passages_by(around, best, relevant)
    return Found(
        ranked_passages(query, around, scores),
        tuple(records),
        seeds=seeds_of(asked.keywords.low, best, known),
    )


def seeds_of(
    words: Iterable[str], entities: Mapping[UUID, float], known: Mapping[UUID, Known]
) -> tuple[Seed, ...]:
    """The keywords, and the heaviest entities that they led to."""
    best = [one for one in entities if one in known][:SEEDS]
    return (
        *(Seed("keyword", keyword, 1.0) for keyword in words),
        *(Seed("entity", known[one].name, entities[one], one) for one in best),
    )


def passages_by(
    around: Look, entities: Mapping[UUID, float], links: Sequence[tuple[Link, float]]
) -> Floats:
    """What each passage of the scope weighs, by position: for the entities it mentions, those at
    the other ends of their links, and the links it states."""
    index = around.index
    chunks = index.to_chunks @ _entity_vector(index, _with_neighbours(entities, links))
    stated = np.zeros(len(index.chunk_ids), np.float32)
    for link, score in links:
        for chunk_id in {one.chunk_id for one in link.evidence}:
            if chunk_id in index.chunk_positions:
                stated[index.chunk_positions[chunk_id]] += score / len(link.evidence)
    chunks = _shares(chunks) + STATED * _shares(stated)
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
    values = [weights.get(entity_id, 0.0) for entity_id in index.entity_ids]
    return np.array(values, np.float32)


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total else weights


def ranked_passages(query: Query, around: Look, scores: Floats) -> list[ScoredChunk]:
    """The best ``top_k``; passages near the question fill up where the graph leads to too few."""
    found = walking.ranked(around.index, scores, max(walk.CANDIDATES, query.top_k))
    best = walk.nearer_first(query, found)[: query.top_k]
    start = walking.Seeds({}, {}, around.names)
    why = reasons(query.workspace_id, around.index, start, scores, [one for one, _ in best])
    told = [ScoredChunk(chunk_id, score, why[chunk_id]) for chunk_id, score in best]
    return told if len(told) >= query.top_k else _filled(query, told)


def _filled(query: Query, found: list[ScoredChunk]) -> list[ScoredChunk]:
    there = {one.chunk_id for one in found}
    others = [one for one in fuse.search(query) if one.chunk_id not in there]
    lowest = min((one.score for one in found), default=1.0)
    return [
        *found,
        *(
            ScoredChunk(one.chunk_id, lowest / (1 + place), one.why)
            for place, one in enumerate(others[: query.top_k - len(found)], start=1)
        ),
    ]
