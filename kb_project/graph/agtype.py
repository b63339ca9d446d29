"""Converts values to and from Apache AGE's ``agtype``, which is JSON with typed suffixes."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from kb_project.graph.ports import GraphEdge, GraphNode


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
