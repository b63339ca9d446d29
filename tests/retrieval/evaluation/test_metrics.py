from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from retrieval.evaluation import metrics

NONE: frozenset[int] = frozenset()
FIRST, SECOND, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})


def test_perfect_needs_all_the_evidence_within_k():
    covered = [FIRST, NONE, SECOND]

    assert metrics.perfect(covered, 2, 2) == 0.0
    assert metrics.perfect(covered, 2, 3) == 1.0


def test_recall_is_the_share_of_the_evidence():
    assert metrics.recall([NONE, SECOND], 2, 1) == 0.0
    assert metrics.recall([NONE, SECOND], 2, 2) == 0.5
    assert metrics.recall([BOTH], 2, 1) == 1.0


def test_ndcg_rewards_evidence_that_comes_early():
    late = metrics.ndcg([NONE, FIRST, SECOND], 2, 3)

    assert metrics.ndcg([FIRST, SECOND], 2, 3) == 1.0
    assert late == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3)))


def test_ndcg_of_more_evidence_than_k_can_still_be_one():
    assert metrics.ndcg([FIRST], 3, 1) == 1.0


def test_the_reciprocal_rank_is_of_the_first_that_covers():
    assert metrics.reciprocal_rank([NONE, NONE, SECOND]) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([NONE]) == 0.0
    assert metrics.reciprocal_rank([]) == 0.0


def test_percentiles_are_values_that_were_seen():
    values = [float(number) for number in range(1, 101)]

    assert metrics.percentile(values, 0.5) == 50.0
    assert metrics.percentile(values, 0.95) == 95.0
    assert metrics.percentile([], 0.5) == 0.0
    assert metrics.mean([]) == 0.0


@given(st.lists(st.sampled_from([NONE, FIRST, SECOND, BOTH]), max_size=12), st.integers(1, 12))
def test_every_measure_stays_between_nothing_and_one(covered, k):
    new: list[frozenset[int]] = []
    seen: set[int] = set()
    for one in covered:
        new.append(frozenset(one - seen))
        seen |= one

    for measure in (metrics.perfect, metrics.recall, metrics.ndcg):
        assert 0.0 <= measure(new, 2, k) <= 1.0
    assert metrics.recall(new, 2, k) <= metrics.recall(new, 2, k + 1)
