from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from retrieval.evaluation.history import Change, change_of, compare, deltas, telling_metric
from retrieval.models import EvaluationResult, EvaluationRun

WHO, WHEN = uuid4(), uuid4()


def run_of(**values: Any) -> EvaluationRun:
    return EvaluationRun(**({"modes": ["walk"], "corpus": "same"} | values))


def result(question: UUID, recall: float, *, mode: str = "walk", **values: Any) -> EvaluationResult:
    return EvaluationResult(
        question_id=question, mode=mode, metrics={"recall@5": recall, "mrr": recall}, **values
    )


def test_each_metric_stands_beside_what_it_was():
    now = run_of(summary={"walk": {"recall@5": 0.75, "hallucination": 0.25}})
    before = run_of(summary={"walk": {"recall@5": 0.5, "hallucination": 0.125}})

    found = compare(now, [], before)

    recall = found.summary["walk"]["recall@5"]
    assert (recall.now, recall.before, recall.difference) == (0.75, 0.5, 0.25)
    assert recall.change == Change.BETTER
    assert found.summary["walk"]["hallucination"].change == Change.WORSE


def test_each_question_says_whether_it_got_better():
    found = compare(
        run_of(),
        [result(WHO, 1.0), result(WHEN, 0.5), result(WHO, 0.5, mode="dense")],
        run_of(),
        [result(WHO, 0.5), result(WHEN, 0.5)],
    )

    assert [line.change for line in found.lines] == [Change.BETTER, Change.SAME, Change.NEW]
    assert found.counts == {"better": 1, "worse": 0, "same": 1, "new": 1}


def test_a_question_that_was_changed_is_not_compared():
    now = run_of(conditions={"questions": {str(WHO): "b", str(WHEN): "a"}})
    before = run_of(conditions={"questions": {str(WHO): "a", str(WHEN): "a"}})

    found = compare(
        now, [result(WHO, 1.0), result(WHEN, 1.0)], before, [result(WHO, 0.0), result(WHEN, 0.0)]
    )

    assert [(line.change, line.is_other) for line in found.lines] == [
        (Change.NEW, True),
        (Change.BETTER, False),
    ]
    assert found.changed == ["Questions: 1 changed."]


def test_a_result_that_failed_before_is_not_compared():
    found = compare(
        run_of(), [result(WHO, 1.0)], run_of(), [result(WHO, 0.0, problem={"code": "x"})]
    )

    assert found.lines[0].change == Change.NEW


def test_what_changed_in_between_is_told_in_sentences():
    now = run_of(
        corpus="new",
        modes=["walk", "mix"],
        judged_by="judge-2",
        conditions={
            "documents": 4,
            "passages": 9,
            "embedder": "big",
            "answers_by": "model-2",
            "questions": {"a": "1", "c": "1"},
        },
    )
    before = run_of(
        modes=["walk", "dense"],
        judged_by="judge-1",
        conditions={
            "documents": 3,
            "passages": 7,
            "embedder": "small",
            "answers_by": "model-1",
            "questions": {"a": "1", "b": "1"},
        },
    )

    assert compare(now, [], before).changed == [
        "The documents changed: from 3 with 7 passages to 4 with 9.",
        "The embedding model changed from small to big.",
        "The answering method changed from model-1 to model-2.",
        "Answers were judged by judge-1, now by judge-2.",
        "Modes measured only now: mix.",
        "Modes measured only before: dense.",
        "Questions: 1 added, 1 removed.",
    ]


def test_the_first_run_has_nothing_beside_it():
    found = compare(run_of(summary={"walk": {"mrr": 1.0}}), [result(WHO, 1.0)], None)

    assert found.changed == []
    assert found.summary["walk"]["mrr"].before is None
    assert found.counts["new"] == 1


@pytest.mark.parametrize(
    ("name", "now", "was", "change"),
    [
        ("recall@5", 0.502, 0.5, Change.SAME),
        ("recall@5", 0.4, 0.5, Change.WORSE),
        ("search_ms_p95", 11.0, 10.0, Change.SAME),
        ("search_ms_p95", 20.0, 10.0, Change.WORSE),
        ("search_ms_p95", 5.0, 10.0, Change.BETTER),
        ("noise_relevant", 0.1, 0.2, Change.BETTER),
        ("questions", 5, 9, Change.SAME),
    ],
)
def test_small_changes_are_none_and_less_may_be_better(name, now, was, change):
    assert change_of(name, now, {name: was}) == change


def test_a_question_is_judged_by_its_answer_where_that_was_measured():
    assert telling_metric({"recall@5": 1, "f1": 0.2}) == "f1"
    assert telling_metric({}) == "mrr"


@given(st.dictionaries(st.sampled_from(["mrr", "f1", "hallucination"]), st.floats(0, 1)))
def test_nothing_changes_against_itself(figures):
    assert {one.change for one in deltas(figures, figures).values()} <= {Change.SAME}


@given(st.sampled_from(["mrr", "hallucination"]), st.floats(0, 1), st.floats(0, 1))
def test_what_is_better_one_way_is_worse_the_other(name, one, other):
    there, back = change_of(name, one, {name: other}), change_of(name, other, {name: one})

    opposite = {Change.BETTER: Change.WORSE, Change.WORSE: Change.BETTER, Change.SAME: Change.SAME}
    assert back == opposite[there]
