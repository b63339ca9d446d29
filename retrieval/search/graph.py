"""Graph: entities and relations as one list, with the passages behind them (LightRAG's hybrid).

Records alternate. Unlike ``mix``, nothing is found by meaning or words beside the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from uuid import UUID

from retrieval.search.entities import KeywordMatches, by_entities, matched_by, search_by
from retrieval.search.keywords import GraphView, Keywords
from retrieval.search.query import Query
from retrieval.search.relations import by_relations
from retrieval.search.results import ModeResult, Record


def search(query: Query) -> ModeResult:
    return search_by(query, ["low", "high"], matched_by(by_both))


def by_both(query: Query, view: GraphView, keywords: Keywords) -> KeywordMatches:
    """Match both lists of keywords."""
    named, stated = by_entities(query, view, keywords), by_relations(query, view, keywords)
    seeds = {(seed.kind, seed.name): seed for seed in (*named.seeds, *stated.seeds)}
    return KeywordMatches(
        interleaved(named.records, stated.records),
        named.scores + stated.scores,
        tuple(seeds.values()),
    )


def interleaved(*lists: Sequence[Record]) -> tuple[Record, ...]:
    """Interleave the lists, each record once."""
    found: dict[UUID, Record] = {}
    for record in chain.from_iterable(zip_longest(*lists)):
        if record is not None:
            found.setdefault(record.id, record)
    return tuple(found.values())
