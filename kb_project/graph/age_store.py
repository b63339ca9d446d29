"""The graph in Apache AGE: one graph per workspace, a projection of the relational tables.

The graph ``kb_<workspace id in hex>`` is created by the first write, in the writer's transaction,
so that rows and projection commit together. It can be dropped and rebuilt at any time. Every call
needs a transaction with ``app.workspace_id`` set: without it there are no rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, LiteralString, TypeVar
from uuid import UUID

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import sql

from kb_project.errors import InputError
from kb_project.graph import agtype, label_tables, queries, reading
from kb_project.graph.ports import (
    MAX_HOPS,
    GraphCounts,
    GraphEdge,
    GraphNode,
    GraphPath,
    Neighbour,
    Subgraph,
)
from kb_project.sql import run_sql

GRAPH_NAME: Final = re.compile(r"kb_[0-9a-f]{32}\Z")
# Rows per statement: 5,000 edges are about 1 MB of parameters.
BATCH: Final = 5_000

ItemT = TypeVar("ItemT")


def has_age(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether this session can run Cypher: library loaded, catalogue on the search path."""
    return bool(run_sql(label_tables.HAS_AGE, using=using)[0][0])


def graph_name(workspace_id: UUID) -> str:
    """
    >>> graph_name(UUID(int=10))
    'kb_0000000000000000000000000000000a'
    """
    name = f"kb_{workspace_id.hex}"
    if not GRAPH_NAME.match(name):
        raise InputError("This is not the id of a workspace.", code="bad_graph_name")
    return name


