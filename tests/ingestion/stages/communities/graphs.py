"""Graphs of a few links, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ingestion.stages.communities.graph import UNKNOWN, Graph


class Link(NamedTuple):
    """A relationship; ``first`` and ``last`` are the first and last sentence of its evidence."""

    source: int
    target: int
    weight: float
    first: int = UNKNOWN
    last: int = UNKNOWN


def graph_of(size: int, links: Sequence[Link]) -> Graph:
    both = np.array([one[:2] for one in links], np.int64).reshape(-1, 2)
    sentences = np.array([one[3:] for one in links], np.int64).reshape(-1, 2)
    weights = np.array([one.weight for one in links], np.float64)
    return Graph.of(size, both, weights).told(both, sentences)
