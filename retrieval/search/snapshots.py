"""The walk's matrices of recently used workspaces, cached in the process.

Every search looks up the newest number, so a process never walks an old graph; what it loads for a
number never changes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from uuid import UUID

from kb_project.errors import UnavailableError
from kb_project.graph.walk_index import WalkIndex
from kb_project.sql import run_sql
from retrieval.search import sql
from retrieval.search.hybrid import INSTEAD
from retrieval.search.query import Query

KEPT: Final = 8
"""Snapshots kept in memory: about 2 MB for 700 passages, proportionally more for larger ones."""


def newest(query: Query) -> WalkIndex | None:
    """Return the latest graph from the snapshot stage; None, with a note, if there is none."""
    found = run_sql(sql.NEWEST_SNAPSHOT, {"workspace": query.workspace_id})
    if not found:
        query.note("graph_pending", f"The graph of names is still being built. {INSTEAD}")
        return None
    try:
        return _load(query.workspace_id, found[0][0])
    except UnavailableError as error:
        query.note(error.code, f"{error.happened} {INSTEAD}")
        return None


@lru_cache(maxsize=KEPT)
def _load(workspace_id: UUID, number: int) -> WalkIndex:
    rows = run_sql(sql.SNAPSHOT_PAYLOAD, {"workspace": workspace_id, "number": number})
    if not rows:  # replaced since the number was read
        raise UnavailableError(
            "The graph was rebuilt while you were searching.",
            code="snapshot_renewed",
            next_step="Ask again.",
        )
    return WalkIndex.from_bytes(bytes(rows[0][0]))
