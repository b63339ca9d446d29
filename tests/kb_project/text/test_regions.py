"""What is not prose, and headings."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.regions import (
    Region,
    RegionKind,
    as_json,
    bare,
    from_json,
    is_code,
    is_front,
    is_telling,
    main,
    outline,
    prose,
    within,
)

KINDS = st.sampled_from(sorted(RegionKind))
TEXTS = st.text(st.sampled_from("ab. \n灯é“"), max_size=60)


@st.composite
def texts_with_regions(draw):
    text = draw(TEXTS)
    places = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(KINDS, places, places), max_size=5))
    return text, [Region(kind, *sorted(span)) for kind, *span in spans]


@given(texts_with_regions())
def test_prose_has_every_offset_where_it_was_and_nothing_of_a_region(given):
    text, regions = given
    inside = {place for one in regions for place in range(one.start, one.end)}

    read = prose(text, regions)

    assert len(read) == len(text)
    for place, (character, left) in enumerate(zip(text, read, strict=True)):
        if place in inside:
            assert left.isspace()
        else:
            assert left == character or (character == "\n" and left == " ")


@given(texts_with_regions(), st.integers(0, 60), st.integers(0, 60))
def test_a_part_of_a_text_has_the_regions_of_that_part(given, one, other):
    text, regions = given
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    inside = {place for region in regions for place in range(region.start, region.end)}

    found = list(within(regions, start, end))

    places = {place for region in found for place in range(region.start, region.end)}
    assert places == {place - start for place in inside if start <= place < end}


@given(texts_with_regions())
def test_regions_are_the_same_after_they_were_written(given):
    _, regions = given

    assert from_json(as_json(regions)) == regions


def test_the_level_of_a_heading_is_written_with_it():
    regions = [Region(RegionKind.HEADING, 0, 4, 2), Region(RegionKind.CODE, 5, 9)]

    assert as_json(regions) == [["heading", 0, 4, 2], ["code", 5, 9]]
    assert from_json(as_json(regions)) == regions


@pytest.mark.parametrize("rows", [[["nonsense", 0, 4]], [["code"]], [["code", 0, 4, 1, 1]]])
def test_what_is_no_region_is_refused(rows):
    with pytest.raises((ValueError, TypeError)):
        from_json(rows)


def test_kinds_to_keep_are_kept():
    text = "Tides\nVoar: 3 m\nIt rose."
    regions = [Region(RegionKind.HEADING, 0, 5, 1), Region(RegionKind.TABLE, 6, 15)]

    assert prose(text, regions, [RegionKind.TABLE]) == "     \nVoar: 3 m\nIt rose."


def test_a_sentence_is_whole_again_where_furniture_stood_in_it():
    text = "The lamp had\n\nKeeper's Manual\n12\n\nburned all night."
    regions = [Region(RegionKind.RUNNING, 14, 32)]

    assert (
        " ".join(prose(text, regions).split(" ")).split()
        == "The lamp had burned all night.".split()
    )
    assert "\n" not in prose(text, regions)


def test_a_new_sentence_behind_furniture_begins_on_a_line_of_its_own():
    text = "The lamp burned.\n\n12\n\nIt went out."

    assert "\n" in prose(text, [Region(RegionKind.RUNNING, 18, 20)])


def test_code_between_two_halves_of_a_sentence_joins_nothing():
    text = "You can type\n\nlamp on\n\nor wait."

    assert prose(text, [Region(RegionKind.CODE, 14, 21)]).count("\n") == 4


@pytest.mark.parametrize(
    "text",
    [
        "* Ability to label issues\n* Ability to close issues",
        "* A lens\n  from Paris\n* A lamp",
        "- Apache 2.2;\n- GNOME 3.4 (neu);\n- PHP 5.4.",
        "(a) passport;\n(b) visa (if any);\n(ii) photo.",
        "Whoever keeps the light may\nreturn at dawn.",
        "In a storm nobody should\nuse the lower stairs of the tower.",
        "The board decides in private,\npublic notices follow, and then we\nlet everybody know.",
    ],
)
def test_lists_and_wrapped_lines_are_no_code(text):
    assert not is_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "/*\n * Lights the lamp.\n * Waits for oil, then lights it again.\n */",
        "import os\nfrom pathlib import Path",
        "def light(lamp):\n    return lamp",
        "let lamp = 1\nconst oil = 2",
        "for (;;) {\n  light();\n}",
    ],
)
def test_code_is_told_from_prose(text):
    assert is_code(text)


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
