from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ingestion.stages.tree import clustering
from ingestion.stages.tree.clustering import MOST_LAYERS, Cluster, layer
from kb_project.llm.ports import Vectors
from tests.ingestion.stages.tree.test_clustering import subjects

LIMIT = 3_500


def test_few_short_items_are_one_cluster():
    found = layer(subjects(11, 1), [100] * 11, limit=LIMIT, is_last=False)

    assert [sorted(cluster) for cluster in found] == [list(range(11))]


def test_a_cluster_over_the_limit_is_split_until_none_is():
    tokens = [800] * 24

    found = layer(subjects(3, 8, spread=0.02), tokens, limit=LIMIT, is_last=False)

    assert all(sum(tokens[i] for i in cluster) <= LIMIT for cluster in found)
    assert set().union(*found) == set(range(24))


def test_small_clusters_join_the_nearest_with_room(monkeypatch: pytest.MonkeyPatch):
    pairs = [dict.fromkeys((first, first + 1), 1.0) for first in range(0, 12, 2)]
    monkeypatch.setattr(clustering, "clusters", lambda *_: [dict(one) for one in pairs])

    found = layer(subjects(3, 4, spread=0.02), [800] * 12, limit=LIMIT, is_last=False)

    assert [sorted(cluster) for cluster in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_items_that_nothing_tells_apart_are_halved_in_order():
    vectors = np.repeat(subjects(1, 1), 8, axis=0)

    found = layer(vectors, [1_000] * 8, limit=LIMIT, is_last=False)

    assert [sorted(cluster) for cluster in found] == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("number", [2, 3])
def test_two_or_three_items_are_one_cluster_however_long(number: int):
    assert len(layer(subjects(number, 1), [9_000] * number, limit=LIMIT, is_last=False)) == 1


def test_the_last_layer_is_one_cluster_however_long():
    assert len(layer(subjects(20, 1), [800] * 20, limit=LIMIT, is_last=True)) == 1


@settings(max_examples=25)
@given(st.integers(2, 29), st.integers(1, 5_000), st.integers(0, 99))
def test_every_layer_is_at_most_half_of_the_one_below(number: int, length: int, seed: int):
    """So any tree ends, whatever its texts and vectors are."""
    vectors = subjects(number, 1, seed=seed)

    found = layer(vectors, [length] * number, limit=LIMIT, is_last=False)

    assert len(found) <= max(1, number // 2)
    assert set().union(*found) == set(range(number))
    assert all(len(cluster) >= 2 for cluster in found)


def test_items_in_many_clusters_do_not_keep_a_layer_from_shrinking(
    monkeypatch: pytest.MonkeyPatch,
):
    def twice(vectors: Vectors, _tick: object) -> list[Cluster]:
        return [dict.fromkeys(range(len(vectors)), 0.5)] * 2

    monkeypatch.setattr(clustering, "clusters", twice)

    found = layer(subjects(12, 1), [1_700] * 12, limit=LIMIT, is_last=False)

    assert len(found) <= 6


def test_there_are_as_many_layers_as_in_the_paper():
    assert MOST_LAYERS == 5
