"""Relations: from what a question asks to the relationships that state it (LightRAG's global
search).

High-level keywords find relationships, by the passages that state them and by their own words; the
entities at both ends are included.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from retrieval.search import entities_likeness as likeness
from retrieval.search.entities import (
    LINKS,
    LINKS_WEIGHED,
    Led,
    found_by,
    search_by,
    seeds_of,
)
from retrieval.search.entities_likeness import Look
from retrieval.search.entities_passages import passages_by
from retrieval.search.entities_records import entities_of, entity_records
from retrieval.search.found import Found
from retrieval.search.keywords import Keywords
from retrieval.search.query import Query
from retrieval.search.relations_links import Link, link_records, links_in, relevance

NEAR: Final = 60
"""Passages whose relationships are weighed."""


def search(query: Query) -> Found:
    return search_by(query, lambda told: (told.high,), found_by(by_relations))


def by_relations(query: Query, around: Look, told: Keywords) -> Led:
    """Find the high-level keywords' relationships by relevance, then their ends."""
    weights = likeness.weigh(query, around, told.high)
    asked_for = dict(likeness.strongest(around.index, weights, LINKS))
    links = links_in(query, _close(around), LINKS_WEIGHED)
    known = entities_of(query, [end for link in links for end in link.ends])
    relevant = relevance(query, around, links, known, asked_for)[:LINKS]
    ends = _ends(relevant)
    ranked = [(one, score, ()) for one, score in ends.items()]
    return Led(
        (
            *link_records(query, around, relevant, known),
            *entity_records(query, around, known, ranked),
        ),
        passages_by(around, ends, relevant),
        seeds_of(told.high, ends, known),
    )


def _close(around: Look) -> dict[UUID, float]:
    near = {
        chunk_id for found in (around.question, *around.keywords.values()) for chunk_id in found
    }
    close = {chunk_id: around.closeness(chunk_id) for chunk_id in near}
    best = sorted(close, key=lambda chunk_id: (-close[chunk_id], chunk_id))[:NEAR]
    return {chunk_id: close[chunk_id] for chunk_id in best}


def _ends(relevant: list[tuple[Link, float]]) -> dict[UUID, float]:
    """Map each end to the best score of its relationships, in their order."""
    ends: dict[UUID, float] = {}
    for link, score in relevant:
        for end in link.ends:
            ends.setdefault(end, score)
    return ends
