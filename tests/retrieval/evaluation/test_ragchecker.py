from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from retrieval.evaluation.ragchecker import METRICS, Entailments, harmonic, measure, share

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
    assert share([]) == 0.0
    assert harmonic(0, 0) == 0.0
