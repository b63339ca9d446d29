"""Numbered headings of plain text, and what only looks like them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.numbered import numbered_headings
from ingestion.parsers.plain import all_headings
from tests.ingestion.parsers.conftest import headed


def titles(text: str) -> list[tuple[int, str]]:
    return [(level, title) for level, title, _ in numbered_headings(text)]


def sections(*lines: str) -> str:
    """Each line with a paragraph below it."""
    return "\n\n".join(f"{line}\n\nThe lamp burns oil and the keeper trims it." for line in lines)


def test_numbers_show_the_level_of_headings():
    text = sections("1. Oil", "1.1. Of whales", "1.2. Of seeds", "2. Wicks", "3. “Fog”")

    assert titles(text) == [
        (1, "1. Oil"),
        (2, "1.1. Of whales"),
        (2, "1.2. Of seeds"),
        (1, "2. Wicks"),
        (1, "3. “Fog”"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("A.1 Oil", "A.2 Wicks", "A.3 Fog"),
        ("§ 1 Oil", "§ 2 Wicks", "§ 3 Fog"),
        ("\t1\tOil", "\t2\tWicks", "\t3\tFog"),
        ("0. Oil", "1. Wicks", "2. Fog"),
        ("1 Oil", "3 Wicks", "4 Fog"),
        ("1.1 How is the lamp lit?", "1.2 How is the lamp put out, and\n      why?"),
    ],
)
def test_headings_are_numbered_in_many_ways(lines: tuple[str, ...]):
    assert [title for _, title in titles(sections(*lines))] == [
        " ".join(one.split()) for one in lines
    ]


def test_headings_of_a_file_from_windows_are_found(read):
    document = read(sections("1 Oil", "2 Wicks", "3 Fog").replace("\n", "\r\n").encode(), "a.txt")

    assert [(one.level, one.title) for one in document.headings] == [
        (1, "1 Oil"),
        (1, "2 Wicks"),
        (1, "3 Fog"),
    ]
    assert len(headed(document)) == 3


def test_contents_and_lists_with_another_space_behind_the_number_do_not_hide_headings():
    parts = ["1.  Oil", "2.  Wicks", "3.  Fog"]
    contents = "1. Oil\n   1.1 Of whales\n\n2. Wicks\n   2.1 Cut\n\n3. Fog\n   3.1 Bells"

    assert titles(f"{contents}\n\n{sections(*parts)}") == [
        (1, "1. Oil"),
        (1, "2. Wicks"),
        (1, "3. Fog"),
    ]


def test_a_table_of_contents_repeats_headings_and_has_none():
    contents = "\n\n".join(["1 Oil", "1.1 Of whales", "1.2 Of seeds", "2 Wicks", "3 Fog"])
    text = f"{contents}\n\n" + sections(
        "1 Oil", "1.1 Of whales", "1.2 Of seeds", "2 Wicks", "3 Fog"
    )

    found = numbered_headings(text)

    assert [start for *_, start in found] == [
        text.rindex(one) for one in ("1 Oil", "1.1 Of", "1.2 Of", "2 Wicks", "3 Fog")
    ]
    assert numbered_headings(contents) == []


@pytest.mark.parametrize(
    "text",
    [
        "1. Oil\n\n2. Wicks\n\n3. Fog\n\nAll of them are dear.",
        "1. Oil\n2. Wicks\n3. Fog",
        sections("1. Close the valve.", "2. Open the door.", "3. Wait."),
        sections("1. Oil", "2. Wicks", "3. Fog", "1. Bread", "2. Salt"),
        sections("1866 The lamp", "1867 The lens", "1868 The fog"),
        sections("12 Harbour Road", "14 Harbour Road"),
        sections("1.5 litres", "1.6 litres", "1.7 litres"),
        sections("2.4 Litres", "7.5 Litres", "3.5 Litres"),
        sections("1 Oil", "2 Wicks"),
        sections("3. Oil", "2. Wicks", "1. Fog"),
        "1 Oil\n12 3\n\n2 Wicks\n14 2\n\n3 Fog\n9 9",
        sections("1. Oil", "2. Wicks burn for a night,\nthen they are cut.", "3. Fog", "4. Rain.")
        + "\n\n5. They are\n  all.",
    ],
)
def test_lists_years_addresses_measurements_and_rows_are_no_headings(text: str):
    assert numbered_headings(text) == []


def test_sections_are_below_the_chapter_they_are_in():
    text = sections("Chapter 1", "1.1 Oil", "1.2 Wicks", "Chapter 2", "2.1 Fog", "2.2 Rain")

    assert [(level, title) for level, title, _ in all_headings(text)] == [
        (2, "Chapter 1"),
        (3, "1.1 Oil"),
        (3, "1.2 Wicks"),
        (2, "Chapter 2"),
        (3, "2.1 Fog"),
        (3, "2.2 Rain"),
    ]


def test_a_numbered_heading_with_a_line_below_it_is_one_heading():
    text = "1 Oil\n-----\n\nIt burns.\n\n2 Wicks\n-------\n\nCut them.\n\n3 Fog\n-----\n\nRing.\n"

    assert [(level, title) for level, title, _ in all_headings(text)] == [
        (1, "1 Oil"),
        (1, "2 Wicks"),
        (1, "3 Fog"),
    ]


@pytest.mark.parametrize("unit", [" ", "1 A\n\n", "1.", "1.1 A", "\n", "1 A\n===\n", "="])
def test_one_huge_file_comes_to_an_end(unit: str):
    """In quadratic time it would take minutes."""
    assert len(numbered_headings(unit * 200_000)) <= 1


@given(st.text(alphabet="12. A\nb\t=", max_size=120))
def test_each_heading_begins_where_it_says(text: str):
    for level, title, start in numbered_headings(text):
        assert level >= 1
        assert " ".join(text[start:].split()).startswith(title)
