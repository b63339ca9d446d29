"""Graph: entities and relations as one list, with the passages behind them (LightRAG's hybrid).

Records alternate. Unlike ``mix``, nothing is found by meaning or words beside the graph.
"""

from __future__ import annotations

from retrieval.search import entities, relations
from retrieval.search.query import Query
from retrieval.search.results import ModeResult


def search(query: Query) -> ModeResult:
    find = entities.matched_by(entities.lead, relations.lead)
    return entities.search_by(query, ["low", "high"], find)
