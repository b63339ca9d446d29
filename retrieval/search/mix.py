"""Mix: entities and relations, and passages found by meaning and by words (LightRAG's mix).

The three lists of passages are joined by rank, records take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from uuid import UUID

from retrieval.search import fuse
from retrieval.search.entities import Asked, by_entities, search_by
from retrieval.search.entities_likeness import Look
from retrieval.search.found import Found, Record, Seed
from retrieval.search.query import Query
from retrieval.search.relations import by_relations


def search(query: Query) -> Found:
    return search_by(query, lambda asked: (*asked.low, *asked.high), by_both)


def by_both(query: Query, around: Look, asked: Asked) -> Found:
    named = by_entities(query, around, asked)
    stated = by_relations(query, around, asked)
    lists = [named.chunks, stated.chunks, fuse.search(query)]
    return Found(
        fuse.fuse(lists)[: query.top_k],
        interleaved(named.records, stated.records),
        seeds=_once(named.seeds, stated.seeds),
    )


def interleaved(*lists: Sequence[Record]) -> tuple[Record, ...]:
    """One of each in turn, every record once."""
    found: dict[UUID, Record] = {}
    for record in chain.from_iterable(zip_longest(*lists)):
        if record is not None:
            found.setdefault(record.id, record)
    return tuple(found.values())


def _once(*lists: Sequence[Seed]) -> tuple[Seed, ...]:
    return tuple({(seed.kind, seed.name): seed for seed in chain(*lists)}.values())
