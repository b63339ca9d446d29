"""The projection of the graph beside the tables it mirrors: build it anew, or compare the two."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from kb_project.graph.ports import GraphCounts, GraphIds, GraphStore
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql
from workspaces import access

logger = logging.getLogger(__name__)

# How many changes has the graph stage not projected yet?
COUNT_WAITING: Final[LiteralString] = """
SELECT (SELECT count(*) FROM ingestion_entity
        WHERE workspace_id = %(workspace)s AND is_changed)
     + (SELECT count(*) FROM ingestion_relationship
        WHERE workspace_id = %(workspace)s AND is_changed)
     + (SELECT count(*) FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s)
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """What the projection lacks, what it has too much, and how many changes still wait."""

    missing: GraphIds
    unexpected: GraphIds
    waiting: int

    @property
    def is_empty(self) -> bool:
        found = (self.missing, self.unexpected)
        return not any(ids.nodes or ids.edges for ids in found)


def rebuild(workspace_id: UUID, store: GraphStore) -> GraphCounts:
    """Drop the workspace's projection and write it anew from the tables, in one transaction."""
    with access.in_workspace(workspace_id):
        whole = TableGraphStore().everything(workspace_id)
        store.replace_all(workspace_id, whole.nodes, whole.edges)
        counts = store.counts(workspace_id)
    logger.info("graph rebuilt workspace=%s", workspace_id)
    return counts


def compare(workspace_id: UUID, store: GraphStore) -> Difference:
    """Where the projection and the tables differ, by id."""
    with access.in_workspace(workspace_id):
        expected = TableGraphStore().ids(workspace_id)
        found = store.ids(workspace_id)
        ((waiting,),) = run_sql(COUNT_WAITING, {"workspace": workspace_id})
    return Difference(minus(expected, found), minus(found, expected), waiting)


def minus(some: GraphIds, others: GraphIds) -> GraphIds:
    return GraphIds(nodes=some.nodes - others.nodes, edges=some.edges - others.edges)
