"""Entities: from the names in a question to what is known of them (LightRAG's local search).

Low-level keywords find entities, the entities their relationships, and both their passages. A
passage scores by the entities it mentions and the relationships it states, raised by its own
similarity to the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final
from uuid import UUID

import numpy as np

from kb_project.graph import walk as walking
from kb_project.graph.walk_index import Floats
from retrieval.search import hybrid, walk
from retrieval.search.keywords import (
    GraphView,
    Keywords,
    keywords_of,
    on_chunks,
    strongest,
    vectors,
    view_of,
    weigh,
)
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.records import (
    EntityFacts,
    Relationship,
    by_relevance,
    entities_of,
    entity_records,
    relationship_ids,
    relationship_records,
    relationships_stated,
    with_evidence,
)
from retrieval.search.results import ModeResult, Record, Seed, Shares
from workspaces import access

ENTITIES: Final = 40
RELATIONSHIPS: Final = 40
"""Entities and relationships found, like LightRAG's ``top_k``."""
RELATIONSHIPS_WEIGHED: Final = 120
"""Relationships whose relevance is computed; a hub has thousands. With 200, no more is found: see
``docs/benchmarks.md``."""
SEEDS: Final = 12
SHARES: Final = Shares(passages=0.53, records=0.47)
NEIGHBOURS: Final = 1.0
"""Weight of an entity at the other end of a relationship, against the one that led to it."""
SHARPER: Final = 2.0
"""Exponent that lets the best entities dominate; otherwise forty weak ones would outweigh them."""
STATED: Final = 0.1
"""Weight of the relationships that a passage states, against the entities it mentions."""
NEAR: Final = 0.5
"""Weight of the passages near the question: not every question is about names."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Where a list of keywords leads before any row is read: to entities, heaviest first, and to
    relationships. Records are the entities and the relevant relationships, or these and their ends.
    """

    keywords: Sequence[str]
    entities: Mapping[UUID, float]
    relationships: Sequence[UUID]
    is_to_entities: bool


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """The result of keywords: records, every passage's weight by position, and the seeds."""

    records: tuple[Record, ...]
    scores: Floats
    seeds: tuple[Seed, ...]


Leading = Callable[[Query, GraphView, Keywords], Lead]


def search(query: Query) -> ModeResult:
    return search_by(query, ["low"], matched_by(lead))


def lead(query: Query, view: GraphView, keywords: Keywords) -> Lead:
    """Find the entities of the low-level keywords, and their relationships."""
    weights = weigh(query, view, keywords.low)
    best = dict(strongest(view.index, weights, ENTITIES))
    found = relationship_ids(query, list(best), RELATIONSHIPS_WEIGHED)
    return Lead(keywords.low, best, found, is_to_entities=True)


def search_by(
    query: Query,
    lists: Sequence[str],
    find: Callable[[Query, GraphView, Keywords], ModeResult],
) -> ModeResult:
    """Get keywords first, outside transactions, then read rows. Without a graph, use hybrid search.

    ``lists`` names the lists of keywords that are also searched by meaning.
    """
    with access.in_workspace(query.workspace_id):
        index = walk.newest_index(query)
        if index is None:
            return hybrid.instead(query)
    known = walking.names_in(index, query.question)
    keywords = keywords_of(query, known)
    literals = vectors(query, [getattr(keywords, name) for name in lists], known)
    with access.in_workspace(query.workspace_id):
        return find(query, view_of(query, index, literals), keywords)


def matched_by(*leading: Leading) -> Callable[[Query, GraphView, Keywords], ModeResult]:
    """Build a search that uses only what keywords lead to."""

    def find(query: Query, view: GraphView, keywords: Keywords) -> ModeResult:
        leads = [each(query, view, keywords) for each in leading]
        matches = matches_of(query, view, leads)
        passages = ranked_passages(query, view, matches.scores)
        return ModeResult(passages, matches.records, seeds=matches.seeds)

    return find


