"""Runs within a paragraph: emphasis is shown without its marks, and cuts lose nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.documents.reader.blocks import LONGEST, Piece, mark_pieces, pieces_of, plain

MARKED_UP = st.text(alphabet="ab *_`[]()\\!.灯", max_size=60)
SPANS = st.tuples(st.integers(0, 90), st.integers(0, 90)).map(lambda pair: (min(pair), max(pair)))


def runs(text: str) -> list[tuple[str, str]]:
    return [(piece.text, piece.style) for piece in pieces_of([(0, text)], is_markdown=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *b* c", [("a ", ""), ("b", "em"), (" c", "")]),
        ("a _b_ c", [("a ", ""), ("b", "em"), (" c", "")]),
        ("**b**", [("b", "strong")]),
        ("__b__", [("b", "strong")]),
        ("`a *b*`", [("a *b*", "code")]),
        ("[the lens](lens.md)", [("the lens", "")]),
        ("![a picture][one]", [("a picture", "")]),
        (r"\*not\*", [("*", ""), ("not", ""), ("*", "")]),
        ("**a *b* c**", [("a ", "strong"), ("b", "strong"), (" c", "strong")]),
    ],
)
def test_marks_become_styles(text, expected):
    assert runs(text) == expected


@pytest.mark.parametrize(
    "text",
    ["2 * 3 * 4", "snake_case_name", "a ** b", "[ ] open", "`", "*", "**", "a[1] (b)", "\\a"],
)
def test_what_only_looks_like_a_mark_is_text(text):
    assert runs(text) == [(text, "")]


def test_without_markdown_every_mark_is_text():
    assert pieces_of([(7, "a *b*")], is_markdown=False) == (Piece(7, "a *b*"),)


def test_lines_are_joined_by_line_breaks_and_the_last_has_none():
    pieces = pieces_of([(0, "one"), (10, "two"), (20, "three")], is_markdown=False)

    assert [(piece.start, piece.text) for piece in pieces] == [
        (0, "one\n"),
        (10, "two\n"),
        (20, "three"),
    ]


def test_emphasis_is_not_looked_for_in_an_endless_paragraph():
    longest = "*a* " * (LONGEST // 4)

    assert pieces_of([(0, longest)], is_markdown=True)[0].style == "em"
    assert pieces_of([(0, longest + "*")], is_markdown=True) == (Piece(0, longest + "*"),)


def test_a_piece_knows_where_it_ends():
    assert Piece(5, "abc").end == 8


@pytest.mark.parametrize(
    ("span", "texts", "marks"),
    [
        ((0, 6), ["abcdef"], [True]),
        ((0, 2), ["ab", "cdef"], [True, False]),
        ((4, 9), ["abcd", "ef"], [False, True]),
        ((2, 3), ["ab", "c", "def"], [False, True, False]),
        ((6, 9), ["abcdef"], [False]),
        ((3, 3), ["abcdef"], [False]),
    ],
)
def test_a_piece_is_cut_exactly_where_a_span_begins_and_ends(span, texts, marks):
    parts = mark_pieces([Piece(0, "abcdef", "em")], span)

    assert [part.text for part in parts] == texts
    assert [part.is_marked for part in parts] == marks
    assert {part.style for part in parts} == {"em"}


@given(MARKED_UP, st.integers(0, 20))
def test_every_run_is_a_part_of_the_line_in_its_order(text, offset):
    end = offset
    for piece in pieces_of([(offset, text)], is_markdown=True):
        assert piece.start >= end
        assert text[piece.start - offset : piece.end - offset] == piece.text
        end = piece.end

    assert end <= offset + len(text)


@given(MARKED_UP)
def test_only_marks_and_addresses_are_hidden(text):
    shown = {
        at
        for piece in pieces_of([(0, text)], is_markdown=True)
        for at in range(piece.start, piece.end)
    }
    hidden = "".join(char for at, char in enumerate(text) if at not in shown)

    if "]" not in text:
        assert not set(hidden) - set("*_`\\")


def test_a_link_without_words_shows_nothing():
    assert pieces_of([(0, "[]()")], is_markdown=True) == ()
    assert plain("The [](skarrow.md)light") == "The light"


@given(MARKED_UP, SPANS)
def test_marking_changes_no_character_and_marks_exactly_the_span(text, span):
    pieces = pieces_of([(0, text)], is_markdown=True)
    marked = mark_pieces(pieces, span)

    assert "".join(part.text for part in marked) == "".join(piece.text for piece in pieces)
    assert all(part.text for part in marked)
    for part in marked:
        inside = span[0] <= part.start and part.end <= span[1]
        assert part.is_marked == inside


@given(MARKED_UP, SPANS)
def test_marking_the_same_span_twice_is_marking_it_once(text, span):
    once = mark_pieces(pieces_of([(0, text)], is_markdown=True), span)

    assert mark_pieces(once, span) == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# The Trust", "The Trust"),
        ("> He said `lit`", "He said lit"),
        ("- one\n- two", "one\ntwo"),
        ("half of **an emphasis", "half of an emphasis"),
        ("half* of it", "half of it"),
        ("5 * 6", "5 * 6"),
        ("C# is a language", "C# is a language"),
        ("", ""),
    ],
)
def test_a_quotation_is_shown_without_marks(text, shown):
    assert plain(text) == shown


@given(st.text(alphabet="abc .,灯塔", max_size=60))
def test_a_quotation_without_marks_is_left_as_it_is(text):
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| Ada Lind | Keeper | 2022 |", "Ada Lind · Keeper · 2022"),
        ("| Name | Role |\n| --- | :-: |\n| Ada | Keeper |", "Name · Role · Ada · Keeper"),
        ("Lind | Keeper |\n| Per Holm | Skip", "Lind · Keeper · Per Holm · Skip"),
        ("Run `a || b` or c", "Run a || b or c"),
        ("x|y|z and |w|", "x|y|z and |w|"),
        ("Either | or", "Either | or"),
    ],
)
def test_the_cells_of_a_table_stand_in_a_row_without_bars(text, shown):
    assert plain(text) == shown
