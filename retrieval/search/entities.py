"""Entities: from the names in a question to what is known of them (LightRAG's local search).

Low-level keywords find entities, the entities their relationships, and both their passages. A
passage scores by the entities it mentions and the relationships it states, raised by its own
similarity to the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.graph import walk as walking
from kb_project.graph.walk_index import Floats
from retrieval.search import entities_likeness as likeness, hybrid, snapshots
from retrieval.search.entities_likeness import Look
from retrieval.search.entities_passages import passages_by, ranked_passages
from retrieval.search.entities_records import Known, entities_of, entity_records
from retrieval.search.found import Found, Record, Seed, Shares
from retrieval.search.keywords import Keywords, keywords, vectors
from retrieval.search.query import Query
from retrieval.search.relations_links import link_records, links_of, relevance
from workspaces import access

ENTITIES: Final = 40
LINKS: Final = 40
"""Entities and relationships found, like LightRAG's ``top_k``."""
LINKS_WEIGHED: Final = 200
"""Relationships whose relevance is computed; a hub has thousands."""
SEEDS: Final = 12
SHARES: Final = Shares(passages=0.53, records=0.47)


@dataclass(frozen=True, slots=True)
class Led:
    """The result of keywords: records, every passage's weight by position, and the seeds."""

    records: tuple[Record, ...]
    scores: Floats
    seeds: tuple[Seed, ...]


def search(query: Query) -> Found:
    return search_by(query, lambda told: (told.low,), found_by(by_entities))


def search_by(
    query: Query,
    chosen: Callable[[Keywords], Sequence[Sequence[str]]],
    find: Callable[[Query, Look, Keywords], Found],
) -> Found:
    """Get keywords first, outside transactions, then read rows. Without a graph, use hybrid search.

    ``chosen`` returns the lists of keywords that are also searched by meaning.
    """
    with access.in_workspace(query.workspace_id):
        index = snapshots.newest(query)
        if index is None:
            return hybrid.instead(query)
    known = walking.names_in(index, query.question)
    told = keywords(query, known)
    literals = vectors(query, chosen(told), known)
    with access.in_workspace(query.workspace_id):
        return find(query, likeness.look(query, index, literals), told)


def found_by(
    lead: Callable[[Query, Look, Keywords], Led],
) -> Callable[[Query, Look, Keywords], Found]:
    """Build a search that uses only what keywords lead to."""

    def finding(query: Query, around: Look, told: Keywords) -> Found:
        led = lead(query, around, told)
        return Found(ranked_passages(query, around, led.scores), led.records, seeds=led.seeds)

    return finding


def by_entities(query: Query, around: Look, told: Keywords) -> Led:
    """Find the entities of the low-level keywords, then their relationships by relevance."""
    weights = likeness.weigh(query, around, told.low)
    best = dict(likeness.strongest(around.index, weights, ENTITIES))
    links = links_of(query, list(best), LINKS_WEIGHED)
    known = entities_of(query, [*best, *(end for link in links for end in link.ends)])
    relevant = relevance(query, around, links, known, best)[:LINKS]
    ranked = [(one, score, ()) for one, score in best.items()]
    return Led(
        (
            *entity_records(query, around, known, ranked),
            *link_records(query, around, relevant, known),
        ),
        passages_by(around, best, relevant),
        seeds_of(told.low, best, known),
    )


def seeds_of(
    words: Iterable[str], entities: Mapping[UUID, float], known: Mapping[UUID, Known]
) -> tuple[Seed, ...]:
    """Return the keywords, and the heaviest entities that they led to."""
    best = [one for one in entities if one in known][:SEEDS]
    return (
        *(Seed("keyword", keyword, 1.0) for keyword in words),
        *(Seed("entity", known[one].name, entities[one], one) for one in best),
    )
