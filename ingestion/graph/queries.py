"""Parts of the graph, with what each relationship says: neighbours, paths and subgraphs.

Call in the workspace's scope. Each answer has a bounded number of entities, and says how many more
there are. Evidence is read separately, for those edges that are shown with their quotes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db.models import Q

from ingestion.documents.queries import document_get
from ingestion.knowledge import periods
from ingestion.knowledge.facts import best_evidence
from ingestion.knowledge.queries import entity_get
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.knowledge.topics import community_get
from ingestion.models import (
    CommunityMember,
    CommunityReport,
    Document,
    Entity,
    Evidence,
    Mention,
    Relationship,
)
from kb_project.errors import InputError
from kb_project.graph.ports import MAX_HOPS, GraphEdge, GraphNode, GraphPath
from kb_project.ports import graph_reader
from workspaces.models import Workspace

WorkspaceOrId = Workspace | UUID

MOST_NODES: Final = 500
"""Entities of one answer."""
MOST_EDGES: Final = 5_000
MOST_PATHS: Final = 25
QUOTES: Final = 1
"""Quotes shown for an edge, unless more are requested."""


class PathOrder(StrEnum):
    """``SHORTEST`` gives only the shortest paths, ``EVIDENCE`` those of any length."""

    SHORTEST = "shortest"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class EdgeView:
    """A relationship. ``predicate`` is how the documents put it, '' if they only name both ends
    together; ``sources`` are the best quotes, if they were read."""

    id: UUID
    source: UUID
    target: UUID
    weight: float
    predicate: str = ""
    description: str = ""
    sources: tuple[SourceSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphView:
    """Entities, most requested first, and relationships between them, heaviest first.

    ``total_nodes`` and ``total_edges`` count what is there, shown or not.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[EdgeView, ...]
    total_nodes: int
    total_edges: int


