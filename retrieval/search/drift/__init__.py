"""Drift: from the topics a question touches to follow-up questions, and on from there.

After GraphRAG's DRIFT search: a first answer from reports, then local searches for the questions it
raises. Theirs makes some 67 calls in random order; this one has a budget and takes the best first.
"""

from __future__ import annotations

from retrieval.search.drift import extractive, modelled
from retrieval.search.found import Found
from retrieval.search.global_search import searched
from retrieval.search.query import Query


def search(query: Query) -> Found:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, modelled.found, extractive.found, extractive.INSTEAD)
