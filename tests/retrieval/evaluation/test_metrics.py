from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from retrieval.evaluation import metrics
from retrieval.evaluation.metrics import (
    METRICS,
    Entailments,
    explanation_of,
    is_better_when_less,
    label_of,
    mean,
    measure,
    report_of,
    summary_of,
)

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

    for of_ranking in (metrics.perfect, metrics.recall, metrics.ndcg):
        assert 0.0 <= of_ranking(new, 2, k) <= 1.0
    assert metrics.recall(new, 2, k) <= metrics.recall(new, 2, k + 1)


MOST = 6


@st.composite
def entailments(draw, *, least_said: int = 0) -> Entailments:
    """Any matrices, also such as no model would come to."""
    passages = draw(st.integers(0, MOST))
    expected = draw(st.integers(0, MOST))
    said = draw(st.integers(least_said, MOST))

    def flags(length):
        return st.lists(st.booleans(), min_size=length, max_size=length)

    return Entailments(
        passages,
        draw(flags(expected)),
        draw(flags(said)),
        [draw(flags(passages)) for _ in range(expected)],
        [draw(flags(passages)) for _ in range(said)],
    )


@given(entailments(least_said=1))
def test_what_is_wrong_was_invented_or_came_from_the_passages(found):
    metrics = measure(found)

    wrong = metrics["hallucination"] + metrics["noise_relevant"] + metrics["noise_irrelevant"]
    assert wrong == pytest.approx(1 - metrics["precision"])


@given(entailments(least_said=1))
def test_a_claim_is_faithful_invented_or_known(found):
    metrics = measure(found)

    parts = metrics["faithfulness"] + metrics["hallucination"] + metrics["self_knowledge"]
    assert parts == pytest.approx(1)


@given(entailments())
def test_every_metric_is_a_share(found):
    metrics = measure(found)

    assert tuple(metrics) == METRICS
    assert all(0 <= value <= 1 for value in metrics.values())


@given(entailments())
def test_f1_lies_between_precision_and_recall(found):
    metrics = measure(found)

    low, high = sorted((metrics["precision"], metrics["recall"]))
    assert low - 1e-9 <= metrics["f1"] <= high + 1e-9 or metrics["f1"] == 0


@given(entailments())
def test_more_claims_are_retrieved_than_used_out_of_what_was_retrieved(found):
    metrics = measure(found)

    if metrics["claim_recall"] == 0:
        assert metrics["context_utilisation"] == metrics["context_precision"] == 0


def test_an_answer_without_claims_has_nothing_of_anything():
    metrics = measure(Entailments(2, [False], [], [[True, False]], []))

    assert {name for name, value in metrics.items() if value} == {
        "claim_recall",
        "context_precision",
    }


def test_the_worked_example():
    # Three passages, of which the second is relevant. The response says four things: a correct one
    # from the second, a wrong one from it, a wrong one from the third, and an invented one.
    found = Entailments(
        passages=3,
        expected_in_response=[True, False],
        response_in_expected=[True, False, False, False],
        expected_in_passages=[[False, True, False], [False, True, False]],
        response_in_passages=[
            [False, True, False],
            [False, True, True],
            [False, False, True],
            [False, False, False],
        ],
    )

    assert measure(found) == pytest.approx(
        {
            "precision": 0.25,
            "recall": 0.5,
            "f1": 1 / 3,
            "claim_recall": 1.0,
            "context_precision": 1 / 3,
            "context_utilisation": 0.5,
            "noise_relevant": 0.25,
            "noise_irrelevant": 0.25,
            "hallucination": 0.25,
            "self_knowledge": 0.0,
            "faithfulness": 0.75,
        }
    )


def test_what_is_right_but_in_no_passage_is_the_models_own_knowledge():
    metrics = measure(Entailments(1, [True], [True], [[False]], [[False]]))

    assert (metrics["self_knowledge"], metrics["hallucination"]) == (1.0, 0.0)


def test_shares_of_nothing_are_nothing():
    assert mean([]) == 0.0
    assert measure(Entailments(0, [], [], [], []))["f1"] == 0.0


def test_means_are_of_the_questions_that_have_the_metric():
    found = summary_of(
        [
            ("walk", {"mrr": 1.0, "precision": 0.5}),
            ("walk", {"mrr": 0.0}),
            ("dense", {"mrr": 0.25}),
        ]
    )

    assert found == {
        "walk": {"questions": 2, "mrr": 0.5, "precision": 0.5},
        "dense": {"questions": 1, "mrr": 0.25},
    }


def test_times_are_percentiles():
    found = summary_of(("walk", {"search_ms": float(number)}) for number in range(1, 101))

    assert found["walk"]["search_ms_p50"] == 50
    assert found["walk"]["search_ms_p95"] == 95


def test_nothing_measured_is_an_empty_summary():
    assert summary_of([]) == {}


def test_the_report_has_the_shape_of_the_command():
    figures = {"recall@5": 0.5, "recall@20": 1.0, "mrr": 0.5, "embed_ms": 2.0, "answered": 1.0}
    figures |= dict.fromkeys(metrics.METRICS, 0.25)

    found = report_of(summary_of([("walk", figures)]))

    assert found["walk"] == {
        "recall": {"5": 0.5, "20": 1.0},
        "mrr": 0.5,
        "embed_ms": {"p50": 2.0, "p95": 2.0},
        "answered": 1.0,
        "ragchecker": dict.fromkeys(metrics.METRICS, 0.25),
    }


def test_every_metric_has_a_name_and_an_explanation_for_people():
    for name in metrics.METRICS:
        assert label_of(name) != name
        assert explanation_of(name).endswith(".")


def test_less_is_better_of_what_is_wrong_and_of_what_takes_long():
    assert is_better_when_less("hallucination")
    assert is_better_when_less("search_ms_p95")
    assert not is_better_when_less("faithfulness")
    assert not is_better_when_less("perfect@8")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["walk", "dense"]),
            st.dictionaries(st.sampled_from(metrics.METRICS), st.floats(0, 1)),
        )
    )
)
def test_a_mean_lies_among_its_values(results):
    for mode, figures in summary_of(results).items():
        for name in set(figures) - {"questions"}:
            values = [row[name] for of, row in results if of == mode and name in row]
            assert min(values) - 1e-4 <= figures[name] <= max(values) + 1e-4
