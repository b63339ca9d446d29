"""The graph projection against the tables it mirrors."""

from __future__ import annotations

from ingestion import projection
from ingestion.consistency.report import Found
from ingestion.consistency.scope import Scope, found_in
from kb_project.graph.stores import graph_store


def find(scope: Scope) -> Found:
    """Entities and links that one of the two lacks or tells otherwise; not marked ones."""
    difference = projection.compare(scope.workspace_id, graph_store())
    return found_in([(str(one), None) for one in sorted(difference.settled)])
