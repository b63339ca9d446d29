"""Relations: from what a question asks to the relationships that state it (LightRAG's global
search).

High-level keywords find relationships, by the passages that state them and by their own words; the
entities at both ends are included.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from retrieval.search import entity_weights
from retrieval.search.entities import (
    RELATIONSHIPS,
    RELATIONSHIPS_WEIGHED,
    KeywordMatches,
    matched_by,
    passages_by,
    search_by,
    seeds_of,
)
from retrieval.search.entity_weights import GraphView
from retrieval.search.keywords import Keywords
from retrieval.search.query import Query
from retrieval.search.records import (
    entities_of,
    entity_records,
    relationship_records,
    relationships_in,
    relevance,
)
from retrieval.search.results import ModeResult

NEAR: Final = 60
"""Passages whose relationships are weighed."""


def search(query: Query) -> ModeResult:
    return search_by(query, ["high"], matched_by(by_relations))


def by_relations(query: Query, view: GraphView, keywords: Keywords) -> KeywordMatches:
    """Find the high-level keywords' relationships by relevance, then their ends."""
    weights = entity_weights.weigh(query, view, keywords.high)
    wanted = dict(entity_weights.strongest(view.index, weights, RELATIONSHIPS))
    near = sorted(view.close, key=lambda chunk_id: (-view.close[chunk_id], chunk_id))[:NEAR]
    closest = {chunk_id: view.close[chunk_id] for chunk_id in near}
    found = relationships_in(query, closest, RELATIONSHIPS_WEIGHED)
    rows = entities_of(query, [end for one in found for end in one.ends])
    relevant = relevance(query, view, found, rows, wanted)[:RELATIONSHIPS]
    # Each end with the best score of its relationships, in their order.
    ends: dict[UUID, float] = {}
    for one, score in relevant:
        for end in one.ends:
            ends.setdefault(end, score)
    records = relationship_records(query, view, relevant, rows)
    records += entity_records(query, view, rows, ends)
    passages = passages_by(view, ends, relevant)
    return KeywordMatches(tuple(records), passages, seeds_of(keywords.high, ends, rows))
