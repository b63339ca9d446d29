"""Headings in plain text and in Markdown: their offsets, their titles, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers import markdown, plain

PLAIN_LINES = st.lists(
    st.sampled_from(
        ["", "  ", "Chapter 1", "  Part Two", "Notes", "=====", "-----", "It began.", "第一章 灯塔"]
    ),
    max_size=14,
)
MARKDOWN_LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# One",
            "## *Two* ##",
            "Three",
            "===",
            "---",
            "```",
            "- entry",
            "    # code",
            "> # in",
        ]
    ),
    max_size=14,
)


@given(PLAIN_LINES)
def test_a_plain_heading_starts_at_its_title(lines):
    text = "\n".join(lines)
    for level, title, start in plain.find_headings(text):
        assert level in (1, 2)
        assert text[start:].split("\n", 1)[0].strip() == title
        assert not text[:start].rpartition("\n")[2].strip()


@given(PLAIN_LINES)
def test_plain_headings_come_in_order_and_never_twice(lines):
    starts = [start for _, _, start in plain.find_headings("\n".join(lines))]

    assert starts == sorted(set(starts))


@given(MARKDOWN_LINES)
def test_a_markdown_heading_starts_its_line_and_the_line_holds_its_title(lines):
    text = "\n".join(lines)
    for level, title, start in markdown.find_headings(text):
        assert 1 <= level <= 6
        assert start == 0 or text[start - 1] == "\n"
        assert markdown.plain_title(text[start:]).find(title.split()[0]) >= 0


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("Part One", 1),
        ("BOOK IV", 1),
        ("The Volume 2", 1),
        ("第三卷", 1),
        ("Chapter 12: The Light", 2),
        ("stave one", 2),
        ("Appendix B", 2),
        ("第十二章 灯塔", 2),
    ],
)
def test_the_parts_of_a_book_stand_above_its_chapters(line, level):
    assert plain.find_headings(f"{line}\n\nText.") == [(level, line, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "Chapter 1 is long.\n\nText.",
        "Chapter 1\nText without a blank line.",
        "Text before.\nChapter 1\n\nText.",
        "Part one of the plan is done\n\nText.",
        "Chapters\n\nText.",
        f"Chapter 1 {'x' * 100}\n\nText.",
        "A title far longer than its line\n===\n\nText.",
        "===\n\nText.",
    ],
)
def test_a_line_that_only_looks_like_a_heading_is_none(text):
    assert plain.find_headings(text) == []


@pytest.mark.parametrize(("mark", "level"), [("=", 1), ("-", 2), ("~", 2)])
@pytest.mark.parametrize("longer", [0, 3])
def test_an_underline_as_long_as_its_title_makes_a_heading(mark, level, longer):
    text = f"Before.\n\nNotes\n{mark * (5 + longer)}\nText."

    assert plain.find_headings(text) == [(level, "Notes", 9)]
    assert plain.find_headings(text.replace(mark * 5, mark * 9, 1)) == []


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("![chart](a.png) Oil", "chart Oil"),
        ("See [the plan][1]", "See the plan"),
        (r"2 \* 3", "2 * 3"),
        ("~~old~~ new", "old new"),
        ("<b>bold</b>", "bold"),
        ("snake_case_name", "snake_case_name"),
        ("`a_b` and __c__", "a_b and c"),
    ],
)
def test_a_title_loses_its_marks_and_keeps_its_words(source, title):
    assert markdown.plain_title(source) == title


@given(st.text(alphabet="ab -:,[]'\"\n.", max_size=120))
def test_front_matter_never_takes_a_line_that_follows_it(body):
    rest = "\n# Title\n\nText.\n"
    fields, text = markdown.split_front_matter(f"---\nauthor: Ada\n---\n{body}{rest}")

    assert text.endswith(rest.lstrip("\n"))
    assert fields["author"] == "Ada"


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ("title: A Plan\nauthor: 'Ada'", {"title": "A Plan", "author": "Ada"}),
        ("tags: [oil, 'wick']", {"tags": "oil, wick"}),
        ("tags:\n  - oil\n  - wick", {"tags": "oil, wick"}),
        ("Date: 2024-05-01", {"date": "2024-05-01"}),
        ("title: one: two", {"title": "one: two"}),
        ("a: 1\n  nested: 2\nempty:", {"a": "1"}),
    ],
)
def test_simple_fields_of_front_matter_are_understood(header, fields):
    assert markdown.split_front_matter(f"---\n{header}\n---\nText.") == (fields, "Text.")


@pytest.mark.parametrize(
    "text",
    [
        "---\nno fields here\n---\nText.",
        "\n---\na: 1\n---\nText.",
        "---\na: 1\nText without an end.",
        "---\n" + "a: 1\n" * 201 + "---\nText.",
        "Text.",
    ],
)
def test_what_is_not_front_matter_stays_in_the_text(text):
    assert markdown.split_front_matter(text) == ({}, text)
