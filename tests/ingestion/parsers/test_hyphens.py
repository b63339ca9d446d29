"""Words of plain text that are cut at a line's end."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.plain import rejoined


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("Veg-\n  etarian monsters\n  eat.", "Vegetarian\n  monsters\n  eat."),
        ("a veg-\netarian, too\n", "a vegetarian,\ntoo\n"),
        ("a veg-\r\n\tetarian ate", "a vegetarian\r\n\tate"),
        ("a veg-\netarian.\n\nNext.", "a vegetarian.\n\nNext."),
        ("a non-veg-\netarian", "a non-vegetarian"),
    ],
)
def test_a_cut_word_is_rejoined_if_the_text_has_it_whole(cut: str, whole: str):
    known = "The vegetarian left.\n\n"

    assert rejoined(known + cut) == known + whole


@pytest.mark.parametrize(
    "text",
    [
        "a veg-\netarian ate",
        "The light-house is a lighthouse. A light-\nhouse burned.",
        "Two thirds. Two-\nthirds of it.",
        "A lamp post. The lamp-\n\npost of it. Lamppost.",
        "The Lamp. It was -\nlamp.",
        "It is Lind. Mary Ann-\nLind left. Annlind.",
    ],
)
def test_other_hyphens_stay(text: str):
    assert rejoined(text) == text


def test_cut_words_of_a_text_file_are_whole_in_the_document(read):
    document = read(b"Scott Allison wrote it.\n\nMichael Alli-\nson, too.", "a.txt")

    assert document.text == "Scott Allison wrote it.\n\nMichael Allison,\ntoo."


@pytest.mark.parametrize("unit", ["a", "a-", "a-\nb ", "-\n", "a-\n", "aa b a-\na "])
def test_one_huge_file_comes_to_an_end(unit: str):
    """In quadratic time it would take minutes."""
    assert rejoined(unit * (100_000 // len(unit)))


@given(st.text(alphabet="ab-\n \t.", max_size=80))
def test_only_hyphens_and_white_space_change(text: str):
    whole = rejoined(text)

    assert "".join(whole.replace("-", "").split()) == "".join(text.replace("-", "").split())
    assert whole.count("\n\n") <= text.count("\n\n")
