"""Reranking: after the search, a model reorders the passages before the list is cut.

Takes 150 candidates, of which the requested number is kept: Contextual Retrieval's best
measurement.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kb_project.errors import ModelError
from kb_project.llm.rerank import Ranking, Reranker
from retrieval.search.hits import Hit
from retrieval.search.query import Query
from retrieval.search.reporting import EventKind

CANDIDATES: Final = 150


@dataclass(frozen=True, slots=True)
class Reranked:
    """Reordered hits; ``figures`` are for the trace: how many were reranked, and how long it
    took."""

    hits: list[Hit]
    figures: tuple[tuple[str, float], ...] = ()


def reranked(query: Query, hits: Sequence[Hit], reranker: Reranker | None) -> Reranked:
    """Return the hits in the reranker's order. Call outside transactions.

    If it fails, they keep the search's own order, with a note that says why.
    """
    if reranker is None or len(hits) < 2:
        return Reranked(list(hits))
    sentence = f"Reranking {len(hits)} passages."
    query.reporter.emit(EventKind.STEP, {"name": "rank", "sentence": sentence})
    started = time.perf_counter()
    try:
        ranking = reranker.rank(
            query.question, [as_text(hit) for hit in hits], question_id=query.question_id
        )
    except ModelError as error:
        query.note("not_reranked", f"The passages keep the search's own order: {error.happened}")
        return Reranked(list(hits), _figures(started, 0))
    return Reranked(_in_order(hits, ranking, reranker.name), _figures(started, len(hits)))


def as_text(hit: Hit) -> str:
    """Return a passage with its title and headings above it."""
    above = " › ".join(dict.fromkeys((hit.title, *hit.heading_path)))
    return f"{above}\n{hit.text}"


def _in_order(hits: Sequence[Hit], ranking: Ranking, name: str) -> list[Hit]:
    scores = [score for score in ranking.scores if score is not None]
    worst = min(scores, default=0.0)
    found = []
    for rank, place in enumerate(ranking.order(), start=1):
        score = ranking.scores[place]
        why = (f"Ranked {rank} of {len(hits)} by {name}", *hits[place].why)
        found.append(replace(hits[place], score=worst if score is None else score, why=why))
    return found


def _figures(started: float, count: int) -> tuple[tuple[str, float], ...]:
    spent = round((time.perf_counter() - started) * 1000, 1)
    return (("reranked", count), ("rerank_ms", spent))
