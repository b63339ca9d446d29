"""Summary trees of documents, and of the workspace over its documents' roots."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ingestion.knowledge.spans import SourceSpan, spans_of
from ingestion.models import Chunk, Document, SummaryEdge, SummaryNode, SummaryTree
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class TreeChild:
    """What a node summarises: another node, or a passage with its place and number.

    ``document`` is the child's document: None for an inner node of the workspace's tree.
    """

    id: uuid.UUID
    kind: str
    probability: float
    document: Document | None
    start: int = 0
    end: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class TreeNode:
    """``sources`` are the quotes that an extractive summary consists of."""

    node: SummaryNode
    children: tuple[TreeChild, ...]
    sources: tuple[SourceSpan, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """``tree`` is None, with no nodes, if it was not built or a single passage needs none.

    ``nodes`` begin with the root and go down layer by layer.
    """

    tree: SummaryTree | None
    nodes: tuple[TreeNode, ...] = ()


@dataclass(slots=True)
class Branch:
    """A node below the parent to which it most probably belongs."""

    shown: TreeNode
    branches: list[Branch] = field(default_factory=list)
    passages: list[TreeChild] = field(default_factory=list)


def tree_view(*, workspace: Workspace, document: Document | None) -> TreeView:
    """The tree of a document or, without one, of the workspace, with five queries."""
    trees = SummaryTree.objects.in_workspace(workspace)
    tree = trees.filter(document=document).first()
    if tree is None:
        return TreeView(None)
    of_tree = SummaryNode.objects.in_workspace(workspace).filter(document=document)
    nodes = list(of_tree.defer("vector").order_by("-layer", "created_at", "id"))
    children = _children(workspace, nodes)
    wanted = [source for node in nodes for source in node.sources]
    spans = {(str(s.chunk_id), s.start, s.end): s for s in spans_of(workspace, wanted)}
    return TreeView(
        tree,
        tuple(TreeNode(node, tuple(children[node.pk]), _sources(node, spans)) for node in nodes),
    )


def tree_shown(*, workspace: Workspace, document: Document | None) -> Branch | None:
    """The tree as a page shows it: every node once, from the root down."""
    view = tree_view(workspace=workspace, document=document)
    branches = {shown.node.pk: Branch(shown) for shown in view.nodes}
    parents: dict[uuid.UUID, tuple[float, Branch]] = {}
    for branch in branches.values():
        for child in branch.shown.children:
            if child.id not in parents or child.probability > parents[child.id][0]:
                parents[child.id] = child.probability, branch
    for branch in branches.values():
        for child in branch.shown.children:
            if parents[child.id][1] is branch:
                _place(branch, child, branches)
    return branches.get(view.tree.root_id) if view.tree else None


def _place(branch: Branch, child: TreeChild, branches: Mapping[uuid.UUID, Branch]) -> None:
    if child.id in branches:
        branch.branches.append(branches[child.id])
    else:
        branch.passages.append(child)


def _children(
    workspace: Workspace, nodes: Sequence[SummaryNode]
) -> defaultdict[uuid.UUID, list[TreeChild]]:
    found: defaultdict[uuid.UUID, list[TreeChild]] = defaultdict(list)
    edges = list(
        SummaryEdge.objects.in_workspace(workspace)
        .filter(parent__in=[node.pk for node in nodes])
        .order_by("-probability", "id")
    )
    chunks = _chunks(workspace, edges)
    below = {edge.node_id for edge in edges if edge.node_id}
    # Children that are nodes of a document's tree.
    nodes_below = SummaryNode.objects.in_workspace(workspace).filter(
        pk__in=below, document__isnull=False
    )
    owners = {
        row.pk: row.document for row in nodes_below.select_related("document").defer("vector")
    }
    for edge in edges:
        chunk = chunks.get(edge.chunk_id) if edge.chunk_id else None
        if chunk:
            found[edge.parent_id].append(_passage(chunk, edge.probability))
        elif edge.node_id:
            owner = owners.get(edge.node_id)
            found[edge.parent_id].append(TreeChild(edge.node_id, "node", edge.probability, owner))
    return found


def _passage(chunk: Chunk, probability: float) -> TreeChild:
    return TreeChild(
        id=chunk.pk,
        kind="passage",
        probability=probability,
        document=chunk.document,
        start=chunk.start,
        end=chunk.end,
        number=chunk.ordinal + 1,
    )


def _chunks(workspace: Workspace, edges: Sequence[SummaryEdge]) -> dict[uuid.UUID, Chunk]:
    wanted = {edge.chunk_id for edge in edges if edge.chunk_id}
    rows = Chunk.objects.in_workspace(workspace).filter(pk__in=wanted)
    return {row.pk: row for row in rows.select_related("document").defer("text", "context")}


def _sources(
    node: SummaryNode, spans: Mapping[tuple[str, int, int], SourceSpan]
) -> tuple[SourceSpan, ...]:
    keys = [(source["chunk"], source["start"], source["end"]) for source in node.sources]
    return tuple(spans[key] for key in keys if key in spans)
