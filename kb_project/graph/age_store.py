"""The graph in Apache AGE: one graph per workspace, a projection of the relational tables.

The graph ``kb_<workspace id in hex>`` is created by the first write, in the writer's transaction,
so that rows and projection commit together. It can be dropped and rebuilt at any time. Every call
needs a transaction with ``app.workspace_id`` set: without it there are no rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, LiteralString, TypeVar
from uuid import UUID

import psycopg
from django.db import connection
from psycopg import sql as pgsql

from kb_project.errors import InputError
from kb_project.graph import sql, traversal
from kb_project.graph.ports import (
    MAX_SHARED,
    GraphCounts,
    GraphEdge,
    GraphNode,
    Neighbour,
    Subgraph,
)
from kb_project.sql import run_sql


def to_agtype(value: object) -> str:
    """Return text that AGE reads as ``value``; NUL, which Postgres cannot hold, is dropped.

    >>> to_agtype({"name": "O'Neill", "degree": 2})
    '{"name": "O\\'Neill", "degree": 2}'
    """
    return json.dumps(_clean(value), ensure_ascii=False, allow_nan=False)


def from_agtype(text: str) -> Any:
    """Parse a scalar, list or map. Queries return no vertices, edges or numerics."""
    # AGE writes tabs and other control characters unescaped.
    return json.loads(text, strict=False)


def node_properties(node: GraphNode) -> str:
    return to_agtype(
        {"id": str(node.id), "name": node.name, "type": node.type, "degree": node.degree}
    )


def edge_properties(edge: GraphEdge) -> str:
    return to_agtype(
        {"id": str(edge.id), "description": edge.description, "weight": float(edge.weight)}
    )


def as_node(value: dict[str, Any]) -> GraphNode:
    return GraphNode(UUID(value["id"]), value["name"], value["type"], value["degree"])


def as_edge(value: dict[str, Any]) -> GraphEdge:
    return GraphEdge(
        id=UUID(value["id"]),
        source=UUID(value["source"]),
        target=UUID(value["target"]),
        description=value["description"],
        weight=float(value["weight"]),
    )


def _clean(value: object) -> object:
    match value:
        case str():
            return value.replace("\x00", "")
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {_clean(key): _clean(item) for key, item in value.items()}
        case _:
            return value


GRAPH_NAME: Final = re.compile(r"kb_[0-9a-f]{32}\Z")
# Rows per statement: 5,000 edges are about 1 MB of parameters.
BATCH: Final = 5_000

ItemT = TypeVar("ItemT")


def has_age() -> bool:
    """Whether this session can run Cypher: library loaded, catalogue on the search path."""
    return bool(run_sql(sql.HAS_AGE)[0][0])


def graph_name(workspace_id: UUID) -> str:
    """
    >>> graph_name(UUID(int=10))
    'kb_0000000000000000000000000000000a'
    """
    name = f"kb_{workspace_id.hex}"
    if not GRAPH_NAME.match(name):
        raise InputError("This is not the id of a workspace.", code="bad_graph_name")
    return name


class AgeGraphStore(traversal.Traversal):
    """A ``GraphStore`` over Apache AGE 1.7 or later.

    A workspace without a graph is empty. For reads that ``expects_graph``, which then cost one
    statement less each, it is a ``DatabaseError``.
    """

    def __init__(self, *, expects_graph: bool = False) -> None:
        self._expects_graph = expects_graph

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        graph = graph_name(workspace_id)
        if not self._exists(graph):
            run_sql(sql.CREATE_GRAPH, [workspace_id])
        for some_nodes in _batches(nodes):
            self._write(graph, sql.UPSERT_NODES, _node_values(graph, some_nodes))
        for some_edges in _batches(edges):
            self._write(graph, sql.UPSERT_EDGES, _edge_values(graph, some_edges))

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        graph = graph_name(workspace_id)
        if not self._exists(graph):
            return
        if node_ids:
            nodes = {"ids": _as_agtype(node_ids)}
            for statement in sql.DELETE_EDGES_OF_NODES:
                self._write(graph, statement, nodes)
            self._write(graph, sql.DELETE_NODES, nodes)
        if edge_ids:
            self._write(graph, sql.DELETE_EDGES, {"ids": _as_agtype(edge_ids)})

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        self.drop(workspace_id)
        self.upsert(workspace_id, nodes, edges)
        run_sql(sql.ANALYZE, [workspace_id])

    def drop(self, workspace_id: UUID) -> None:
        graph = graph_name(workspace_id)
        owns = run_sql(sql.OWNS_GRAPH, [graph])
        if owns == [(True,)]:
            run_sql(sql.DROP_OWN_GRAPH, [graph])
        elif owns:
            run_sql(sql.DROP_GRAPH, [workspace_id])

    def counts(self, workspace_id: UUID) -> GraphCounts:
        nodes, edges = (
            self._cypher(workspace_id, query) for query in (sql.COUNT_NODES, sql.COUNT_EDGES)
        )
        return GraphCounts(nodes=sum(nodes), edges=sum(edges))

    def everything(self, workspace_id: UUID) -> Subgraph:
        return Subgraph(
            tuple(map(as_node, self._cypher(workspace_id, sql.ALL_NODES))),
            tuple(map(as_edge, self._cypher(workspace_id, sql.ALL_EDGES))),
        )

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        values = {"id": str(node_id), "limit": limit}
        rows = self._cypher(workspace_id, sql.NEIGHBOURS, values)
        nodes = (as_node(row["node"]) for row in rows)
        return traversal.as_neighbours(
            node_id,
            [as_edge(row["edge"]) for row in rows],
            {node.id: node for node in nodes},
            limit,
        )

    def shared_neighbours(
        self, workspace_id: UUID, a: UUID, b: UUID, limit: int = MAX_SHARED
    ) -> list[GraphNode]:
        values = {"a": str(a), "b": str(b)}
        rows = self._cypher(workspace_id, sql.SHARED_NEIGHBOURS, values)
        found = {as_node(row) for row in rows}
        others = (node for node in found if node.id not in (a, b))
        return sorted(others, key=traversal.rarest_first)[:limit]

    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        return self._edges(workspace_id, sql.EDGES_AROUND, ids)

    def edges_among(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        edges = self._edges(workspace_id, sql.EDGES_FROM, ids)
        kept = set(ids)
        return [edge for edge in edges if edge.target in kept]

    def edges_between(
        self, workspace_id: UUID, some: Collection[UUID], others: Collection[UUID]
    ) -> list[GraphEdge]:
        fewer, more = sorted((some, others), key=len)
        near, far = set(fewer), set(more)
        return [
            edge
            for edge in self.edges_around(workspace_id, near)
            if (edge.source in near and edge.target in far)
            or (edge.target in near and edge.source in far)
        ]

    def nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> dict[UUID, GraphNode]:
        rows = self._cypher(workspace_id, sql.NODES, {"ids": _as_text(ids)}) if ids else []
        return {node.id: node for node in map(as_node, rows)}

    def _edges(
        self, workspace_id: UUID, query: LiteralString, ids: Collection[UUID]
    ) -> list[GraphEdge]:
        rows = self._cypher(workspace_id, query, {"ids": _as_text(ids)}) if ids else []
        return list({edge.id: edge for edge in map(as_edge, rows)}.values())

    def _cypher(
        self, workspace_id: UUID, query: LiteralString, values: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return one value per row; empty if the workspace has no graph yet."""
        graph = graph_name(workspace_id)
        if not self._expects_graph and not self._exists(graph):
            return []
        statement = pgsql.SQL(
            "SELECT answer FROM ag_catalog.cypher({}, {}, %s) AS (answer ag_catalog.agtype)"
        ).format(pgsql.Literal(graph), pgsql.SQL("$cypher$" + query + "$cypher$"))
        rows = self._execute(statement, [to_agtype(values or {})])
        return [from_agtype(row[0]) for row in rows]

    def _exists(self, graph: str) -> bool:
        label = f'{graph}."{sql.NODE_LABEL}"'
        return bool(run_sql(sql.GRAPH_EXISTS, [label])[0][0])

    def _write(
        self,
        graph: str,
        statement: LiteralString,
        values: Mapping[str, object],
    ) -> None:
        tables = {
            "nodes": pgsql.Identifier(graph, sql.NODE_LABEL),
            "edges": pgsql.Identifier(graph, sql.EDGE_LABEL),
        }
        self._execute(pgsql.SQL(statement).format(**tables), values)

    def _execute(
        self, statement: pgsql.Composed, values: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Execute with server-side parameters: ``cypher()`` accepts no others."""
        connection.ensure_connection()
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


def _node_values(graph: str, nodes: Sequence[GraphNode]) -> dict[str, object]:
    return {
        "graph": graph,
        "sequence": f'{graph}."{sql.NODE_LABEL}_id_seq"',
        "properties": [node_properties(node) for node in nodes],
    }


def _edge_values(graph: str, edges: Sequence[GraphEdge]) -> dict[str, object]:
    return {
        "graph": graph,
        "sequence": f'{graph}."{sql.EDGE_LABEL}_id_seq"',
        "sources": _as_agtype(edge.source for edge in edges),
        "targets": _as_agtype(edge.target for edge in edges),
        "properties": [edge_properties(edge) for edge in edges],
    }


def _as_text(ids: Collection[UUID]) -> list[str]:
    return sorted(map(str, ids))


def _as_agtype(ids: Iterable[UUID]) -> list[str]:
    return [to_agtype(str(node)) for node in ids]


def _batches(items: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
