"""Paths, subgraphs and orders, computed here so that all stores agree.

A store only has to return nodes by id, and the edges of a set of nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
)

# All edges that start or end at one of the nodes.
EdgesAround = Callable[[Collection[UUID]], Iterable[GraphEdge]]
# A chain as node ids, and the edges between them.
Chain = tuple[tuple[UUID, ...], tuple[GraphEdge, ...]]
# For one node: each neighbour, with the heaviest edge to it.
Steps = Mapping[UUID, GraphEdge]


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

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        around = partial(self.edges_around, workspace_id)
        chains = shortest_chains(source, target, max_hops, around)
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


def shortest_chains(source: UUID, target: UUID, max_hops: int, around: EdgesAround) -> list[Chain]:
    """Return the chains of minimal length between two nodes, heaviest first.

    Both ends are expanded before the middle, so that three hops cost two neighbourhoods and the
    edges of the smaller one instead of everything within three hops.
    """
    if not 1 <= max_hops <= MAX_HOPS:
        raise InputError(f"A path can have 1 to {MAX_HOPS} steps.", code="too_many_hops")
    if source == target:
        return []
    chains = next(filter(None, _by_length(source, target, max_hops, around)), [])
    heaviest_first = sorted(
        chains, key=lambda chain: (-sum(edge.weight for edge in chain[1]), chain[0])
    )
    return heaviest_first[:MAX_PATHS]


def _by_length(
    source: UUID, target: UUID, max_hops: int, around: EdgesAround
) -> Iterator[list[Chain]]:
    start = steps_from(source, around({source}))
    yield [((source, target), (start[target],))] if target in start else []
    if max_hops == 1 or not start:
        return
    end = steps_from(target, around({target}))
    shared = start.keys() & end.keys()
    yield [((source, via, target), (start[via], end[via])) for via in shared]
    if max_hops == MAX_HOPS and end:
        yield list(_three_steps(source, target, (start, end), around))


def _three_steps(
    source: UUID, target: UUID, ends: tuple[Steps, Steps], around: EdgesAround
) -> Iterator[Chain]:
    start, end = ends
    near, far = (start, end) if len(start) <= len(end) else (end, start)
    middle: dict[tuple[UUID, UUID], GraphEdge] = {}
    for edge in sorted(around(near.keys()), key=strongest_first):
        for a, b in ((edge.source, edge.target), (edge.target, edge.source)):
            if a in near and b in far:
                middle.setdefault((a, b) if near is start else (b, a), edge)
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
