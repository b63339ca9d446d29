"""What holds of the measures for every ranking, however it came about."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, strategies as st

from retrieval.evaluation import metrics

Ranking = tuple[list[frozenset[int]], int]
LENGTH = 10


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """A ranking in which no evidence is covered twice, and how much evidence there is."""
    evidence = draw(st.integers(1, 6))
    places = draw(st.lists(st.integers(0, LENGTH), min_size=evidence, max_size=evidence))
    covered = [
        frozenset(number for number, place in enumerate(places) if place == rank)
        for rank in range(LENGTH)
    ]
    return covered, evidence


@given(rankings(), st.integers(1, LENGTH))
def test_perfect_is_recall_that_misses_nothing(ranking, k):
    covered, evidence = ranking

    assert metrics.perfect(covered, evidence, k) == float(
        metrics.recall(covered, evidence, k) == 1.0
    )
    assert metrics.perfect(covered, evidence, k) <= metrics.recall(covered, evidence, k)


@given(rankings())
def test_recall_at_the_end_is_the_share_that_was_found_at_all(ranking):
    covered, evidence = ranking

    found = sum(len(new) for new in covered)
    assert metrics.recall(covered, evidence, LENGTH) == pytest.approx(found / evidence)


@given(rankings(), st.integers(1, LENGTH - 1))
def test_more_passages_never_cover_less(ranking, k):
    covered, evidence = ranking

    assert metrics.recall(covered, evidence, k) <= metrics.recall(covered, evidence, k + 1)
    assert metrics.perfect(covered, evidence, k) <= metrics.perfect(covered, evidence, k + 1)


@given(rankings(), st.integers(1, LENGTH))
def test_a_measure_looks_at_nothing_past_its_depth(ranking, k):
    covered, evidence = ranking

    for measure in (metrics.recall, metrics.perfect, metrics.ndcg):
        assert measure(covered, evidence, k) == measure(covered[:k], evidence, k)


@given(rankings())
def test_a_useful_passage_moved_up_never_lowers_ndcg(ranking):
    covered, evidence = ranking
    useful = [rank for rank, new in enumerate(covered) if new and rank]
    assume(useful)
    rank = useful[-1]

    sooner = [*covered[: rank - 1], covered[rank], covered[rank - 1], *covered[rank + 1 :]]

    for k in range(1, LENGTH + 1):
        assert metrics.ndcg(sooner, evidence, k) >= metrics.ndcg(covered, evidence, k) - 1e-12
    assert metrics.reciprocal_rank(sooner) >= metrics.reciprocal_rank(covered)


@given(rankings(), st.integers(1, LENGTH))
def test_each_measure_is_zero_exactly_where_nothing_was_found(ranking, k):
    covered, evidence = ranking
    found = any(covered[:k])

    assert (metrics.recall(covered, evidence, k) > 0) is found
    assert (metrics.ndcg(covered, evidence, k) > 0) is found


@given(st.integers(1, 6), st.integers(1, LENGTH))
def test_one_piece_a_passage_from_the_top_is_the_ideal_ranking(evidence, k):
    covered = [frozenset({number}) for number in range(evidence)]

    assert metrics.ndcg(covered, evidence, k) == pytest.approx(1.0)
    assert metrics.reciprocal_rank(covered) == 1.0
    assert metrics.recall(covered, evidence, k) == pytest.approx(min(k, evidence) / evidence)


@given(st.integers(0, LENGTH - 1))
def test_the_reciprocal_rank_counts_from_one(misses):
    covered = [frozenset[int]()] * misses + [frozenset({0})]

    assert metrics.reciprocal_rank(covered) == pytest.approx(1 / (misses + 1))


def test_a_passage_that_covers_two_pieces_gains_once():
    both_at_once = metrics.ndcg([frozenset({0, 1})], 2, 2)

    assert both_at_once == pytest.approx(1 / (1 + 1 / math.log2(3)))


seen = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


@given(seen, st.floats(0.01, 1.0))
def test_a_percentile_was_seen_and_leaves_its_share_at_or_below_it(values, share):
    found = metrics.percentile(values, share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


@given(seen)
def test_percentiles_do_not_fall_and_the_last_is_the_greatest(values):
    shares = [metrics.percentile(values, tenth / 10) for tenth in range(1, 11)]

    assert shares == sorted(shares)
    assert shares[-1] == max(values)
    assert metrics.percentile(values, 0.0) == min(values)


@given(seen)
def test_the_order_of_the_values_does_not_matter(values):
    assert metrics.percentile(values[::-1], 0.5) == metrics.percentile(values, 0.5)
    assert min(values) - 1e-6 <= metrics.mean(values) <= max(values) + 1e-6
