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
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import ModeResult

RANK_OFFSET: Final = 60
DEPTH: Final = 150
"""Passages taken from each list, as in Contextual Retrieval."""

NAME: Final = "hybrid"
INSTEAD: Final = "This search used meaning and keywords instead."


def search(query: Query) -> list[ScoredChunk]:
    deeper = replace(query, top_k=max(query.top_k, DEPTH))
    by_meaning = dense.search(deeper)
    by_words = lexical.search(deeper, wordless=True)
    if not by_meaning and by_words:
        query.note("words_only", "Only keywords were searched: no passage has a vector yet.")
    return fuse([by_meaning, by_words], ranks=shared_ranks)[: query.top_k]


def instead(query: Query) -> ModeResult:
    """Search in place of a mode that has nothing to search yet; the result names this mode."""
    return ModeResult(search(query), mode=NAME)


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
    ranks: Callable[[Iterable[ScoredChunk]], Iterable[tuple[int, ScoredChunk]]] | None = None,
) -> list[ScoredChunk]:
    """Fuse the lists into one, best first; equal scores go by id, to be deterministic.

    A hit's rank is its place in the list, from 1, unless ``ranks`` says otherwise.
    """
    scores: dict[UUID, float] = {}
    why: dict[UUID, tuple[str, ...]] = {}
    for found, weight in zip(lists, weights or [1.0] * len(lists), strict=True):
        for rank, hit in ranks(found) if ranks else enumerate(found, start=1):
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + weight / (RANK_OFFSET + rank)
            why[hit.chunk_id] = tuple(dict.fromkeys(why.get(hit.chunk_id, ()) + hit.why))
    ranked = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [ScoredChunk(chunk_id, scores[chunk_id], why[chunk_id]) for chunk_id in ranked]


def topped_up(query: Query, found: list[ScoredChunk]) -> list[ScoredChunk]:
    """Fill up to ``top_k`` with the nearest passages if a graph or tree finds too few."""
    if len(found) >= query.top_k:
        return found[: query.top_k]
    there = {one.chunk_id for one in found}
    others = [one for one in search(query) if one.chunk_id not in there]
    lowest = min((one.score for one in found), default=1.0)
    return found + [
        ScoredChunk(one.chunk_id, lowest / (1 + place), one.why)
        for place, one in enumerate(others[: query.top_k - len(found)], start=1)
    ]
