"""Many local searches for one question."""

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
    """Asks no model: the calls that a question may take are counted elsewhere."""
    return _SEARCH(replace(query, chat=None))


def follow(query: Query, question: str) -> Found:
    """A local search for another question, within the same scope. Outside transactions.

    Its notes are about an index that the first search has spoken of already.
    """
    vector = QuestionVector(query.vector.embedder, question)
    vector.make()
    return search(replace(query, question=question, vector=vector, notes=[]))


def toward(query: Query, name: str) -> list[ScoredChunk]:
    """The passages of a local search that starts at one more name. Its vector is the question's:
    making another would take longer than all the rest."""
    further = replace(query, chat=None, question=f"{query.question} {name}", notes=[])
    return _PASSAGES(further).chunks
