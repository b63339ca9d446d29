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
from retrieval.search.entities import by_entities, search_by
from retrieval.search.entities_likeness import Look
from retrieval.search.entities_passages import ranked_passages
from retrieval.search.found import Found, Record, Seed
from retrieval.search.keywords import Keywords
from retrieval.search.query import Query
from retrieval.search.relations import by_relations

WEIGHTS: Final = (2.0, 1.0)
"""Weights of the two lists: names and relationships are two of LightRAG's three."""


def search(query: Query) -> Found:
    return search_by(query, lambda told: (told.low, told.high), by_both)


def by_both(query: Query, around: Look, told: Keywords) -> Found:
    named, stated = by_entities(query, around, told), by_relations(query, around, told)
    led = ranked_passages(query, around, named.scores + stated.scores)
    return Found(
        hybrid.fuse([led, hybrid.search(query)], WEIGHTS)[: query.top_k],
        interleaved(named.records, stated.records),
        seeds=_once(named.seeds, stated.seeds),
    )


def interleaved(*lists: Sequence[Record]) -> tuple[Record, ...]:
    """Interleave the lists, each record once."""
    found: dict[UUID, Record] = {}
    for record in chain.from_iterable(zip_longest(*lists)):
        if record is not None:
            found.setdefault(record.id, record)
    return tuple(found.values())


def _once(*lists: Sequence[Seed]) -> tuple[Seed, ...]:
    return tuple({(seed.kind, seed.name): seed for seed in chain(*lists)}.values())
