"""Paths, subgraphs and orders, computed here so that all stores agree.

A store only has to return nodes by id, and the edges of a set of nodes.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from kb_project.errors import InputError
from kb_project.graph.ports import (
    MAX_HOPS,
    MAX_PATHS,
    GraphEdge,
    GraphNode,
    GraphPath,
    Neighbour,
    Subgraph,
    path_strength,
)

# All edges that start or end at one of the nodes.
EdgesAround = Callable[[Collection[UUID]], Iterable[GraphEdge]]
# All edges, either way, from one of the first nodes to one of the others.
EdgesBetween = Callable[[Collection[UUID], Collection[UUID]], Iterable[GraphEdge]]
# A chain as node ids, and the edges between them.
Chain = tuple[tuple[UUID, ...], tuple[GraphEdge, ...]]
# For one node: each neighbour, with the heaviest edge to it.
Steps = Mapping[UUID, GraphEdge]


@dataclass(frozen=True, slots=True)
class Reads:
    """What finding paths needs of one workspace's graph."""

    around: EdgesAround
    between: EdgesBetween


class Traversal(ABC):
    """The reads of a ``GraphStore`` that go farther than one step."""

    @abstractmethod
    def nodes(self, workspace_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, GraphNode]:
        """Return the nodes that exist, by id."""

    @abstractmethod
    def edges_around(self, workspace_id: UUID, ids: Collection[UUID]) -> Collection[GraphEdge]:
        """Return all edges that start or end at one of the nodes."""

    @abstractmethod
    def edges_among(self, workspace_id: UUID, ids: Collection[UUID]) -> Collection[GraphEdge]:
        """Return all edges between two of the nodes."""

    @abstractmethod
    def edges_between(
        self, workspace_id: UUID, some: Collection[UUID], others: Collection[UUID]
    ) -> Collection[GraphEdge]:
        """Return all edges, either way, from one of ``some`` to one of ``others``."""

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        chains = shortest_chains(source, target, max_hops, self._reads(workspace_id))
        return self._paths(workspace_id, chains)

    def best_paths(
        self,
        workspace_id: UUID,
        source: UUID,
        target: UUID,
        max_hops: int = MAX_HOPS,
        limit: int = MAX_PATHS,
    ) -> list[GraphPath]:
        chains = best_chains(source, target, max_hops, limit, self._reads(workspace_id))
        return self._paths(workspace_id, chains)

    def induced_subgraph(self, workspace_id: UUID, node_ids: Collection[UUID]) -> Subgraph:
        nodes = self.nodes(workspace_id, node_ids)
        inside = self.edges_among(workspace_id, nodes.keys())
        return Subgraph(
            tuple(nodes[node] for node in sorted(nodes)),
            tuple(sorted(inside, key=strongest_first)),
        )

    def _reads(self, workspace_id: UUID) -> Reads:
        return Reads(
            around=partial(self.edges_around, workspace_id),
            between=partial(self.edges_between, workspace_id),
        )

    def _paths(self, workspace_id: UUID, chains: Sequence[Chain]) -> list[GraphPath]:
        nodes = self.nodes(workspace_id, {node for chain, _ in chains for node in chain})
        return [
            GraphPath(tuple(nodes[i] for i in ids), edges)
            for ids, edges in chains
            if all(i in nodes for i in ids)
        ]

    def subgraph(
        self, workspace_id: UUID, node_ids: Collection[UUID], limit: int = 100
    ) -> Subgraph:
        asked = self.nodes(workspace_id, node_ids).keys()
        chosen = chosen_nodes(asked, self.edges_around(workspace_id, asked), limit)
        nodes = self.nodes(workspace_id, chosen)
        inside = self.edges_among(workspace_id, chosen)
        return Subgraph(
            tuple(nodes[node] for node in chosen), tuple(sorted(inside, key=strongest_first))
        )


def strongest_first(edge: GraphEdge) -> tuple[float, UUID]:
    """Sort key: heavier edges first, ties by id."""
    return -edge.weight, edge.id


def rarest_first(node: GraphNode) -> tuple[int, str, UUID]:
    """Sort key: nodes with fewer neighbours first, ties by name and id."""
    return node.degree, node.name, node.id


