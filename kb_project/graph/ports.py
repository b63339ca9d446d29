"""The graph port: nodes, edges, and queries by neighbourhood.

Every method takes the workspace first. Ids of another workspace, and ids that do not exist, simply
have no neighbours, no paths and no subgraph. Relationships are directed, but reads follow them both
ways.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol
from uuid import UUID

MAX_HOPS: Final = 3
MAX_PATHS: Final = 10
MAX_SHARED: Final = 100


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity; ``degree`` counts the distinct entities it is related to."""

    id: UUID
    name: str
    type: str = ""
    degree: int = 0


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A relationship from one entity to another."""

    id: UUID
    source: UUID
    target: UUID
    description: str = ""
    weight: float = 1.0

    def other(self, node_id: UUID) -> UUID:
        """Return the end that is not ``node_id``."""
        return self.target if node_id == self.source else self.source


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An adjacent entity and the relationship that leads to it."""

    node: GraphNode
    edge: GraphEdge


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A path: ``nodes`` from source to target; ``edges[i]`` joins ``nodes[i]`` and ``nodes[i +
    1]``.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    @property
    def strength(self) -> float:
        return path_strength(self.edges)


def path_strength(edges: Sequence[GraphEdge]) -> float:
    """Return how well supported a path is, from 0 to 1: every step lowers it, a weak one most.

    >>> from uuid import uuid4
    >>> strong, weak = (GraphEdge(uuid4(), uuid4(), uuid4(), "", w) for w in (4, 1))
    >>> path_strength([strong]), path_strength([weak]), path_strength([strong, weak])
    (0.8, 0.5, 0.4)
    """
    return prod(weight / (1 + weight) for weight in (max(edge.weight, 0.0) for edge in edges))


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some nodes and every edge between two of them."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()

    @property
    def ids(self) -> GraphIds:
        return GraphIds(
            nodes=frozenset(node.id for node in self.nodes),
            edges=frozenset(edge.id for edge in self.edges),
        )


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """The size of a workspace's graph."""

    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class GraphIds:
    """The ids in a workspace's graph, for comparing two stores."""

    nodes: frozenset[UUID] = frozenset()
    edges: frozenset[UUID] = frozenset()


class GraphReader(Protocol):
    """Answers questions about the graph. Every answer is bounded in size and depth."""

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        """Return an entity's strongest relationships, heaviest first, without loops."""

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        """Return the shortest paths between two entities, at most ``MAX_PATHS``, best first.

        Only paths of the minimal length are returned, none longer than ``max_hops`` (1 to 3).
        Between two nodes only the heaviest relationship counts.
        """

    def best_paths(
        self,
        workspace_id: UUID,
        source: UUID,
        target: UUID,
        max_hops: int = MAX_HOPS,
        limit: int = MAX_PATHS,
    ) -> list[GraphPath]:
        """Return the paths of any length up to ``max_hops`` with the most evidence, best first.

        ``GraphPath.strength`` is the measure. No path visits an entity twice.
        """

    def shared_neighbours(
        self, workspace_id: UUID, a: UUID, b: UUID, limit: int = MAX_SHARED
    ) -> list[GraphNode]:
        """Return entities related to both, least connected first: sharing a rare one says more."""

    def subgraph(
        self, workspace_id: UUID, node_ids: Collection[UUID], limit: int = 100
    ) -> Subgraph:
        """Return the given entities with their strongest neighbours, at most ``limit`` nodes."""

    def induced_subgraph(self, workspace_id: UUID, node_ids: Collection[UUID]) -> Subgraph:
        """Return the given entities, by id, and all relationships between two of them."""


class GraphStore(GraphReader, Protocol):
    """Entities and relationships of workspaces, written in bulk and read by neighbourhood."""

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Add or overwrite; edges with an unknown end are skipped."""

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        """Remove nodes with all their edges, and single edges; unknown ids are ignored."""

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Replace the workspace's graph."""

    def drop(self, workspace_id: UUID) -> None:
        """Delete the workspace's graph, if there is one."""

    def counts(self, workspace_id: UUID) -> GraphCounts:
        """Count nodes and edges."""

    def everything(self, workspace_id: UUID) -> Subgraph:
        """Return the whole graph, in no particular order."""
