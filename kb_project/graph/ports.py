"""The graph as the rest of the project sees it: nodes, edges, and who is near whom.

Every method takes the workspace first. Ids of another workspace, and ids that do not exist,
simply have no neighbours, no paths and no subgraph. Relationships have a direction, but reads
follow them both ways.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

MAX_HOPS: Final = 3
MAX_PATHS: Final = 10


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity; ``degree`` counts the different entities it is related to."""

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
        """The end that is not ``node_id``."""
        return self.target if node_id == self.source else self.source


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One step away: the entity reached and the relationship that leads there."""

    node: GraphNode
    edge: GraphEdge


@dataclass(frozen=True, slots=True)
class GraphPath:
    """``nodes`` from source to target; ``edges[i]`` joins ``nodes[i]`` and ``nodes[i + 1]``."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


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
    """How much there is in one workspace."""

    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class GraphIds:
    """What there is in one workspace, to compare two stores."""

    nodes: frozenset[UUID] = frozenset()
    edges: frozenset[UUID] = frozenset()


class GraphStore(Protocol):
    """Entities and relationships of workspaces, written in bulk and read by neighbourhood."""

    def upsert(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Add or overwrite; an edge with an unknown end is left out."""

    def remove(
        self, workspace_id: UUID, node_ids: Collection[UUID], edge_ids: Collection[UUID]
    ) -> None:
        """Take nodes away with all their edges, and single edges; unknown ids are ignored."""

    def replace_all(
        self, workspace_id: UUID, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
    ) -> None:
        """Make the workspace hold exactly this."""

    def drop(self, workspace_id: UUID) -> None:
        """Forget the workspace; harmless when there is nothing."""

    def counts(self, workspace_id: UUID) -> GraphCounts:
        """How many nodes and edges there are."""

    def everything(self, workspace_id: UUID) -> Subgraph:
        """The whole graph, in no order."""

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        """The strongest relationships of one entity, heaviest first; loops are left out."""

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        """The shortest ways between two entities, at most ``MAX_PATHS``, heaviest first.

        Only paths of the smallest length are returned, none longer than ``max_hops`` (1 to 3).
        Between two nodes the heaviest relationship stands for all.
        """

    def shared_neighbours(self, workspace_id: UUID, a: UUID, b: UUID) -> list[GraphNode]:
        """Entities related to both, least connected first: a rare one in common says more."""

    def subgraph(
        self, workspace_id: UUID, node_ids: Collection[UUID], limit: int = 100
    ) -> Subgraph:
        """The given entities with their strongest neighbours, ``limit`` nodes at most."""
