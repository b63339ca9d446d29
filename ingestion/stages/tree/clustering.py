"""Cluster vectors: a Gaussian mixture over their principal components, after RAPTOR.

Sarthi and others, "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval" (2024):
the number of clusters is the one with the least Bayesian information criterion, and an item is in
every cluster to which it belongs with a probability above 0.1. Covariances are diagonal with 1e-4
added, since full ones fail on large sets. Where RAPTOR reduces dimensions by UMAP, and clusters
each cluster again, one pass over principal components finds more in a thirtieth of the time
(docs/benchmarks.md, *What was tried*).

A layer of a tree (``layer``) is always smaller than the one below: a cluster whose texts exceed the
limit is clustered again, and if that divides nothing, halved in order. Small ones join the nearest
with room.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kb_project.llm.ports import Vectors

DIMENSIONS: Final = 10
MEMBERSHIP: Final = 0.1
SEED: Final = 224

# Sets up to this size are one cluster.
SMALLEST: Final = 3

# Larger sets are first divided by nearest centroid, so that time grows only linearly.
MOST_AT_ONCE: Final = 2_000

# How many clusters are tried, a quarter more each time, until this many in turn are no better.
NUMBERS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 37, 46)
PATIENCE: Final = 4

Rows = Vectors | Sequence[Vectors]
"""Vectors one after the other in memory, or each for itself."""
Points = NDArray[np.float64]
Indexes = NDArray[np.int64]

# An item's probability of being in the cluster, by the item's index.
Cluster = dict[int, float]
Tick = Callable[[], None]

# Tokens of text per summary. RAPTOR's clusters have 6.7 items on average; these passages have 800.
TEXT_LIMIT: Final = 5_500
MOST_LAYERS: Final = 5

# Up to this many nodes get one root (RAPTOR: no more than the reduced dimensions).
FEW: Final = DIMENSIONS + 1


def _nothing() -> None:
    """For whoever does not mind that it takes long."""


class Centres:
    """The means of clusters of rows of ``vectors``, kept while rows join and leave them."""

    def __init__(self, clusters: Sequence[Iterable[int]], vectors: Rows) -> None:
        self._vectors = vectors
        self.means: Vectors = np.zeros((len(clusters), len(vectors[0])), vectors[0].dtype)
        self._is_empty = np.ones(len(clusters), bool)
        for place, rows in enumerate(clusters):
            self.renew(place, rows)

    def renew(self, place: int, rows: Iterable[int]) -> None:
        """Tell what a cluster has now."""
        members = list(rows)
        self._is_empty[place] = not members
        if members:
            self.means[place] = np.array([self._vectors[row] for row in members]).mean(axis=0)

    def nearest(self, vector: Vectors, among: NDArray[np.bool_] | None = None) -> int:
        """The cluster whose mean is most similar, of those that have any row."""
        may = ~self._is_empty if among is None else among & ~self._is_empty
        return int(np.argmax(np.where(may, self.means @ vector, -np.inf)))

    def nearest_to(self, row: int) -> int:
        return self.nearest(self._vectors[row])


def layer(
    vectors: Vectors,
    tokens: Sequence[int],
    *,
    limit: int,
    is_last: bool,
    tick: Tick = _nothing,
) -> list[Cluster]:
    """Clusters that cover all items: one, or at most half as many as items.

    ``tokens`` are the lengths of the items' texts. The last layer is always one cluster; so are two
    or three items, however long they are. ``tick`` is called every few seconds.
    """
    everything = dict.fromkeys(range(len(tokens)), 1.0)
    if is_last or len(tokens) <= SMALLEST:
        return [everything]
    found = [everything] if len(tokens) <= FEW else clusters(vectors, tick)
    parts = [part for group in found for part in _split(group, vectors, tokens, limit, tick)]
    if len(parts) > len(tokens) // 2:
        # Items in several clusters can result in as many parts as there are items.
        firm = [dict.fromkeys(items, 1.0) for items in cores(found) if items]
        parts = [part for group in firm for part in _split(group, vectors, tokens, limit, tick)]
    return _joined(parts, vectors, tokens, limit)


def _split(
    group: Cluster, vectors: Vectors, tokens: Sequence[int], limit: int, tick: Tick
) -> Iterator[Cluster]:
    if len(group) <= SMALLEST or _size(group, tokens) <= limit:
        yield group
        return
    for part in _divided(sorted(group), vectors, tick):
        yield from _split({item: group[item] for item in part}, vectors, tokens, limit, tick)


def _joined(
    parts: Sequence[Cluster], vectors: Vectors, tokens: Sequence[int], limit: int
) -> list[Cluster]:
    """Join parts of few items with the nearest part that has room: a mixture of few points has many
    pairs, and each part costs a summary.
    """
    joined = list(parts)
    centres = Centres(joined, vectors)
    sizes = np.array([_size(part, tokens) for part in parts])
    for one in sorted(range(len(joined)), key=lambda one: len(joined[one])):
        has_room = sizes + sizes[one] <= limit
        has_room[one] = False
        if len(joined[one]) > SMALLEST or not has_room.any():
            continue
        near = centres.nearest(centres.means[one], has_room)
        joined[near] = dict(sorted({**joined[near], **joined[one]}.items()))
        centres.renew(near, joined[near])
        sizes[near], sizes[one], joined[one] = sizes[near] + sizes[one], limit + 1, {}
    return [part for part in joined if part]


def _size(group: Iterable[int], tokens: Sequence[int]) -> int:
    return sum(tokens[item] for item in group)


def _divided(items: Sequence[int], vectors: Vectors, tick: Tick) -> list[list[int]]:
    """Two or more disjoint parts, none of them of a single item."""
    inside = cores(clusters(vectors[list(items)], tick))
    parts = [[items[i] for i in part] for part in inside if part]
    half = len(items) // 2
    return parts if len(parts) > 1 else [list(items[:half]), list(items[half:])]


# --- clusters -------------------------------------------------------------------------------------
def clusters(vectors: Vectors, tick: Tick = _nothing) -> list[Cluster]:
    """Clusters that cover every row of ``vectors``; an item may be in several.

    The same rows in the same order give the same clusters. Each has at least two items whose
    probability is highest in it, so there are at most half as many clusters as items.
    """
    if len(vectors) <= SMALLEST:
        return [dict.fromkeys(range(len(vectors)), 1.0)] if len(vectors) else []
    found = []
    for part in _parts(vectors):
        tick()
        found += [
            {int(part[item]): probability for item, probability in cluster.items()}
            for cluster in _clusters(vectors[part])
        ]
    return consolidated(found, vectors)


def cores(found: Sequence[Cluster]) -> list[list[int]]:
    """The items that are most probably in each cluster: disjoint, covering all."""
    best: dict[int, tuple[float, int]] = {}
    for number, cluster in enumerate(found):
        for item, probability in cluster.items():
            if item not in best or probability > best[item][0]:
                best[item] = probability, number
    inside: list[list[int]] = [[] for _ in found]
    for item in sorted(best):
        inside[best[item][1]].append(item)
    return inside


def consolidated(found: Sequence[Cluster], vectors: Vectors) -> list[Cluster]:
    """Drop clusters that are no item's first choice; merge those with a single such item."""
    inside = cores(found)
    kept = [(dict(found[i]), items) for i, items in enumerate(inside) if items]
    centres = Centres([items for _, items in kept], vectors)
    left = len(kept)
    for place, (cluster, items) in enumerate(kept):
        if len(items) > 1 or left == 1:
            continue
        centres.renew(place, [])
        near = centres.nearest(vectors[items[0]])
        for item, probability in cluster.items():
            kept[near][0][item] = max(probability, kept[near][0].get(item, 0.0))
        kept[near][1].extend(items)
        centres.renew(near, kept[near][1])
        cluster.clear()
        left -= 1
    return [dict(sorted(cluster.items())) for cluster, _ in kept if cluster]


