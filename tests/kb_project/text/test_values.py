from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from kb_project.text.values import (
    dates_in,
    is_month,
    missing_names,
    missing_numbers,
    names_in,
    numbers_in,
    numbers_mentioned,
)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 11 May 1987", {"1987 5 11"}),
        ("on May 11, 1987", {"1987 5 11"}),
        ("on the 3rd of June", {"6 3"}),
        ("in June 1990", {"1990 6"}),
        ("on 1987-05-11", {"1987 5 11"}),
        ("1987年5月11日", {"1987 5 11"}),
        ("in 1987 and 1988", {"1987", "1988"}),
        ("it may cost 20", set()),
        ("in May", set()),
        ("1987.5 metres, room 2", set()),
    ],
)
def test_dates_are_read_in_any_usual_form(text, dates):
    assert dates_in(text) == dates


def test_names_are_words_with_a_capital_and_months_are_none():
    assert names_in("In May the keeper Ada Lind left.") == {"ada", "lind"}
    assert names_in("nothing here") == frozenset()
    assert is_month("june")
    assert is_month("Sep")
    assert not is_month("light")


def test_numbers_told_in_words_count():
    assert {"3", "12", "5"} <= numbers_mentioned("three dogs, a dozen boats, in May")
    assert numbers_in("1. It has 1,000 lamps") == {"1000"}


@given(text=st.text(max_size=120))
@example(text=":Ð_0")
@example(text="held by _Ada_Lind and ZONE_9")
@example(text="0'İ中 and 0'S")
def test_a_text_holds_its_own_numbers_and_names(text):
    assert missing_numbers(text, text) == frozenset()
    assert missing_names(text, text) == frozenset()
    assert isinstance(dates_in(text), frozenset)
    assert isinstance(names_in(text), frozenset)
