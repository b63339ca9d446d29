from __future__ import annotations

from hypothesis import given, strategies as st

from kb_project.llm.ports import Ranking

SCORES = st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=40)


def test_the_best_score_comes_first_and_equal_ones_stay_as_they_stood():
    assert Ranking((0.2, 0.9, 0.2, 0.5)).order() == [1, 3, 0, 2]


def test_what_has_no_score_comes_last_even_below_negative_ones():
    assert Ranking((None, -7.5, None, -9.0)).order() == [1, 3, 0, 2]


@given(SCORES)
def test_every_text_keeps_exactly_one_place(scores):
    assert sorted(Ranking(tuple(scores)).order()) == list(range(len(scores)))
