"""The graph whose entities are grouped, in arrays: a million relationships take some 100 MB."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Leiden ignores edges without weight, but every relationship should bind a little.
LEAST_WEIGHT: Final = 1e-3

PLACES: Final = 1 << 32
"""Sentences are numbers: that of their document, times this, plus their offset in it."""
UNKNOWN: Final = -1

Indexes = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities as nodes, numbered from 0: of equally good clusters, their order decides.

    ``pairs`` are the related nodes, each pair once and in order: the lower one, the higher one,
    their weight; ``degrees`` are the summed weights of each node. ``component_of`` numbers the
    connected component that each node is in, by the first node of each. ``named_in`` pairs nodes
    with the first and last sentence of their relationships, as far as they are known (``told``).
    """

    size: int
    pairs: tuple[Indexes, Indexes, Weights]
    degrees: Weights
    component_of: Indexes
    named_in: tuple[Indexes, Indexes]
    _near: Any

    @classmethod
    def of(cls, size: int, both: Indexes, weights: Weights) -> Self:
        """The graph of links in any order: both ends, shape ``(links, 2)``, and the weight."""
        # With it come all of SciPy's solvers, which a process that groups nothing should not load.
        from scipy.sparse import csgraph

        pairs = _pairs(both, weights)
        low, high, weight_of = pairs
        ends_of_pairs = np.concatenate([low, high])
        degrees = np.bincount(ends_of_pairs, np.tile(weight_of, 2), size).astype(np.float64)
        half = sparse.coo_array((weight_of, (low, high)), shape=(size, size))
        near = (half + half.T).tocsr()
        components = csgraph.connected_components(near, directed=False)[1] if size else []
        component_of = np.array(components, np.int64)
        nothing = np.empty(0, np.int64)
        return cls(size, pairs, degrees, component_of, (nothing, nothing), near)

    def told(self, both: Indexes, sentences: Indexes) -> Self:
        """The same with the first and last sentence of some links, by both ends; ``UNKNOWN`` where
        there is none.
        """
        return replace(self, named_in=_named_in(both, sentences))

    def near(self, node: int) -> Mapping[int, float]:
        """A node's neighbours, with the weight of each pair."""
        within = slice(self._near.indptr[node], self._near.indptr[node + 1])
        indexes, weights = self._near.indices[within], self._near.data[within]
        return dict(zip(indexes.tolist(), weights.tolist(), strict=True))

    def components(self) -> list[list[int]]:
        """The connected components, single nodes included.

        >>> links = np.array([[0, 2], [2, 3]])
        >>> Graph.of(4, links, np.ones(2)).components()
        [[0, 2, 3], [1]]
        """
        if not self.size:
            return []
        order = np.argsort(self.component_of, kind="stable")
        starts = np.flatnonzero(np.diff(self.component_of[order])) + 1
        return [component.tolist() for component in np.split(order, starts)]

    def outside_largest(self, least: int, gathered: Collection[int]) -> list[int] | None:
        """The nodes outside the largest component; None if that has fewer than ``least``.

        Without those of components whose nodes are all ``gathered``: they stay so, however many
        sentences they rest on.
        """
        sizes = np.bincount(self.component_of, minlength=1)
        if sizes.max() < least:
            return None
        is_gathered = np.zeros(self.size, np.bool_)
        is_gathered[list(gathered)] = True
        is_unclear = np.zeros(len(sizes), np.bool_)
        is_unclear[self.component_of[~is_gathered]] = True
        is_unclear[sizes.argmax()] = False
        found: list[int] = np.flatnonzero(is_unclear[self.component_of]).tolist()
        return found

    def sentences_by_component(self) -> Indexes:
        """How many sentences each component rests on, as far as they are known."""
        nodes, sentences = self.named_in
        known, numbers = np.unique(sentences, return_inverse=True)
        # A pair as one number is sorted in a fifth of the time.
        each = max(1, len(known))
        components = np.unique(self.component_of[nodes] * each + numbers) // each
        return np.bincount(components, minlength=int(self.component_of.max(initial=-1)) + 1)

    def documents(self, wanted: NDArray[np.bool_]) -> dict[int, set[int]]:
        """The documents in which wanted nodes (a flag each) are named, by node."""
        nodes, sentences = (some[wanted[self.named_in[0]]] for some in self.named_in)
        found: dict[int, set[int]] = {}
        for node, document in zip(nodes.tolist(), (sentences // PLACES).tolist(), strict=True):
            found.setdefault(node, set()).add(document)
        return found


def _pairs(ends: Indexes, weights: Weights) -> tuple[Indexes, Indexes, Weights]:
    """The summed weight of each pair in both directions, without loops.

    >>> _pairs(np.array([[0, 1], [1, 0], [0, 0]]), np.array([1.0, 2.0, 9.0]))
    (array([0]), array([1]), array([3.]))
    """
    is_pair = ends[:, 0] != ends[:, 1]
    one, other = ends[is_pair].T
    low, high = np.minimum(one, other), np.maximum(one, other)
    weights = np.where(np.isfinite(weights), weights, 0.0)[is_pair]
    # As one number, which is sorted sooner. By weight, too: a sum depends on the order, and that of
    # the rows is any.
    pairs = low * (high.max(initial=0) + 1) + high
    order = np.lexsort((weights, pairs))
    pairs, low, high, weights = pairs[order], low[order], high[order], weights[order]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    summed = np.add.reduceat(weights, starts) if len(starts) else weights
    return low[starts], high[starts], np.maximum(summed, LEAST_WEIGHT)


def _named_in(ends: Indexes, sentences: Indexes) -> tuple[Indexes, Indexes]:
    nodes = np.repeat(ends, 2, axis=1).ravel()
    places = np.tile(sentences, 2).ravel()
    return nodes[places != UNKNOWN], places[places != UNKNOWN]
