"""The graph read directly from the relational tables, for a Postgres without Apache AGE.

The rows of ``ingestion_entity`` and ``ingestion_relationship`` are the graph, so the writing
methods do nothing. Every statement names the workspace; row-level security enforces it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from kb_project.graph import traversal
from kb_project.graph.ports import (
    MAX_SHARED,
    GraphCounts,
    GraphEdge,
    GraphNode,
    Neighbour,
    Subgraph,
)
from kb_project.sql import run_sql

COUNTS: Final[LiteralString] = """
SELECT (SELECT count(*) FROM ingestion_entity WHERE workspace_id = %(workspace)s),
       (SELECT count(*) FROM ingestion_relationship WHERE workspace_id = %(workspace)s)
"""

NODES: Final[LiteralString] = """
SELECT id, name, type, degree FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

ALL_NODES: Final[LiteralString] = """
SELECT id, name, type, degree FROM ingestion_entity WHERE workspace_id = %(workspace)s
"""

ALL_EDGES: Final[LiteralString] = """
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
"""

# A union rather than OR: each half uses its own index, and UNION drops duplicates.
EDGES_AROUND: Final[LiteralString] = """
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s AND source_id = ANY (%(ids)s::uuid[])
UNION
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s AND target_id = ANY (%(ids)s::uuid[])
"""

EDGES_AMONG: Final[LiteralString] = """
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
  AND source_id = ANY (%(ids)s::uuid[]) AND target_id = ANY (%(ids)s::uuid[])
"""

# ``some`` is the smaller side: each of its nodes is one look-up in an index.
EDGES_BETWEEN: Final[LiteralString] = """
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
  AND source_id = ANY (%(some)s::uuid[]) AND target_id = ANY (%(others)s::uuid[])
UNION
SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
  AND target_id = ANY (%(some)s::uuid[]) AND source_id = ANY (%(others)s::uuid[])
"""

STRONGEST_EDGES: Final[LiteralString] = """
(SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND source_id = %(id)s AND target_id <> %(id)s
 ORDER BY weight DESC, id LIMIT %(limit)s)
UNION ALL
(SELECT id, source_id, target_id, description, weight FROM ingestion_relationship
 WHERE workspace_id = %(workspace)s AND target_id = %(id)s AND source_id <> %(id)s
 ORDER BY weight DESC, id LIMIT %(limit)s)
"""

SHARED_NEIGHBOURS: Final[LiteralString] = """
WITH near (origin, id) AS (
    SELECT source_id, target_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND source_id IN (%(a)s, %(b)s)
    UNION
    SELECT target_id, source_id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND target_id IN (%(a)s, %(b)s)
)
SELECT entity.id, name, type, degree FROM ingestion_entity AS entity
WHERE workspace_id = %(workspace)s AND entity.id NOT IN (%(a)s, %(b)s)
  AND entity.id IN (SELECT id FROM near WHERE origin = %(a)s)
  AND entity.id IN (SELECT id FROM near WHERE origin = %(b)s)
"""


class TableGraphStore(traversal.Traversal):
    """A read-only ``GraphStore`` over the relational tables."""

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Do nothing: the rows are already there."""

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        """Do nothing: the rows are already gone."""

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Do nothing: the rows are the graph."""

    def drop(self, workspace_id: UUID) -> None:
        """Do nothing: the rows are not a copy."""

    def counts(self, workspace_id: UUID) -> GraphCounts:
        ((nodes, edges),) = self._run(COUNTS, workspace_id)
        return GraphCounts(nodes=nodes, edges=edges)

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        rows = self._run(STRONGEST_EDGES, workspace_id, id=node_id, limit=limit)
        edges = [GraphEdge(*row) for row in rows]
        nodes = self.nodes(workspace_id, [edge.other(node_id) for edge in edges])
        return traversal.as_neighbours(node_id, edges, nodes, limit)

    def shared_neighbours(
        self, workspace_id: UUID, a: UUID, b: UUID, limit: int = MAX_SHARED
    ) -> list[GraphNode]:
        rows = self._run(SHARED_NEIGHBOURS, workspace_id, a=a, b=b)
        return sorted((GraphNode(*row) for row in rows), key=traversal.rarest_first)[:limit]

    def everything(self, workspace_id: UUID) -> Subgraph:
        """Return the whole graph, from which a projection is rebuilt."""
        return Subgraph(
            tuple(GraphNode(*row) for row in self._run(ALL_NODES, workspace_id)),
            tuple(GraphEdge(*row) for row in self._run(ALL_EDGES, workspace_id)),
        )

    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        rows = self._run(EDGES_AROUND, workspace_id, ids=list(ids))
        return [GraphEdge(*row) for row in rows]

    def edges_among(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        rows = self._run(EDGES_AMONG, workspace_id, ids=list(ids))
        return [GraphEdge(*row) for row in rows]

    def edges_between(
        self, workspace_id: UUID, some: Collection[UUID], others: Collection[UUID]
    ) -> list[GraphEdge]:
        fewer, more = sorted((some, others), key=len)
        rows = self._run(EDGES_BETWEEN, workspace_id, some=list(fewer), others=list(more))
        return [GraphEdge(*row) for row in rows]

    def nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> dict[UUID, GraphNode]:
        rows = self._run(NODES, workspace_id, ids=list(ids))
        return {row[0]: GraphNode(*row) for row in rows}

    def _run(
        self, query: LiteralString, workspace_id: UUID, **values: object
    ) -> list[tuple[Any, ...]]:
        return run_sql(query, {"workspace": workspace_id, **values})
