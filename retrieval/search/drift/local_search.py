"""Many local searches for one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from retrieval.search import local
from retrieval.search.found import Found, by_rows
from retrieval.search.query import Query, QuestionVector

_SEARCH: Final[Callable[[Query], Found]] = by_rows(local.search)


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


def toward(query: Query, name: str) -> Found:
    """A local search that starts at one more name. Its vector is the question's: making another
    would take longer than all the rest."""
    return search(replace(query, question=f"{query.question} {name}", notes=[]))
