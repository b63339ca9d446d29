from __future__ import annotations

from hypothesis import given, strategies as st

from retrieval.evaluation import ragchecker
from retrieval.evaluation.summary import (
    EXPLAINED,
    LABELS,
    is_better_when_less,
    label_of,
    report_of,
    summary_of,
)


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
    figures |= dict.fromkeys(ragchecker.METRICS, 0.25)

    found = report_of(summary_of([("walk", figures)]))

    assert found["walk"] == {
        "recall": {"5": 0.5, "20": 1.0},
        "mrr": 0.5,
        "embed_ms": {"p50": 2.0, "p95": 2.0},
        "answered": 1.0,
        "ragchecker": dict.fromkeys(ragchecker.METRICS, 0.25),
    }


def test_every_metric_has_a_name_and_an_explanation_for_people():
    for name in ragchecker.METRICS:
        assert label_of(name) != name
        assert name == "recall" or name in LABELS
        assert EXPLAINED[name].endswith(".")


def test_less_is_better_of_what_is_wrong_and_of_what_takes_long():
    assert is_better_when_less("hallucination")
    assert is_better_when_less("search_ms_p95")
    assert not is_better_when_less("faithfulness")
    assert not is_better_when_less("perfect@8")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["walk", "dense"]),
            st.dictionaries(st.sampled_from(ragchecker.METRICS), st.floats(0, 1)),
        )
    )
)
def test_a_mean_lies_among_its_values(results):
    for mode, figures in summary_of(results).items():
        for name in set(figures) - {"questions"}:
            values = [row[name] for of, row in results if of == mode and name in row]
            assert min(values) - 1e-4 <= figures[name] <= max(values) + 1e-4
