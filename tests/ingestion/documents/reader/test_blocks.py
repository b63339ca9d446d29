"""Blocks of a document: each line lands in one block, and every character keeps its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from ingestion.documents.reader.blocks import (
    Block,
    Grouping,
    Piece,
    blocks_of,
    markdown_groups,
    plain_groups,
    record_groups,
)

LINES = st.lists(
    st.sampled_from(
        [
            "",
            " ",
            "plain words",
            "- entry",
            "  1. nested",
            "  continued",
            "> quote",
            "| a | b |",
            "|---|---|",
            "```",
            "~~~",
            "***",
            "===",
            "**bold** and `code`",
            "# Heading",
            "灯塔",
        ]
    ),
    max_size=14,
)
GROUPINGS = st.sampled_from([plain_groups, record_groups, markdown_groups])


def laid_out(
    text: str,
    *,
    groups: Grouping = markdown_groups,
    offset: int = 0,
    headings: dict[int, int] | None = None,
    pages: list[list[int]] | None = None,
    span: tuple[int, int] | None = None,
) -> list[Block]:
    return list(
        blocks_of(
            text,
            offset=offset,
            headings=headings or {},
            pages=pages or [],
            span=span,
            groups=groups,
        )
    )


def pieces_in(blocks: list[Block]) -> Iterator[Piece]:
    for block in blocks:
        yield from block.pieces
        for row in block.rows:
            for cell in row:
                yield from cell


def shown(block: Block) -> str:
    return "".join(piece.text for piece in block.pieces)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a\nb\n\nc", ["paragraph", "paragraph"]),
        ("- a\n- b", ["entry", "entry"]),
        ("- a\n  more\nafter", ["entry", "paragraph"]),
        ("> a\n> b\nafter", ["quote", "paragraph"]),
        ("| a | b |\n| c | d |\nafter", ["table", "paragraph"]),
        ("```\na\n\nb\n```\nafter", ["code", "paragraph"]),
        ("a\n***\nb", ["paragraph", "paragraph"]),
        ("a\n```\nb", ["paragraph", "code"]),
        ("", []),
        ("\n \n\t\n", []),
    ],
)
def test_markdown_is_cut_into_its_blocks(text, kinds):
    assert [block.kind for block in laid_out(text)] == kinds


def test_a_fence_is_closed_only_by_its_own_kind():
    (block,) = laid_out("```\na\n~~~\nb\n```")

    assert (block.kind, shown(block)) == ("code", "a\n~~~\nb\n")


def test_code_is_shown_as_it_stands():
    (block,) = laid_out("```python\n  if **a**:\n- b\n```")

    assert shown(block) == "  if **a**:\n- b\n"
    assert {piece.style for piece in block.pieces} == {""}


@pytest.mark.parametrize(
    ("entry", "depth", "label"),
    [
        ("- a", 0, ""),
        ("* a", 0, ""),
        ("12. a", 0, "12."),
        ("3) a", 0, "3)"),
        ("  - a", 1, ""),
        ("    1. a", 2, "1."),
        ("\t- a", 2, ""),
    ],
)
def test_an_entry_knows_its_depth_and_its_number(entry, depth, label):
    (block,) = laid_out(entry)

    assert (block.kind, block.depth, block.label, shown(block)) == ("entry", depth, label, "a")


def test_a_heading_is_shown_without_its_marks_at_the_depth_it_was_given():
    blocks = laid_out("## Oil ##\ntext", headings={0: 2})

    assert [(b.kind, b.depth, shown(b)) for b in blocks] == [
        ("heading", 2, "Oil"),
        ("paragraph", 0, "text"),
    ]
    assert blocks[0].anchor == "h-0"
    assert blocks[0].pieces[0].start == 3


def test_an_underlined_heading_does_not_show_its_line():
    blocks = laid_out("Oil\n===\ntext", headings={0: 1})

    assert [shown(block) for block in blocks] == ["Oil", "text"]


def test_a_line_that_no_reader_called_a_heading_is_none():
    assert [block.kind for block in laid_out("# Oil")] == ["paragraph"]


def test_cells_know_where_they_stand_and_an_escaped_bar_is_no_border():
    text = r"| a\|b |  c |"
    (block,) = laid_out(text)

    cells = [[(piece.start, piece.text) for piece in cell] for row in block.rows for cell in row]
    assert ["".join(part for _, part in cell) for cell in cells] == ["a|b", "c"]
    assert cells[1] == [(text.index("c"), "c")]


def test_plain_text_keeps_every_mark():
    (block,) = laid_out("- *a*\n| b |", groups=plain_groups)

    assert (block.kind, shown(block)) == ("paragraph", "- *a*\n| b |")


def test_records_stand_alone_and_blank_lines_are_none():
    blocks = laid_out("a: 1\n\nOne\nb: 2", groups=record_groups, headings={6: 1})

    assert [(block.kind, block.start) for block in blocks] == [
        ("record", 0),
        ("heading", 6),
        ("record", 10),
    ]


def test_each_page_is_named_by_the_first_block_that_begins_on_it():
    text = "one\n\ntwo\n\nthree\n\nfour"
    pages = [[1, 0, 3], [2, 5, 15], [3, 17, 21]]

    assert [block.page for block in laid_out(text, pages=pages)] == [1, 2, None, 3]


def test_an_empty_page_gives_way_to_the_page_after_it():
    pages = [[1, 0, 3], [2, 5, 5], [3, 5, 8]]

    assert [block.page for block in laid_out("one\n\ntwo", pages=pages)] == [1, 3]


def test_a_stretch_from_the_middle_of_a_page_does_not_name_that_page():
    pages = [[1, 0, 50], [2, 110, 130]]

    blocks = laid_out("middle\n\nsecond", offset=102, pages=pages)

    assert [block.page for block in blocks] == [None, 2]


def test_offsets_are_those_of_the_document_and_not_of_the_stretch():
    (block,) = laid_out("- an *entry*", offset=1000, span=(1006, 1008))

    assert block.start == 1000
    assert [(p.start, p.text, p.is_marked) for p in block.pieces] == [
        (1002, "an ", False),
        (1006, "en", True),
        (1008, "try", False),
    ]


@given(LINES, GROUPINGS, st.integers(0, 50))
def test_blocks_come_in_order_and_every_character_keeps_its_place(lines, groups, offset):
    text = "\n".join(lines)
    end = offset
    for piece in pieces_in(laid_out(text, groups=groups, offset=offset)):
        visible = piece.text.removesuffix("\n")
        assert piece.start >= end
        assert text[piece.start - offset :].startswith(visible)
        end = piece.start + len(visible)


@given(LINES)
def test_plain_blocks_cover_every_line_that_shows_something(lines):
    text = "\n".join(lines)
    for groups in (plain_groups, record_groups):
        found = "\n".join(shown(block) for block in laid_out(text, groups=groups))
        assert found.split("\n") == [line for line in lines if line.strip()] or not found


@given(LINES, GROUPINGS, st.data())
def test_what_is_marked_is_exactly_what_of_the_span_is_shown(lines, groups, data):
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    plain_pieces = pieces_in(laid_out(text, groups=groups))
    visible = {at for piece in plain_pieces for at in range(piece.start, piece.end)}
    marked = {
        at
        for piece in pieces_in(laid_out(text, groups=groups, span=(start, end)))
        if piece.is_marked
        for at in range(piece.start, piece.end)
    }

    assert marked == visible & set(range(start, end))


@given(LINES, GROUPINGS)
def test_every_heading_that_is_named_is_shown_as_one(lines, groups):
    text = "\n".join(lines)
    at = text.find("# Heading")
    headings = {at: 1} if at >= 0 and (at == 0 or text[at - 1] == "\n") else {}
    fenced = groups is markdown_groups and ("```" in text or "~~~" in text)

    found = [
        b.start for b in laid_out(text, groups=groups, headings=headings) if b.kind == "heading"
    ]

    assert fenced or found == list(headings)
