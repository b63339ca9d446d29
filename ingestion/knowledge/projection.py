"""The graph's projection and the tables it mirrors: rebuild it, or compare the two."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from kb_project.graph.ports import GraphCounts, GraphIds, GraphStore, Subgraph
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql
from workspaces import access

logger = logging.getLogger(__name__)

# Changes that the graph stage has not projected yet.
WAITING: Final[LiteralString] = """
SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
UNION ALL
SELECT id FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s
"""


@dataclass(frozen=True, slots=True)
class ProjectionDifference:
    """What the projection lacks, what it has in excess, and where its contents differ.

    ``waiting`` are the changes that the next refresh will project.
    """

    missing: GraphIds
    unexpected: GraphIds
    altered: GraphIds
    waiting: frozenset[UUID]

    @property
    def is_empty(self) -> bool:
        """Whether the two have the same ids, regardless of waiting changes."""
        found = (self.missing, self.unexpected)
        return not any(ids.nodes or ids.edges for ids in found)

    @property
    def lasting(self) -> frozenset[UUID]:
        """Differences that no refresh is going to fix."""
        found = (self.missing, self.unexpected, self.altered)
        return frozenset().union(*(ids.nodes | ids.edges for ids in found)) - self.waiting


def rebuild(workspace_id: UUID, store: GraphStore) -> GraphCounts:
    """Drop the workspace's projection and rewrite it from the tables, in one transaction."""
    with access.in_workspace(workspace_id):
        whole = TableGraphStore().everything(workspace_id)
        store.replace_all(workspace_id, whole.nodes, whole.edges)
        counts = store.counts(workspace_id)
    logger.info("graph rebuilt workspace=%s", workspace_id)
    return counts


def compare(workspace_id: UUID, store: GraphStore) -> ProjectionDifference:
    """Find where the projection and the tables differ."""
    with access.in_workspace(workspace_id):
        expected = TableGraphStore().everything(workspace_id)
        found = store.everything(workspace_id)
        waiting = run_sql(WAITING, {"workspace": workspace_id})
    return ProjectionDifference(
        missing=minus(expected.ids, found.ids),
        unexpected=minus(found.ids, expected.ids),
        altered=_altered(expected, found),
        waiting=frozenset(row[0] for row in waiting),
    )


def minus(some: GraphIds, others: GraphIds) -> GraphIds:
    return GraphIds(nodes=some.nodes - others.nodes, edges=some.edges - others.edges)


def _altered(expected: Subgraph, found: Subgraph) -> GraphIds:
    """Ids that both have with different contents."""
    nodes, edges = frozenset(found.nodes), frozenset(found.edges)
    there = found.ids
    return GraphIds(
        nodes=frozenset(one.id for one in expected.nodes if one not in nodes) & there.nodes,
        edges=frozenset(one.id for one in expected.edges if one not in edges) & there.edges,
    )