@dataclass(frozen=True, slots=True)
class PathView:
    """``edges[i]`` joins ``nodes[i]`` and ``nodes[i + 1]``, in either direction."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[EdgeView, ...]
    strength: float


@dataclass(frozen=True, slots=True)
class PathsView:
    """``paths`` of at most ``max_steps`` steps, best first; empty if the two are not connected."""

    source: Entity
    target: Entity
    max_steps: int
    paths: tuple[PathView, ...]

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        return tuple({node.id: node for path in self.paths for node in path.nodes}.values())

    @property
    def edges(self) -> tuple[EdgeView, ...]:
        return tuple({edge.id: edge for path in self.paths for edge in path.edges}.values())


def neighbours_of(workspace: Workspace, entity_id: UUID, limit: int = 50) -> GraphView:
    """Return an entity with its strongest relationships, heaviest first, and their other ends.

    Raises NotFoundError.
    """
    entity = entity_get(workspace=workspace, entity_id=entity_id)
    limit = _within(limit, MOST_NODES)
    found = graph_reader().neighbours(workspace.pk, entity.pk, limit)
    nodes = {one.node.id: one.node for one in found}
    links = Relationship.objects.in_workspace(workspace)
    return GraphView(
        nodes=(_as_node(entity), *nodes.values()),
        edges=_views(workspace, [one.edge for one in found]),
        total_nodes=1 + entity.degree,
        total_edges=links.filter(Q(source=entity) | Q(target=entity)).count(),
    )


def paths_between(
    workspace: Workspace,
    source_id: UUID,
    target_id: UUID,
    max_steps: int = MAX_HOPS,
    most: int = 5,
    order: PathOrder = PathOrder.EVIDENCE,
) -> PathsView:
    """Return the best paths between two entities. Raises NotFoundError, InputError."""
    source = entity_get(workspace=workspace, entity_id=source_id)
    target = entity_get(workspace=workspace, entity_id=target_id)
    most = _within(most, MOST_PATHS)
    reader = graph_reader()
    if order is PathOrder.SHORTEST:
        found = reader.paths(workspace.pk, source.pk, target.pk, max_steps)[:most]
    else:
        found = reader.best_paths(workspace.pk, source.pk, target.pk, max_steps, most)
    return PathsView(source, target, max_steps, path_views(workspace, found))


def holding_at(workspace: Workspace, found: PathsView, as_of: str) -> PathsView:
    """Return those paths of which every step holds at a date: not all its dated evidence is of
    other times.
    """
    steps = [edge.id for edge in found.edges]
    dated = periods.dated(Evidence.objects.in_workspace(workspace).filter(relationship__in=steps))
    held = periods.holding(dated, as_of).values_list("relationship_id", flat=True)
    over = set(dated.values_list("relationship_id", flat=True)) - set(held)
    paths = [path for path in found.paths if not any(edge.id in over for edge in path.edges)]
    return replace(found, paths=tuple(paths))


def path_views(workspace: WorkspaceOrId, paths: Sequence[GraphPath]) -> tuple[PathView, ...]:
    edges = {edge.id: edge for path in paths for edge in path.edges}
    views = {view.id: view for view in _views(workspace, list(edges.values()))}
    return tuple(
        PathView(path.nodes, tuple(views[edge.id] for edge in path.edges), path.strength)
        for path in paths
    )


def shared_neighbours_of(
    workspace: Workspace, source_id: UUID, target_id: UUID, most: int = 5
) -> list[GraphNode]:
    """Return what both entities are related to, the least connected first."""
    return graph_reader().shared_neighbours(workspace.pk, source_id, target_id, most)


@dataclass(frozen=True, slots=True)
class Shared:
    """Titles of documents and topics that two entities both occur in."""

    documents: tuple[str, ...]
    topics: tuple[str, ...]


def shared_by(
    workspace: WorkspaceOrId,
    a: UUID,
    b: UUID,
    documents: Collection[UUID] | None = None,
    most: int = 3,
) -> Shared:
    """Return the documents that name both, and the smallest topics that both belong to.

    Topics rest on all documents: there are none if ``documents`` are given.
    """
    mentions = Mention.objects.in_workspace(workspace)
    first, second = (mentions.filter(entity=one).values("document_id") for one in (a, b))
    titles = Document.objects.in_workspace(workspace).filter(pk__in=first)
    titles = titles.filter(pk__in=second).order_by("title")
    if documents is not None:
        titles = titles.filter(pk__in=documents)
    members = CommunityMember.objects.in_workspace(workspace)
    ours, theirs = (members.filter(entity=one).values("community_id") for one in (a, b))
    reports = CommunityReport.objects.in_workspace(workspace).filter(community__in=ours)
    topics = reports.filter(community__in=theirs).order_by("-community__level", "title")
    return Shared(
        documents=tuple(titles.values_list("title", flat=True)[:most]),
        topics=tuple(topics.values_list("title", flat=True)[:most]) if documents is None else (),
    )


def subgraph_of(workspace: Workspace, entity_ids: Collection[UUID], limit: int = 100) -> GraphView:
    """Return the given entities, then their strongest neighbours, and every edge between them.

    Entities that no longer exist are left out. At most ``limit`` entities in all.
    """
    limit = _within(limit, MOST_NODES)
    found = graph_reader().subgraph(workspace.pk, entity_ids, limit)
    return GraphView(
        nodes=found.nodes,
        edges=_views(workspace, found.edges[:MOST_EDGES]),
        total_nodes=_around(workspace, set(entity_ids)),
        total_edges=len(found.edges),
    )


def subgraph_of_document(workspace: Workspace, document_id: UUID, limit: int = 100) -> GraphView:
    """Return the entities that a document names, the most telling first. Raises NotFoundError."""
    document = document_get(workspace=workspace, document_id=document_id)
    named = Mention.objects.in_workspace(workspace).filter(document=document)
    return _induced(workspace, Q(pk__in=named.values("entity_id")), limit)


def subgraph_of_topic(workspace: Workspace, community_id: UUID, limit: int = 100) -> GraphView:
    """Return the entities of a topic, the most telling first. Raises NotFoundError."""
    topic = community_get(workspace=workspace, community_id=community_id)
    members = topic.members.filter(workspace=workspace)
    return _induced(workspace, Q(pk__in=members.values("entity_id")), limit)


def _induced(workspace: Workspace, which: Q, limit: int) -> GraphView:
    """Return the highest-ranked of some entities, and the relationships between those."""
    rows = Entity.objects.in_workspace(workspace).filter(which)
    ordered = rows.order_by("-rank", "-mention_count", "id")
    ids = list(ordered.values_list("pk", flat=True)[: _within(limit, MOST_NODES)])
    found = graph_reader().induced_subgraph(workspace.pk, ids)
    nodes = {node.id: node for node in found.nodes}
    return GraphView(
        nodes=tuple(nodes[one] for one in ids if one in nodes),
        edges=_views(workspace, found.edges[:MOST_EDGES]),
        total_nodes=rows.count(),
        total_edges=len(found.edges),
    )


def _around(workspace: Workspace, asked: Collection[UUID]) -> int:
    """Count the entities that were asked for and their neighbours."""
    entities = Entity.objects.in_workspace(workspace).filter(pk__in=asked)
    links = Relationship.objects.in_workspace(workspace)
    targets = links.filter(source__in=asked).values_list("target_id")
    sources = links.filter(target__in=asked).values_list("source_id")
    return entities.values_list("pk").union(targets, sources).count()


def _within(number: int, most: int) -> int:
    if not 1 <= number <= most:
        raise InputError(f"Choose a number from 1 to {most}.", code="out_of_bounds")
    return number


def _as_node(entity: Entity) -> GraphNode:
    return GraphNode(entity.pk, entity.name, entity.type, entity.degree)


# --- what an edge says ----------------------------------------------------------------------------


def _views(workspace: WorkspaceOrId, edges: Sequence[GraphEdge]) -> tuple[EdgeView, ...]:
    """Return the edges with their predicates, in the same order, with one query."""
    best = best_evidence(workspace, [edge.id for edge in edges], 1)
    predicates = dict(best.values_list("relationship_id", "predicate"))
    return tuple(
        EdgeView(
            *(edge.id, edge.source, edge.target, edge.weight),
            predicates.get(edge.id, ""),
            edge.description,
        )
        for edge in edges
    )


def with_evidence(
    workspace: Workspace, edges: Sequence[EdgeView], quotes: int = QUOTES
) -> list[EdgeView]:
    """Return the edges with their best quotes: sentences that state them, then others."""
    sources = evidence_spans(workspace, [edge.id for edge in edges], quotes)
    return [replace(edge, sources=tuple(sources.get(edge.id, ()))) for edge in edges]


def evidence_spans(
    workspace: WorkspaceOrId,
    relationship_ids: Collection[UUID],
    quotes: int = QUOTES,
    documents: Collection[UUID] | None = None,
) -> Mapping[UUID, list[SourceSpan]]:
    """Return the best quotes for each relationship, from some documents only if they are given."""
    spans: dict[UUID, list[SourceSpan]] = {}
    for row in best_evidence(workspace, relationship_ids, quotes, documents):
        spans.setdefault(row.relationship_id, []).append(span_of(row))
    return spans
