"""Hybrid: dense and lexical search, fused by rank.

Reciprocal-rank fusion (Cormack, Clarke, Büttcher 2009): a passage scores the sum over the lists of
``1 / (60 + rank)``, so that scores of different kinds need no common scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf, isclose
from typing import Final
from uuid import UUID

from retrieval.search import dense, lexical
from retrieval.search.found import Found
from retrieval.search.query import Query, ScoredChunk

RANK_OFFSET: Final = 60
DEPTH: Final = 150
"""Passages taken from each list, as in Contextual Retrieval."""

NAME: Final = "hybrid"
INSTEAD: Final = "This search used meaning and keywords instead."


def search(query: Query) -> list[ScoredChunk]:
    by_meaning = dense.search(_deeper(query))
    by_words = lexical.search(_deeper(query), wordless=True)
    if not by_meaning and by_words:
        query.note("words_only", "Only keywords were searched: no passage has a vector yet.")
    return fuse([by_meaning, by_words], ranks=shared_ranks)[: query.top_k]


def instead(query: Query) -> Found:
    """Search in place of a mode that has nothing to search yet; the result names this mode."""
    return Found(search(query), mode=NAME)


def own_ranks(found: Iterable[ScoredChunk]) -> Iterator[tuple[int, ScoredChunk]]:
    """Rank each hit by its place in the list, from 1."""
    return enumerate(found, start=1)


def shared_ranks(found: Iterable[ScoredChunk]) -> Iterator[tuple[int, ScoredChunk]]:
    """Rank hits, giving equal scores the same rank, so that ids decide nothing.

    >>> hits = [ScoredChunk(UUID(int=n), score) for n, score in enumerate([0.9, 0.5, 0.5, 0.1])]
    >>> [rank for rank, _ in shared_ranks(hits)]
    [1, 2, 2, 4]
    """
    rank, score = 0, inf
    for place, hit in enumerate(found, start=1):
        if not isclose(hit.score, score, rel_tol=1e-9):
            rank, score = place, hit.score
        yield rank, hit


def fuse(
    lists: Sequence[Iterable[ScoredChunk]],
    weights: Sequence[float] = (),
    ranks: Callable[[Iterable[ScoredChunk]], Iterator[tuple[int, ScoredChunk]]] = own_ranks,
) -> list[ScoredChunk]:
    """Fuse the lists into one, best first; equal scores go by id, to be deterministic."""
    scores: dict[UUID, float] = {}
    why: dict[UUID, tuple[str, ...]] = {}
    for found, weight in zip(lists, weights or [1.0] * len(lists), strict=True):
        for rank, hit in ranks(found):
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + weight / (RANK_OFFSET + rank)
            why[hit.chunk_id] = tuple(dict.fromkeys(why.get(hit.chunk_id, ()) + hit.why))
    ranked = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [ScoredChunk(chunk_id, scores[chunk_id], why[chunk_id]) for chunk_id in ranked]


def _deeper(query: Query) -> Query:
    return replace(query, top_k=max(query.top_k, DEPTH))
