from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors.model.locate import folded
from ingestion.extractors.model.naming import occurrences, occurs


def surfaces(text: str, *names: str) -> dict[str, list[str]]:
    found = occurrences(names, folded(text))
    return {name: [text[start:end] for start, end in spans] for name, spans in found.items()}


def test_every_place_is_found():
    text = "Ada Lind keeps the light. The light keeps Ada Lind; ADA  LIND sleeps."

    assert surfaces(text, "Ada Lind") == {"Ada Lind": ["Ada Lind", "Ada Lind", "ADA  LIND"]}


def test_a_name_inside_a_word_is_no_mention():
    assert surfaces("Adam adapts. Ada stays.", "Ada") == {"Ada": ["Ada"]}


def test_the_longest_name_wins_its_place():
    text = "Ebenezer Scrooge and Scrooge's nephew"

    assert surfaces(text, "Scrooge", "Ebenezer Scrooge") == {
        "Ebenezer Scrooge": ["Ebenezer Scrooge"],
        "Scrooge": ["Scrooge"],
    }


def test_accents_and_quotation_marks_do_not_matter():
    assert surfaces("Café «O’Brien»", "Cafe", "O'Brien") == {
        "Cafe": ["Café"],
        "O'Brien": ["O’Brien"],
    }


def test_chinese_needs_no_spaces():
    assert surfaces("朱元璋在南京建立了明朝。", "南京", "明朝") == {
        "南京": ["南京"],
        "明朝": ["明朝"],
    }


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("May said it may rain.", "May", ["May"]),
        ("It may rain.", "May", ["may"]),
        ("It is the IT department: IT runs it.", "IT", ["IT", "IT"]),
        ("SCROOGE! Scrooge!", "Scrooge", ["SCROOGE", "Scrooge"]),
        ("the keeper and the Keeper", "keeper", ["keeper", "Keeper"]),
        ("The Light House", "light house", ["Light House"]),
    ],
)
def test_a_capital_tells_a_name_from_a_common_word(text, name, found):
    assert surfaces(text, name) == {name: found}


def test_a_name_that_is_nowhere_has_no_places():
    assert surfaces("The light burns.", "Ada", " ", "") == {"Ada": [], " ": [], "": []}
    assert not occurs("Ada", folded("The light burns."))
    assert occurs("light", folded("The light burns."))


@given(st.lists(st.text("ab A", max_size=5), max_size=5), st.text("ab A.", max_size=60))
def test_places_never_overlap(names, text):
    spans = sorted(span for spans in occurrences(names, folded(text)).values() for span in spans)

    assert all(left[1] <= right[0] for left, right in pairwise(spans))
