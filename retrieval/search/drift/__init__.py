"""Drift: from the topics a question touches to what has to be asked next, and on from there."""

from __future__ import annotations

from retrieval.search import fuse
from retrieval.search.drift import extractive
from retrieval.search.found import Found
from retrieval.search.global_ import take
from retrieval.search.query import Query
from workspaces import access


def search(query: Query) -> Found:
    with access.in_workspace(query.workspace_id):
        shelf = take(query)
        if shelf is None:
            return Found(fuse.search(query), mode="hybrid")
    extractive.note_no_model(query)
    return extractive.found(query, shelf.ranked)
