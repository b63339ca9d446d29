"""Drift: from the topics a question touches to what has to be asked next, and on from there.

After GraphRAG's DRIFT search: a first answer from reports, then local searches for the questions it
raises. Theirs takes some 67 calls in random order; this one has a budget and takes the best first.
"""

from __future__ import annotations

from kb_project.errors import PauseError
from retrieval.search import fuse
from retrieval.search.drift import extractive, modelled
from retrieval.search.found import Found
from retrieval.search.global_ import take
from retrieval.search.query import Query
from workspaces import access


def search(query: Query) -> Found:
    """Called outside transactions. Raises StoppedError."""
    with access.in_workspace(query.workspace_id):
        shelf = take(query)
        if shelf is None:
            return Found(fuse.search(query), mode="hybrid")
    if query.chat is None or query.calls < 1:
        extractive.note_no_model(query)
        return extractive.found(query, shelf.ranked)
    try:
        return modelled.found(query, query.chat, shelf.ranked)
    except PauseError as error:
        extractive.note_paused(query, error)
        return extractive.found(query, shelf.ranked)
