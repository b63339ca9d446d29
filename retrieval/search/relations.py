"""Relations: from what a question asks to the relationships that state it (LightRAG's global
search).

High-level keywords find relationships, by the passages that state them and by their own words; the
entities at both ends are included.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from retrieval.search.entities import (
    RELATIONSHIPS,
    RELATIONSHIPS_WEIGHED,
    KeywordMatches,
    matched_by,
    most_relevant,
    passages_by,
    search_by,
    seeds_of,
)
from retrieval.search.keywords import GraphView, Keywords, strongest, weigh
from retrieval.search.query import Query
from retrieval.search.records import (
    by_relevance,
    entities_of,
    entity_records,
    relationship_records,
    relationships_in,
)
from retrieval.search.results import ModeResult

NEAR: Final = 60
"""Passages whose relationships are weighed."""


def search(query: Query) -> ModeResult:
    return search_by(query, ["high"], matched_by(by_relations))


def by_relations(query: Query, view: GraphView, keywords: Keywords) -> KeywordMatches:
    """Find the high-level keywords' relationships by relevance, then their ends."""
    weights = weigh(query, view, keywords.high)
    wanted = dict(strongest(view.index, weights, RELATIONSHIPS))
    found = relationships_in(query, view, NEAR, RELATIONSHIPS_WEIGHED)
    rows = entities_of(query, [end for one in found for end in one.ends])
    relevant = most_relevant(query, by_relevance(query, found, rows, wanted))
    # Each end with the best score of its relationships, in their order.
    ends: dict[UUID, float] = {}
    for one, score in relevant:
        for end in one.ends:
            ends.setdefault(end, score)
    records = relationship_records(query, view, relevant, rows)
    records += entity_records(query, view, rows, ends)
    passages = passages_by(view, ends, relevant)
    return KeywordMatches(tuple(records), passages, seeds_of(keywords.high, ends, rows))
