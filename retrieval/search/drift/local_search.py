"""Several local searches for one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from retrieval.search import local
from retrieval.search.found import Found, by_rows
from retrieval.search.query import Query, QuestionVector, ScoredChunk

_SEARCH: Final[Callable[[Query], Found]] = by_rows(local.search)
_PASSAGES: Final[Callable[[Query], Found]] = by_rows(local.passages)


def search(query: Query) -> Found:
    """Search without a model: the calls a question may make are counted elsewhere."""
    return _SEARCH(replace(query, chat=None))


def follow(query: Query, question: str) -> Found:
    """Run a local search for another question, in the same scope. Call outside transactions.

    Its notes are dropped: they concern an index that the first search already covered.
    """
    vector = QuestionVector(query.vector.embedder, question)
    vector.make()
    return search(replace(query, question=question, vector=vector, notes=[]))


def toward(query: Query, name: str) -> list[ScoredChunk]:
    """Return the passages of a local search that also starts at a name. It reuses the question's
    vector: making another would take longer than everything else."""
    further = replace(query, chat=None, question=f"{query.question} {name}", notes=[])
    return _PASSAGES(further).chunks
