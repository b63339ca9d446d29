"""The graph in plain dictionaries: for tests and for work within one process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
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


@dataclass
class _Graph:
    nodes: dict[UUID, GraphNode] = field(default_factory=dict)
    edges: dict[UUID, GraphEdge] = field(default_factory=dict)
    touching: dict[UUID, set[UUID]] = field(default_factory=dict)

    def add_edge(self, edge: GraphEdge) -> None:
        if edge.source in self.nodes and edge.target in self.nodes:
            self.cut(edge.id)
            self.edges[edge.id] = edge
            self.touching.setdefault(edge.source, set()).add(edge.id)
            self.touching.setdefault(edge.target, set()).add(edge.id)

    def cut(self, edge_id: UUID) -> None:
        edge = self.edges.pop(edge_id, None)
        if edge is not None:
            self.touching[edge.source].discard(edge_id)
            self.touching[edge.target].discard(edge_id)

    def around(self, node_ids: Collection[UUID]) -> list[GraphEdge]:
        ids = {edge for node in node_ids for edge in self.touching.get(node, ())}
        return [self.edges[edge] for edge in ids]


class MemoryGraphStore(traversal.Traversal):
    """A ``GraphStore`` that forgets everything when the process ends."""

    def __init__(self) -> None:
        self._graphs: dict[UUID, _Graph] = {}

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        graph = self._graphs.setdefault(workspace_id, _Graph())
        graph.nodes.update((node.id, node) for node in nodes)
        for edge in edges:
            graph.add_edge(edge)

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        graph = self._graph(workspace_id)
        for edge in graph.around(node_ids):
            graph.cut(edge.id)
        for edge_id in edge_ids:
            graph.cut(edge_id)
        for node_id in node_ids:
            graph.nodes.pop(node_id, None)

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        self.drop(workspace_id)
        self.upsert(workspace_id, nodes, edges)

    def drop(self, workspace_id: UUID) -> None:
        self._graphs.pop(workspace_id, None)

    def counts(self, workspace_id: UUID) -> GraphCounts:
        graph = self._graph(workspace_id)
        return GraphCounts(nodes=len(graph.nodes), edges=len(graph.edges))

    def everything(self, workspace_id: UUID) -> Subgraph:
        graph = self._graph(workspace_id)
        return Subgraph(tuple(graph.nodes.values()), tuple(graph.edges.values()))

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        graph = self._graph(workspace_id)
        return traversal.as_neighbours(node_id, graph.around({node_id}), graph.nodes, limit)

    def shared_neighbours(
        self, workspace_id: UUID, a: UUID, b: UUID, limit: int = MAX_SHARED
    ) -> list[GraphNode]:
        graph = self._graph(workspace_id)
        near_a, near_b = (traversal.steps_from(end, graph.around({end})).keys() for end in (a, b))
        shared = (near_a & near_b) - {a, b}
        return sorted((graph.nodes[node] for node in shared), key=traversal.rarest_first)[:limit]

    def nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> dict[UUID, GraphNode]:
        nodes = self._graph(workspace_id).nodes
        return {id_: nodes[id_] for id_ in ids if id_ in nodes}

    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        return self._graph(workspace_id).around(ids)

    def edges_among(self, workspace_id: UUID, ids: Collection[UUID]) -> list[GraphEdge]:
        kept = set(ids)
        around = self.edges_around(workspace_id, kept)
        return [edge for edge in around if edge.source in kept and edge.target in kept]

    def edges_between(
        self, workspace_id: UUID, some: Collection[UUID], others: Collection[UUID]
    ) -> list[GraphEdge]:
        return [
            edge
            for edge in self.edges_around(workspace_id, some)
            if (edge.source in some and edge.target in others)
            or (edge.target in some and edge.source in others)
        ]

    def _graph(self, workspace_id: UUID) -> _Graph:
        return self._graphs.get(workspace_id, _Graph())
