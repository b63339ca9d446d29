"""Mix: entities and relations, and passages found by meaning and by words (LightRAG's mix).

Names and relationships lead to one list of passages, meaning and words to another; the two are
fused by rank. Records alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Final
from uuid import UUID

from retrieval.search import hybrid
from retrieval.search.entities import by_entities, ranked_passages, search_by
from retrieval.search.entity_weights import GraphView
from retrieval.search.keywords import Keywords
from retrieval.search.query import Query
from retrieval.search.relations import by_relations
from retrieval.search.results import ModeResult, Record

WEIGHTS: Final = (2.0, 1.0)
"""Weights of the two lists: names and relationships are two of LightRAG's three."""


def search(query: Query) -> ModeResult:
    return search_by(query, ["low", "high"], by_both)


def by_both(query: Query, view: GraphView, keywords: Keywords) -> ModeResult:
    named, stated = by_entities(query, view, keywords), by_relations(query, view, keywords)
    matched = ranked_passages(query, view, named.scores + stated.scores)
    seeds = {(seed.kind, seed.name): seed for seed in (*named.seeds, *stated.seeds)}
    return ModeResult(
        hybrid.fuse([matched, hybrid.search(query)], WEIGHTS)[: query.top_k],
        interleaved(named.records, stated.records),
        seeds=tuple(seeds.values()),
    )


def interleaved(*lists: Sequence[Record]) -> tuple[Record, ...]:
    """Interleave the lists, each record once."""
    found: dict[UUID, Record] = {}
    for record in chain.from_iterable(zip_longest(*lists)):
        if record is not None:
            found.setdefault(record.id, record)
    return tuple(found.values())
