"""Summary trees against the passages they are made of."""

from __future__ import annotations

from ingestion.consistency.report import NOTHING, Found
from ingestion.consistency.scope import Scope, found_in
from ingestion.stages import tree
from ingestion.stages.tree import rows
from kb_project.sql import run_sql


def find(scope: Scope) -> Found:
    """Documents whose tree is missing or of other passages; else the tree over all of them."""
    values = {"workspace": scope.workspace_id, "fingerprint": scope.fingerprint, "writer": None}
    stale = [(str(row[0]), None) for row in run_sql(rows.STALE_DOCUMENTS, values)]
    if stale:
        return found_in(stale)
    if tree.is_missed(scope.workspace_id, scope.fingerprint):
        return Found(1, ("all documents",))
    return NOTHING
