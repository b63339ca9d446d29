"""Mix: entities and relations, and passages found by meaning and by words (LightRAG's mix).

Names and relationships lead to one list of passages, meaning and words to another; the two are
fused by rank.
"""

from __future__ import annotations

from typing import Final

from retrieval.search import graph, hybrid
from retrieval.search.entities import ranked_passages, search_by
from retrieval.search.entity_weights import GraphView
from retrieval.search.keywords import Keywords
from retrieval.search.query import Query
from retrieval.search.results import ModeResult

WEIGHTS: Final = (2.0, 1.0)
"""Weights of the two lists: names and relationships are two of LightRAG's three."""


def search(query: Query) -> ModeResult:
    return search_by(query, ["low", "high"], by_all)


def by_all(query: Query, view: GraphView, keywords: Keywords) -> ModeResult:
    matches = graph.by_both(query, view, keywords)
    matched = ranked_passages(query, view, matches.scores)
    return ModeResult(
        hybrid.fuse([matched, hybrid.search(query)], WEIGHTS)[: query.top_k],
        matches.records,
        seeds=matches.seeds,
    )
