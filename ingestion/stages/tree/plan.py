"""Decide which items one layer of a tree summarises together, so that every layer is smaller.

A cluster whose texts exceed the limit is clustered again, and if that divides nothing, halved in
order: this always ends, whatever the vectors are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ingestion.stages.tree.clustering import DIMENSIONS, SMALLEST, Cluster, clusters, cores
from kb_project.llm.ports import Vectors

# Tokens of text per summary (RAPTOR).
TEXT_LIMIT: Final = 3_500
MOST_LAYERS: Final = 5
# Up to this many nodes get one root (RAPTOR: no more than the reduced dimensions).
FEW: Final = DIMENSIONS + 1


def layer(vectors: Vectors, tokens: Sequence[int], *, limit: int, is_last: bool) -> list[Cluster]:
    """Clusters that cover all items: one, or at most half as many as items.

    ``tokens`` are the lengths of the items' texts. The last layer is always one cluster; so are two
    or three items, however long they are.
    """
    everything = dict.fromkeys(range(len(tokens)), 1.0)
    if is_last or len(tokens) <= SMALLEST:
        return [everything]
    found = [everything] if len(tokens) <= FEW else clusters(vectors)
    parts = [part for group in found for part in _split(group, vectors, tokens, limit)]
    if len(parts) > len(tokens) // 2:
        # Items in several clusters can result in as many parts as there are items.
        firm = [dict.fromkeys(items, 1.0) for items in cores(found)]
        parts = [part for group in firm for part in _split(group, vectors, tokens, limit)]
    return parts


def _split(
    group: Cluster, vectors: Vectors, tokens: Sequence[int], limit: int
) -> Iterator[Cluster]:
    if len(group) <= SMALLEST or sum(tokens[item] for item in group) <= limit:
        yield group
        return
    for part in _divided(sorted(group), vectors):
        yield from _split({item: group[item] for item in part}, vectors, tokens, limit)


def _divided(items: Sequence[int], vectors: Vectors) -> list[list[int]]:
    """Two or more disjoint parts, none of them of a single item."""
    inside = cores(clusters(vectors[list(items)]))
    parts = [[items[i] for i in part] for part in inside if part]
    half = len(items) // 2
    return parts if len(parts) > 1 else [list(items[:half]), list(items[half:])]