class AgeGraphStore:
    """A ``GraphStore`` over Apache AGE 1.7 or later."""

    def __init__(self, *, using: str = DEFAULT_DB_ALIAS) -> None:
        self._using = using

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        graph = graph_name(workspace_id)
        self._ensure_graph(workspace_id)
        for some_nodes in _batches(nodes):
            self._write(graph, label_tables.UPSERT_NODES, _node_values(graph, some_nodes))
        for some_edges in _batches(edges):
            self._write(graph, label_tables.UPSERT_EDGES, _edge_values(graph, some_edges))

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        graph = graph_name(workspace_id)
        if not self._exists(graph):
            return
        if node_ids:
            nodes = {"ids": _as_agtype(node_ids)}
            for statement in label_tables.DELETE_EDGES_OF_NODES:
                self._write(graph, statement, nodes)
            self._write(graph, label_tables.DELETE_NODES, nodes)
        if edge_ids:
            self._write(graph, label_tables.DELETE_EDGES, {"ids": _as_agtype(edge_ids)})

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        self.drop(workspace_id)
        self.upsert(workspace_id, nodes, edges)
        for statement in label_tables.ANALYZE:
            self._write(graph_name(workspace_id), statement, {})

    def drop(self, workspace_id: UUID) -> None:
        graph = graph_name(workspace_id)
        if self._exists(graph):
            run_sql(label_tables.DROP_GRAPH, [graph], using=self._using)

    def counts(self, workspace_id: UUID) -> GraphCounts:
        nodes, edges = (
            self._cypher(workspace_id, query)
            for query in (queries.COUNT_NODES, queries.COUNT_EDGES)
        )
        return GraphCounts(nodes=sum(nodes), edges=sum(edges))

    def everything(self, workspace_id: UUID) -> Subgraph:
        return Subgraph(
            tuple(map(agtype.as_node, self._cypher(workspace_id, queries.ALL_NODES))),
            tuple(map(agtype.as_edge, self._cypher(workspace_id, queries.ALL_EDGES))),
        )

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        values = {"id": str(node_id), "limit": limit}
        rows = self._cypher(workspace_id, queries.NEIGHBOURS, values)
        nodes = (agtype.as_node(row["node"]) for row in rows)
        return reading.as_neighbours(
            node_id,
            [agtype.as_edge(row["edge"]) for row in rows],
            {node.id: node for node in nodes},
            limit,
        )

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        def around(node_ids: Collection[UUID]) -> list[GraphEdge]:
            return self._edges(workspace_id, queries.EDGES_AROUND, node_ids)

        chains = reading.shortest_chains(source, target, max_hops, around)
        ids = {node for chain, _ in chains for node in chain}
        return reading.as_paths(chains, self._nodes(workspace_id, ids))

    def shared_neighbours(self, workspace_id: UUID, a: UUID, b: UUID) -> list[GraphNode]:
        values = {"a": str(a), "b": str(b)}
        rows = self._cypher(workspace_id, queries.SHARED_NEIGHBOURS, values)
        found = {agtype.as_node(row) for row in rows}
        return sorted((n for n in found if n.id not in (a, b)), key=reading.rarest_first)

    def subgraph(
        self, workspace_id: UUID, node_ids: Collection[UUID], limit: int = 100
    ) -> Subgraph:
        asked = self._nodes(workspace_id, node_ids)
        around = self._edges(workspace_id, queries.EDGES_AROUND, asked.keys())
        chosen = reading.chosen_nodes(asked.keys(), around, limit)
        inside = self._edges(workspace_id, queries.EDGES_AMONG, chosen)
        nodes = self._nodes(workspace_id, chosen)
        return Subgraph(
            tuple(nodes[node] for node in chosen),
            tuple(sorted(inside, key=reading.strongest_first)),
        )

    def _nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> dict[UUID, GraphNode]:
        rows = self._cypher(workspace_id, queries.NODES, {"ids": _as_text(ids)}) if ids else []
        return {node.id: node for node in map(agtype.as_node, rows)}

    def _edges(
        self, workspace_id: UUID, query: LiteralString, ids: Collection[UUID]
    ) -> list[GraphEdge]:
        rows = self._cypher(workspace_id, query, {"ids": _as_text(ids)}) if ids else []
        return list({edge.id: edge for edge in map(agtype.as_edge, rows)}.values())

    def _cypher(
        self, workspace_id: UUID, query: LiteralString, values: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return one value per row; empty if the workspace has no graph yet."""
        graph = graph_name(workspace_id)
        if not self._exists(graph):
            return []
        statement = sql.SQL(
            "SELECT answer FROM ag_catalog.cypher({}, {}, %s) AS (answer ag_catalog.agtype)"
        ).format(sql.Literal(graph), sql.SQL("$cypher$" + query + "$cypher$"))
        rows = self._execute(statement, [agtype.to_agtype(values or {})])
        return [agtype.from_agtype(row[0]) for row in rows]

    def _ensure_graph(self, workspace_id: UUID) -> None:
        graph = graph_name(workspace_id)
        if self._exists(graph):
            return
        run_sql(label_tables.LOCK_GRAPH, [graph], using=self._using)
        if self._exists(graph):  # another writer created it while this one waited
            return
        for statement in label_tables.CREATE_GRAPH:
            run_sql(statement, [graph], using=self._using)
        for statement in label_tables.PREPARE_LABELS:
            self._write(graph, statement, {}, workspace=sql.Literal(str(workspace_id)))

    def _exists(self, graph: str) -> bool:
        label = f'{graph}."{label_tables.NODE_LABEL}"'
        return bool(run_sql(label_tables.GRAPH_EXISTS, [label], using=self._using)[0][0])

    def _write(
        self,
        graph: str,
        statement: LiteralString,
        values: Mapping[str, object],
        **parts: sql.Composable,
    ) -> None:
        tables = {
            "nodes": sql.Identifier(graph, label_tables.NODE_LABEL),
            "edges": sql.Identifier(graph, label_tables.EDGE_LABEL),
        }
        self._execute(sql.SQL(statement).format(**tables, **parts), values)

    def _execute(
        self, statement: sql.Composed, values: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Execute with server-side parameters: ``cypher()`` accepts no others."""
        connection = connections[self._using]
        connection.ensure_connection()
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


def _node_values(graph: str, nodes: Sequence[GraphNode]) -> dict[str, object]:
    return {
        "graph": graph,
        "sequence": f'{graph}."{label_tables.NODE_LABEL}_id_seq"',
        "properties": [agtype.node_properties(node) for node in nodes],
    }


def _edge_values(graph: str, edges: Sequence[GraphEdge]) -> dict[str, object]:
    return {
        "graph": graph,
        "sequence": f'{graph}."{label_tables.EDGE_LABEL}_id_seq"',
        "sources": _as_agtype(edge.source for edge in edges),
        "targets": _as_agtype(edge.target for edge in edges),
        "properties": [agtype.edge_properties(edge) for edge in edges],
    }


def _as_text(ids: Collection[UUID]) -> list[str]:
    return sorted(map(str, ids))


def _as_agtype(ids: Iterable[UUID]) -> list[str]:
    return [agtype.to_agtype(str(node)) for node in ids]


def _batches(items: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
