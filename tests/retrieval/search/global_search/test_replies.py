from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from kb_project.llm.structured import parse
from retrieval.search.global_search.replies import (
    MapReply,
    RateReply,
    clean,
    labels_in,
    marks_in,
    number_of,
    rating_of,
    score_of,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(ANYTHING)
@example("\U000116d0 of 10")  # a digit of Unicode 16
def test_whatever_is_said_a_score_is_from_0_to_100_and_a_rating_from_0_to_5(value):
    assert 0 <= score_of(value) <= 100
    rating = rating_of(value)
    assert rating is None or 0 <= rating <= 5


def test_scores_are_compared_as_numbers():
    assert sorted(["9", "85", 100, "7.5 of 100"], key=score_of) == ["7.5 of 100", "9", "85", 100]


@pytest.mark.parametrize("value", [None, True, [], {}, "high", float("nan"), float("inf")])
def test_what_is_no_number_is_none(value):
    assert number_of(value) is None


def test_an_endless_number_is_bounded():
    assert number_of(10**400) == 1_000_000
    assert number_of("9" * 400) is not None


@given(ANYTHING)
def test_nothing_in_a_list_of_points_spoils_the_others(value):
    good = {"description": "Said.", "score": "50", "records": "T1"}

    reply = MapReply.model_validate({"points": [value, good]})

    assert reply.points[-1].description == "Said."
    assert (reply.points[-1].score, reply.points[-1].records) == (50.0, ["T1"])


@pytest.mark.parametrize("schema", [MapReply, RateReply])
def test_an_answer_without_its_list_is_no_answer(schema):
    assert parse("{}", schema).value is None
    assert parse('{"points": [], "ratings": []}', schema).value is not None


def test_an_answer_in_a_fence_with_a_comma_too_many_is_read():
    said = '```json\n{"points": [{"description": "A.", "score": 9, "records": ["T1",]},]}\n```'

    reply = parse(said, MapReply).value

    assert reply is not None
    assert reply.points[0].records == ["T1"]


def test_labels_are_read_however_they_are_written():
    assert labels_in(["t1", "T 02", "[T3; P4]", "Report T5.", "XT6", "T"]) == [
        "T1",
        "T2",
        "T3",
        "P4",
        "T5",
    ]


@pytest.mark.parametrize(
    "said",
    ["Said [T1].", "Said [Data: T1, T2].", "Said (P3).", "Said [T1; T2 and P3].", "Said 【T1】."],
)
def test_marks_are_taken_out_of_a_text(said):
    assert clean(said) == "Said."
    assert marks_in(said)


def test_a_text_that_only_looks_like_a_mark_stays():
    assert clean("The [T-34] and (T1 tanks).") == "The [T-34] and (T1 tanks)."
