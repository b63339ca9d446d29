from __future__ import annotations

import pytest

from kb_project.text.headings import bare, is_front, is_telling, main, outline
from kb_project.text.regions import Region, RegionKind


def titles(rows: list[tuple[int, str, int]], length: int = 1_000, most: int = 6) -> list[str]:
    return [bare(one.title) for one in main(outline(rows, length), most)]


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("Chapter 3. The Lamp", "The Lamp"),
        ("9.10. Backup", "Backup"),
        ("A.3. The reef", "The reef"),
        ("IV. The storm", "The storm"),
        ("第二章 灯塔", "灯塔"),
        ("I am the light", "I am the light"),
        ("4.7", ""),
    ],
)
def test_a_heading_loses_its_number(title: str, left: str):
    assert bare(title) == left


@pytest.mark.parametrize("title", [
    "Contents", "Table of Contents", "Copyright 2022", "GNU General Public License", "Preface",
    "4.7", "of the lamp)", "Note", "STAVE ONE", "Chapter 3", "目录", "x" * 200,
])  # fmt: skip
def test_what_any_document_has_tells_nothing(title: str):
    assert not is_telling(title)


@pytest.mark.parametrize("title", ["The Lamp", "/var hierarchy", "灯塔", "Why is it lit?"])
def test_what_only_this_document_has_is_telling(title: str):
    assert is_telling(title)


def test_a_preface_may_be_quoted_and_a_dedication_not():
    assert is_front("Dedication")
    assert not is_front("Preface")


def test_main_headings_are_those_of_the_highest_level_with_several():
    rows = [(1, "The Light", 0), (2, "The Lamp", 10), (3, "Oil", 20), (2, "The Reef", 50)]

    assert titles(rows) == ["The Lamp", "The Reef"]


def test_a_number_tells_the_level_where_the_type_does_not():
    rows = [(1, "Chapter 1. The Lamp", 0), (1, "1.1. Oil", 9), (1, "Chapter 2. The Reef", 50)]

    assert titles(rows) == ["The Lamp", "The Reef"]


def test_a_heading_that_comes_again_and_again_is_left_out():
    rows = [(1, "The Lamp", 0), (1, "Remark", 10), (1, "The Reef", 20), (1, "Remark", 30)]

    assert titles(rows) == ["The Lamp", "The Reef"]


def test_of_many_parts_the_longest_stand_in_their_order():
    rows = [(1, "Short", 0), (1, "Longest", 10), (1, "Long", 600)]

    assert titles(rows, most=2) == ["Longest", "Long"]


def test_headings_inside_of_furniture_are_left_out():
    rows = [(1, "The Lamp", 0), (1, "Full licence", 500)]
    regions = [Region(RegionKind.LEGAL, 400, 900), Region(RegionKind.HEADING, 0, 8)]

    assert [one.title for one in outline(rows, 1_000, regions)] == ["The Lamp"]


def test_a_section_ends_where_one_of_its_level_or_above_begins():
    rows = [(1, "The Lamp", 0), (2, "Oil", 10), (1, "The Reef", 50)]

    assert [(one.start, one.end) for one in outline(rows, 90)] == [(0, 50), (10, 50), (50, 90)]
