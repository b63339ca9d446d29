from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ingestion.stages.tree import clustering
from ingestion.stages.tree.clustering import clusters, consolidated, cores
from kb_project.llm.ports import Vectors


def subjects(number: int, per_subject: int, *, spread: float = 0.2, seed: int = 3) -> Vectors:
    """Vectors of length one around so many centres; row i is of subject ``i // per_subject``."""
    dice = np.random.default_rng(seed)
    centres = np.repeat(dice.normal(size=(number, 24)), per_subject, axis=0)
    vectors = centres + dice.normal(size=centres.shape) * spread
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def assert_sound(found: list[clustering.Cluster], items: int) -> None:
    assert set().union(*found) == set(range(items))
    assert all(0 < probability <= 1 for cluster in found for probability in cluster.values())
    assert len(found) <= max(1, items // 2)
    assert all(len(core) >= 2 for core in cores(found)) or items < 2


@pytest.mark.parametrize("number", [1, 2, 3, 4, 11, 12, 13, 29])
def test_sets_of_a_few_unlike_items_are_clustered_all_the_same(number: int):
    assert_sound(clusters(subjects(number, 1)), number)


def test_nothing_has_no_clusters():
    assert clusters(np.zeros((0, 24), np.float32)) == []


@pytest.mark.parametrize("per_subject", [5, 12])
def test_subjects_that_are_far_apart_never_share_a_core(per_subject: int):
    found = clusters(subjects(4, per_subject, spread=0.02))

    assert_sound(found, 4 * per_subject)
    assert all(len({item // per_subject for item in core}) == 1 for core in cores(found))


def test_the_same_vectors_give_the_same_clusters():
    vectors = subjects(5, 9)

    assert clusters(vectors) == clusters(vectors.copy())


@pytest.mark.parametrize("number", [4, 40])
def test_copies_of_one_vector_stay_together(number: int):
    vectors = np.repeat(subjects(1, 1), number, axis=0)

    assert [sorted(cluster) for cluster in clusters(vectors)] == [list(range(number))]


def test_copies_beside_others_are_where_their_original_is():
    vectors = np.repeat(subjects(6, 2), 3, axis=0)

    for cluster in clusters(vectors):
        assert all({3 * (i // 3), 3 * (i // 3) + 1, 3 * (i // 3) + 2} <= set(cluster)
                   for i in cluster)  # fmt: skip


def test_vectors_of_zeros_are_one_cluster():
    assert len(clusters(np.zeros((20, 24), np.float32))) == 1


@settings(max_examples=30)
@given(st.integers(1, 28), st.integers(0, 1_000), st.floats(0, 2))
def test_any_small_set_is_covered(number: int, seed: int, spread: float):
    vectors = subjects(max(1, number // 4), 4, spread=spread, seed=seed)

    assert_sound(clusters(vectors), len(vectors))


def test_sets_too_large_for_one_pass_are_divided_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clustering, "MOST_AT_ONCE", 20)

    assert_sound(clusters(subjects(10, 6)), 60)


def test_a_single_item_joins_its_nearest_cluster():
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0.9, 0.1]], np.float32)

    found = consolidated([{0: 1.0, 1: 1.0}, {2: 1.0, 3: 1.0}, {4: 1.0}], vectors)

    assert found == [{0: 1.0, 1: 1.0, 4: 1.0}, {2: 1.0, 3: 1.0}]


def test_a_cluster_that_is_nobody_s_first_is_left_out():
    found = consolidated([{0: 0.8, 1: 0.9}, {0: 0.2, 1: 0.1}], np.eye(2, dtype=np.float32))

    assert found == [{0: 0.8, 1: 0.9}]


def test_an_item_may_be_in_two_clusters():
    assert cores([{0: 0.6, 1: 1.0}, {0: 0.4, 2: 1.0}]) == [[0, 1], [2]]
