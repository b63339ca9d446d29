"""Walk (waiting for the index)."""

from __future__ import annotations

from retrieval.search import fuse
from retrieval.search.query import Query, ScoredChunk


def search(query: Query) -> list[ScoredChunk]:
    return fuse.search(query)
