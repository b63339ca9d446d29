"""Drift: from the topics a question touches to follow-up questions, and on from there.

After GraphRAG's DRIFT search: first answers from reports, then local searches for the questions
they raise. Theirs makes some 67 calls in random order; this one has a budget and takes the best
first.
"""

from __future__ import annotations

from retrieval.search.drift import extractive, with_chat
from retrieval.search.global_search import searched
from retrieval.search.query import Query
from retrieval.search.results import ModeResult


def search(query: Query) -> ModeResult:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, with_chat.found, extractive.found, extractive.INSTEAD)
