from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from retrieval.evaluation import results
from retrieval.evaluation.results import Change, change_of, compare, deltas, telling_metric
from retrieval.evaluation.runner import Tally
from retrieval.models import EvaluationResult, EvaluationRun


def measured(**changes: Any) -> dict[str, Any]:
    tally = Tally(
        covered=[([frozenset({0})], 1), ([frozenset(), frozenset({0})], 1)],
        search_seconds=[0.0021, 0.004],
        embed_seconds=[0.05, 0.06],
    )
    modes = {"walk": tally.summary([1, 2]), "a-mode-of-a-long-name": Tally().summary([1, 2])}
    report = {
        "dataset": "harbour",
        "documents": 3,
        "questions": 2,
        "ingest_seconds": 1.5,
        "failed_documents": 0,
        "modes": modes,
    }
    return report | changes


def test_the_heading_says_what_was_measured():
    first, *_ = results.lines(measured())

    assert first == "harbour: 3 documents, 2 questions, ingested in 1.5 s"


def test_every_mode_has_a_line_and_every_measure_a_column():
    _, heading, *rows, _ = results.lines(measured())

    assert heading.split()[:7] == [
        "mode",
        *("perfect@1", "perfect@2", "recall@1", "recall@2", "ndcg@1", "ndcg@2"),
    ]
    assert [row.split()[0] for row in rows] == ["walk", "a-mode-of-a-long-name"]


def test_the_figures_are_those_of_the_report():
    row = next(line for line in results.lines(measured()) if line.startswith("walk"))

    assert row.split()[1:5] == ["0.500", "1.000", "0.500", "1.000"]
    assert row.split()[7:] == ["0.750", "2.1", "4.0"]


def test_making_the_vector_is_told_once_for_all_modes():
    *_, last = results.lines(measured())

    assert last == "A question's vector took 50.0 ms (p50), 60.0 ms (p95) more."


def test_the_columns_are_aligned():
    _, *lines, _ = results.lines(measured())

    assert len({len(line) for line in lines}) == 1
    ends = [lines[0].index(name) + len(name) for name in ("perfect@1", "recall@2", "mrr")]
    for line in lines[1:]:
        assert all(line[end - 1] != " " and line[end : end + 1] == " " for end in ends)


def test_documents_that_could_not_be_read_are_not_kept_quiet():
    assert "2 documents could not be read." in list(results.lines(measured(failed_documents=2)))
    assert not any("could not be read" in line for line in results.lines(measured()))


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