def _clusters(vectors: Vectors) -> Iterator[Cluster]:
    """Clusters of a part. Copies stay together; as points they would only be zero distances."""
    distinct, copies = np.unique(vectors.round(5), axis=0, return_inverse=True)
    of = copies.ravel().tolist()
    for found in _mixture(_reduced(distinct)):
        yield {item: found[place] for item, place in enumerate(of) if place in found}


def _parts(vectors: Vectors) -> list[Indexes]:
    """All rows or, if there are too many, groups by nearest centroid."""
    everything = np.arange(len(vectors))
    if len(vectors) <= MOST_AT_ONCE:
        return [everything]
    from sklearn.cluster import MiniBatchKMeans

    wanted = ceil(2 * len(vectors) / MOST_AT_ONCE)
    labels = MiniBatchKMeans(wanted, random_state=SEED).fit_predict(vectors)
    groups = [everything[labels == label] for label in np.unique(labels)]
    return [
        part for group in groups for part in np.array_split(group, ceil(len(group) / MOST_AT_ONCE))
    ]


def _reduced(vectors: Vectors) -> Points:
    """The coordinates along at most ``DIMENSIONS`` principal components; fewer for few items."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    wanted = min(DIMENSIONS, max(1, round(sqrt(len(vectors)))))
    # The decomposition's signs are arbitrary: the largest coordinate is made positive.
    points = (left * sizes)[:, :wanted]
    largest = points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])]
    turned: Points = points * np.where(largest < 0, -1.0, 1.0)
    return turned


def _mixture(points: Points) -> Iterator[Cluster]:
    """The clusters of the mixture with the best criterion."""
    chances = _chances(points)
    chances[np.arange(len(points)), chances.argmax(axis=1)] += 1e-9 + MEMBERSHIP
    for column in chances.T:
        members = np.flatnonzero(column > MEMBERSHIP)
        if len(members):
            yield {int(i): float(min(1.0, column[i])) for i in members}


def _chances(points: Points) -> Points:
    """Each point's probability of each cluster, shape ``(points, clusters)``."""
    if len(points) <= SMALLEST:
        return np.ones((len(points), 1))
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    best, least, worse = None, np.inf, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number in (number for number in NUMBERS if number < len(points) - 1):
            model = GaussianMixture(
                number, covariance_type="diag", reg_covar=1e-4, random_state=SEED
            ).fit(points)
            criterion = float(model.bic(points))
            worse = 0 if criterion < least else worse + 1
            best, least = (model, criterion) if criterion < least else (best, least)
            if worse == PATIENCE:
                break
    return np.ones((len(points), 1)) if best is None else np.array(best.predict_proba(points))