def as_neighbours(
    node_id: UUID, edges: Iterable[GraphEdge], nodes: Mapping[UUID, GraphNode], limit: int
) -> list[Neighbour]:
    """Return the other ends of one node's edges, heaviest edge first."""
    ordered = sorted((e for e in edges if e.source != e.target), key=strongest_first)
    known = (e for e in ordered if e.other(node_id) in nodes)
    return [Neighbour(nodes[e.other(node_id)], e) for e in known][:limit]


def steps_from(node_id: UUID, edges: Iterable[GraphEdge]) -> dict[UUID, GraphEdge]:
    """Map each neighbour of one node to the heaviest edge that leads there."""
    steps: dict[UUID, GraphEdge] = {}
    for edge in sorted(edges, key=strongest_first):
        if edge.source != edge.target and node_id in (edge.source, edge.target):
            steps.setdefault(edge.other(node_id), edge)
    return steps


def shortest_chains(source: UUID, target: UUID, max_hops: int, reads: Reads) -> list[Chain]:
    """Return the chains of minimal length between two nodes, best first."""
    lengths = _by_length(source, target, max_hops, reads)
    return _best(next(filter(None, lengths), []), MAX_PATHS)


def best_chains(source: UUID, target: UUID, max_hops: int, limit: int, reads: Reads) -> list[Chain]:
    """Return the best chains of any length up to ``max_hops``."""
    lengths = _by_length(source, target, max_hops, reads)
    return _best((chain for chains in lengths for chain in chains), limit)


def _best(chains: Iterable[Chain], limit: int) -> list[Chain]:
    return heapq.nsmallest(limit, chains, key=strongest_chain_first)


def strongest_chain_first(chain: Chain) -> tuple[float, int, tuple[UUID, ...]]:
    """Sort key: chains with more evidence first, ties by length and ids."""
    ids, edges = chain
    return -path_strength(edges), len(ids), ids


def _by_length(source: UUID, target: UUID, max_hops: int, reads: Reads) -> Iterator[list[Chain]]:
    """Yield the chains of one step, of two, and of three, none with a node twice.

    Both ends are expanded before the middle, so that three steps cost two neighbourhoods and the
    edges between them instead of everything within three steps.
    """
    if not 1 <= max_hops <= MAX_HOPS:
        raise InputError(f"A path can have 1 to {MAX_HOPS} steps.", code="too_many_hops")
    if source == target:
        return
    start = steps_from(source, reads.around({source}))
    direct = start.pop(target, None)
    yield [((source, target), (direct,))] if direct else []
    if max_hops == 1 or not start:
        return
    end = steps_from(target, reads.around({target}))
    end.pop(source, None)
    shared = start.keys() & end.keys()
    yield [((source, via, target), (start[via], end[via])) for via in shared]
    if max_hops == MAX_HOPS and end:
        yield list(_three_steps(source, target, (start, end), reads.between))


def _three_steps(
    source: UUID, target: UUID, ends: tuple[Steps, Steps], between: EdgesBetween
) -> Iterator[Chain]:
    start, end = ends
    middle: dict[tuple[UUID, UUID], GraphEdge] = {}
    for edge in sorted(between(start.keys(), end.keys()), key=strongest_first):
        for a, b in ((edge.source, edge.target), (edge.target, edge.source)):
            if a != b and a in start and b in end:
                middle.setdefault((a, b), edge)
    for (first, second), edge in middle.items():
        yield (source, first, second, target), (start[first], edge, end[second])


def chosen_nodes(node_ids: Collection[UUID], edges: Iterable[GraphEdge], limit: int) -> list[UUID]:
    """Return the requested ids, then their neighbours by summed weight, at most ``limit``."""
    asked = sorted(set(node_ids))[:limit]
    pull: defaultdict[UUID, float] = defaultdict(float)
    for edge in edges:
        for end in {edge.source, edge.target}.difference(asked):
            pull[end] += edge.weight
    neighbours = sorted(pull, key=lambda node: (-pull[node], node))
    return [*asked, *neighbours][:limit]
