from __future__ import annotations

import time

from hypothesis import given, strategies as st

from ingestion.documents import reader
from ingestion.documents.reader import blocks
from ingestion.documents.reader.blocks import Block
from tests.patience import PATIENCE

MARKDOWN = """# The Trust

*Written for* new **trustees** by [Freya](freya.md).

## People

| Name | Role |
| --- | --- |
| Ada | Director |

- first
- second
  goes on

> a quote

```
code # not a heading
```
"""


def source(
    text: str, *, headings: list[list[object]] | None = None, is_markdown: bool = False
) -> reader.Source:
    return reader.Source(text, headings or [], [], is_markdown=is_markdown)


def markdown() -> reader.Source:
    people = MARKDOWN.index("## People")
    return source(MARKDOWN, headings=[[1, "The Trust", 0], [2, "People", people]], is_markdown=True)


def shown(block: Block) -> str:
    return "".join(piece.text for piece in block.pieces)


def marked(found: reader.LaidOutText) -> str:
    pieces = [piece for block in found.blocks for piece in block.pieces]
    pieces += [p for block in found.blocks for row in block.rows for cell in row for p in cell]
    return "".join(piece.text for piece in pieces if piece.is_marked)


def test_every_row_of_a_table_file_is_a_record():
    found = reader.read(reader.Source("a: 1\nb: 2\n", [], [], is_records=True))

    assert [(b.kind, shown(b)) for b in found.blocks] == [("record", "a: 1"), ("record", "b: 2")]


def test_blank_lines_divide_paragraphs_and_headings_stand_alone():
    text = "Title\nfirst\nstill first\n\nsecond"

    found = reader.read(source(text, headings=[[1, "Title", 0]]))

    assert [(b.kind, shown(b)) for b in found.blocks] == [
        ("heading", "Title"),
        ("paragraph", "first\nstill first"),
        ("paragraph", "second"),
    ]


def test_markdown_is_shown_without_its_marks():
    found = reader.read(markdown())

    kinds = [block.kind for block in found.blocks]
    assert kinds == [
        *("heading", "paragraph", "heading", "table"),
        *("entry", "entry", "quote", "code"),
    ]
    assert shown(found.blocks[5]) == "second\n  goes on"
    assert shown(found.blocks[0]) == "The Trust"
    assert shown(found.blocks[1]) == "Written for new trustees by Freya."
    assert [piece.style for piece in found.blocks[1].pieces] == ["em", "", "strong", "", "", ""]


def test_a_table_has_cells_and_no_divider_row():
    table = next(block for block in reader.read(markdown()).blocks if block.kind == "table")

    rows = [["".join(piece.text for piece in cell) for cell in row] for row in table.rows]

    assert rows == [["Name", "Role"], ["Ada", "Director"]]


def test_exactly_the_cited_characters_are_marked():
    text = "One sentence. The cited one. Another."
    start = text.index("The cited")

    found = reader.read(source(text), span=(start, start + 14))

    assert marked(found) == "The cited one."


def test_a_span_over_emphasis_marks_the_words_and_not_the_marks():
    start = MARKDOWN.index("*Written")

    found = reader.read(markdown(), span=(start, start + len("*Written for* new **trustees**")))

    assert marked(found) == "Written for new trustees"


def test_a_span_over_two_paragraphs_marks_both():
    found = reader.read(source("abc\n\ndef"), span=(1, 7))

    assert marked(found) == "bcde"


def test_a_span_that_is_not_in_the_text_marks_nothing_and_says_so():
    for span in ((5, 50), (3, 3), (-1, 2), (3, 4)):
        found = reader.read(source("abc def"), span=span)

        assert found.is_lost
        assert marked(found) == ""


def test_the_first_block_of_every_page_names_it():
    pages = [[1, 0, 3], [2, 5, 8]]

    found = reader.read(reader.Source("abc\n\ndef", [], pages))

    assert [block.page for block in found.blocks] == [1, 2]


def test_a_document_of_one_page_names_no_pages():
    found = reader.read(reader.Source("abc\n\ndef", [], [[1, 0, 8]]))

    assert [block.page for block in found.blocks] == [None, None]


def test_a_long_text_is_shown_in_stretches_that_reach_all_of_it():
    text = "".join(f"Line {number}.\n" for number in range(20_000))

    begin: int | None = 0
    seen = ""
    while begin is not None:
        window = reader.read(source(text), begin=begin, length=30_000).window
        seen += text[window.start : window.end]
        begin = window.later

    assert seen == text


