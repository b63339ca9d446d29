"""Relations: from what a question asks to the relationships that state it (LightRAG's global
search).

High-level keywords find relationships, by the passages that state them and by their own words; the
entities at both ends are included.
"""

from __future__ import annotations

from typing import Final

from retrieval.search.entities import (
    RELATIONSHIPS,
    RELATIONSHIPS_WEIGHED,
    Lead,
    matched_by,
    search_by,
)
from retrieval.search.keywords import GraphView, Keywords, strongest, weigh
from retrieval.search.query import Query
from retrieval.search.records import relationship_ids_near
from retrieval.search.results import ModeResult

NEAR: Final = 60
"""Passages whose relationships are weighed."""


def search(query: Query) -> ModeResult:
    return search_by(query, ["high"], matched_by(lead))


def lead(query: Query, view: GraphView, keywords: Keywords) -> Lead:
    """Find the relationships that the passages closest to the high-level keywords state."""
    weights = weigh(query, view, keywords.high)
    wanted = dict(strongest(view.index, weights, RELATIONSHIPS))
    found = relationship_ids_near(query, view, NEAR, RELATIONSHIPS_WEIGHED)
    return Lead(keywords.high, wanted, found, is_to_entities=False)