def matches_of(query: Query, view: GraphView, leads: Sequence[Lead]) -> KeywordMatches:
    """Read where the leads lead, all at once. Their records alternate."""
    ids = dict.fromkeys(id_ for one in leads for id_ in one.relationships)
    found = {one.id: one for one in relationships_stated(query, view, list(ids))}
    wanted = chain(
        (end for one in found.values() for end in one.ends),
        *(one.entities for one in leads if one.is_to_entities),
    )
    rows = entities_of(query, wanted)
    ranked = [
        by_relevance(
            query, [found[id_] for id_ in one.relationships if id_ in found], rows, one.entities
        )[:RELATIONSHIPS]
        for one in leads
    ]
    relevant = {one.id: one for one, _ in chain.from_iterable(ranked)}
    read = {one.id: one for one in with_evidence(query, list(relevant.values()))}
    matches = [
        _match(query, view, one, [(read[each.id], score) for each, score in best], rows)
        for one, best in zip(leads, ranked, strict=True)
    ]
    seeds = {(seed.kind, seed.name): seed for one in matches for seed in one.seeds}
    return KeywordMatches(
        interleaved(*(one.records for one in matches)),
        np.sum([one.scores for one in matches], axis=0),
        tuple(seeds.values()),
    )


def _match(
    query: Query,
    view: GraphView,
    lead: Lead,
    relevant: Sequence[tuple[Relationship, float]],
    rows: Mapping[UUID, EntityFacts],
) -> KeywordMatches:
    shown = lead.entities
    if not lead.is_to_entities:
        ends: dict[UUID, float] = {}
        for one, score in relevant:
            for end in one.ends:
                ends.setdefault(end, score)  # that of the best of its relationships
        shown = ends
    entities = entity_records(query, view, rows, shown)
    relationships = relationship_records(query, view, relevant, rows)
    parts = (entities, relationships) if lead.is_to_entities else (relationships, entities)
    passages = passages_by(view, shown, relevant)
    seeds = seeds_of(lead.keywords, shown, rows)
    return KeywordMatches(tuple(chain.from_iterable(parts)), passages, seeds)


def interleaved(*lists: Sequence[Record]) -> tuple[Record, ...]:
    """Interleave the lists, each record once."""
    found: dict[UUID, Record] = {}
    for record in chain.from_iterable(zip_longest(*lists)):
        if record is not None:
            found.setdefault(record.id, record)
    return tuple(found.values())


def seeds_of(
    keywords: Iterable[str], entities: Mapping[UUID, float], rows: Mapping[UUID, EntityFacts]
) -> tuple[Seed, ...]:
    """Return the keywords, and the heaviest entities that they led to."""
    best = [one for one in entities if one in rows][:SEEDS]
    return (
        *(Seed("keyword", keyword, 1.0) for keyword in keywords),
        *(Seed("entity", rows[one].name, entities[one], one) for one in best),
    )


def ranked_passages(query: Query, view: GraphView, scores: Floats) -> list[ScoredChunk]:
    """Return the best ``top_k``; passages near the question fill up if the graph finds too few."""
    start = walking.Seeds({}, {}, view.names)
    return hybrid.topped_up(query, walk.best(query, view.index, start, scores))


def passages_by(
    view: GraphView,
    entities: Mapping[UUID, float],
    relationships: Sequence[tuple[Relationship, float]],
) -> Floats:
    """Weigh each passage of the scope, by position: by the entities it mentions, those they are
    related to, and the relationships it states."""
    index = view.index
    weighed = _with_neighbours(entities, relationships)
    places = index.entity_ids.places(weighed)
    weights = np.array([*weighed.values()], np.float32) ** SHARPER
    mentioned = index.chunks_of(places[places >= 0], weights[places >= 0])
    stated = on_chunks(index, _stated(relationships))
    near = on_chunks(index, view.question)
    shares = walking.shares
    chunks = shares(mentioned) + STATED * shares(stated) + NEAR * shares(near)
    if view.within is not None:
        chunks = chunks * view.within
    return np.asarray(chunks, np.float32)


def _stated(relationships: Sequence[tuple[Relationship, float]]) -> dict[UUID, float]:
    """Sum for each passage what the relationships that it states score."""
    found: defaultdict[UUID, float] = defaultdict(float)
    for one, score in relationships:
        for chunk_id in {place.chunk_id for place in one.evidence}:
            found[chunk_id] += score / len(one.evidence)
    return found


def _with_neighbours(
    entities: Mapping[UUID, float], relationships: Sequence[tuple[Relationship, float]]
) -> dict[UUID, float]:
    found = defaultdict(float, entities)
    most = max((score for _, score in relationships), default=0.0) or 1.0
    for one, score in relationships:
        for end in one.ends:
            weight = NEIGHBOURS * entities.get(one.other(end), 0.0) * score / most
            found[end] = max(found[end], weight)
    return found