def test_the_stretch_around_a_span_holds_all_of_it():
    text = "word " * 100_000

    found = reader.read(source(text), span=(250_000, 250_900), length=6_000)

    assert marked(found) == text[250_000:250_900]
    assert found.window.earlier is not None
    assert found.window.later is not None


def test_one_line_of_five_megabytes_is_shown_in_stretches():
    found = reader.read(source("x" * 5_000_000))

    assert found.window.end - found.window.start <= 61_000


def test_hostile_markdown_is_laid_out_in_the_end():
    text = "*" * 30_000 + "\n\n" + "[" * 15_000 + "\n\n" + "**a" * 5_000 + "\n\n" + "_a" * 9_000

    begun = time.monotonic()
    reader.read(source(text, is_markdown=True))

    assert time.monotonic() - begun < PATIENCE


def test_the_outline_counts_depth_from_the_shallowest_heading():
    found = reader.read(source("A\nB\nC", headings=[[2, "A", 0], [3, "B", 2], [2, "C", 4]]))

    assert [(entry.depth, entry.title) for entry in found.outline] == [(1, "A"), (2, "B"), (1, "C")]


def test_ten_thousand_headings_give_a_short_outline():
    text = "".join(f"H{number}\n" for number in range(10_000))
    headings: list[list[object]] = [[1, "H", at] for at in range(0, 50_000, 5)]

    assert len(reader.read(source(text, headings=headings)).outline) == reader.MOST_HEADINGS


@given(
    text=st.text(alphabet="ab*_`#>|-[]()\\ \n1.", max_size=80),
    is_markdown=st.booleans(),
    bounds=st.tuples(st.integers(0, 80), st.integers(0, 80)),
)
def test_every_piece_stands_where_it_says(text, is_markdown, bounds):
    span = (min(bounds), max(bounds))

    found = reader.read(source(text, is_markdown=is_markdown), span=span)

    pieces = [piece for block in found.blocks for piece in block.pieces]
    pieces += [p for block in found.blocks for row in block.rows for cell in row for p in cell]
    for piece in pieces:
        visible = piece.text.removesuffix("\n")
        assert text[piece.start : piece.start + len(visible)] == visible
        assert not piece.is_marked or span[0] <= piece.start <= piece.end <= span[1]


def test_a_quotation_loses_half_an_emphasis_and_keeps_a_product():
    assert blocks.plain("*Merrow Sound, at 2 * 3") == "Merrow Sound, at 2 * 3"
    assert blocks.plain("** 双方约定") == " 双方约定"
    assert blocks.plain("He left. - Lights, led by Ada") == "He left. Lights, led by Ada"


@given(st.text(max_size=60))
def test_plain_text_shows_every_character_but_white_space(text):
    found = reader.read(source(text))

    shown_text = "".join(shown(block) for block in found.blocks)
    assert shown_text.split() == text.split()


CODE = "int main() {\n\n    return 0;\n}"


def test_code_is_kept_as_it_stands_and_the_prose_around_it_is_not_touched():
    text = f"So it begins:\n{CODE}\nThat is all.\n\nReally."
    start = text.index(CODE)
    span = (start, start + len(CODE))

    found = reader.read(reader.Source(text, [], [], code=[span]), span=span)

    assert [(block.kind, shown(block).strip("\n")) for block in found.blocks] == [
        ("paragraph", "So it begins:"),
        ("code", CODE),
        ("paragraph", "That is all."),
        ("paragraph", "Really."),
    ]
    assert marked(found) == CODE


def test_the_indent_of_the_first_line_of_code_is_kept():
    text = "Type:\n\n    lamp on\n    lamp off\n\nThen wait."
    span = (text.index("lamp on"), text.index("off") + 3)

    found = reader.read(reader.Source(text, [], [], code=[span]))

    assert [shown(b) for b in found.blocks if b.kind == "code"] == ["    lamp on\n    lamp off\n"]


@given(st.lists(st.sampled_from(["a", "", "  b", "c d"]), max_size=12), st.data())
def test_every_line_is_shown_once_wherever_code_stands(lines, data):
    text = "\n".join(lines)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    code = list(zip(cuts[::2], cuts[1::2], strict=False))

    found = reader.read(reader.Source(text, [], [], code=code))

    assert "\n".join(shown(b) for b in found.blocks).split() == text.split()
    for block in found.blocks:
        assert shown(block).rstrip("\n") in text
