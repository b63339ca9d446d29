"""Traverse: down the tree of summaries from its root, by the nearest of each layer (RAPTOR).

At each layer the five summaries nearest to the question are opened; the passages reached are ranked
by their own similarity. Collapsed search finds the nearest nodes anywhere; this stays within the
topics that are nearest as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.search import dense, hybrid, tree
from retrieval.search.query import Query
from retrieval.search.results import ModeResult
from retrieval.search.tree import Node

WIDTH: Final = 5
"""Summaries opened at each layer."""
MOST_LAYERS: Final = 20
"""Far more than exist: five layers for all documents and five for each."""


def search(query: Query) -> ModeResult:
    roots = _roots(query)
    if not roots:
        return tree.search(query)
    dense.note_pending(query)
    opened, chunks = descend(query, roots)
    leaves: dict[UUID, tree.Leaves] = {}
    nearest_first = sorted(opened, key=lambda node: (-node.cosine, node.id))
    best = list(islice(tree.usable(query, nearest_first, leaves), query.top_k))
    found = tree.raised({node.id: node.cosine for node in chunks}, best, leaves)
    return ModeResult(
        hybrid.topped_up(query, found),
        tuple(tree.summary_record(node, leaves[node.id]) for node in best),
    )


def descend(query: Query, roots: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Return the summaries opened and the passages reached, in that order.

    With a scope, only summaries that cover some of it are opened.
    """
    allowed = None
    if query.documents is not None:
        rows = run_sql(tree.OVER_THE_SCOPE, query.parameters())
        allowed = frozenset(node for (node,) in rows)
    opened: dict[UUID, Node] = {}
    chunks: dict[UUID, Node] = {}
    layer = _nearest(roots, allowed)
    for _ in range(MOST_LAYERS):
        layer = [node for node in layer if node.id not in opened]
        if not layer:
            break
        opened |= {node.id: node for node in layer}
        children = _children(query, layer)
        chunks |= {node.id: node for node in children if node.is_chunk}
        layer = _nearest([node for node in children if not node.is_chunk], allowed)
    return list(opened.values()), list(chunks.values())


def _nearest(nodes: Sequence[Node], allowed: frozenset[UUID] | None) -> list[Node]:
    return [node for node in nodes if allowed is None or node.id in allowed][:WIDTH]


def _roots(query: Query) -> list[Node]:
    parameters = query.vector_parameters()
    rows = run_sql(tree.ROOTS, parameters)
    over_all = [root for root, is_whole in rows if is_whole]
    wanted = over_all or [root for root, _ in rows]
    if not wanted:
        return []
    return tree.nodes_of(run_sql(tree.NODES, parameters | {"nodes": wanted}))


def _children(query: Query, nodes: Sequence[Node]) -> list[Node]:
    ids = [node.id for node in nodes]
    parameters = query.vector_parameters(nodes=ids)
    return tree.nodes_of(run_sql(tree.CHILDREN, parameters))
