"""How pdfium's lines become paragraphs, and where each character comes from."""

from __future__ import annotations

import itertools

import pypdfium2
import pytest

from ingestion.parsers.pdf_layout import joint as joint_of, read_page
from ingestion.parsers.pdf_lines import PageLines, PdfLine
from tests.ingestion.parsers.conftest import page_boxes
from tests.ingestion.parsers.samples import make_pdf, paragraph, text_page

WIDE = {round(72 / 12) + near: 500.0 for near in (-1, 0, 1)}


def line(text: str, *, y: float, size: float = 12, left: float = 72, right: float = 500) -> PdfLine:
    return PdfLine(0, text, left, right, y, y, size)


def joint(upper: PdfLine, lower: PdfLine, usual: float = 14.4) -> str:
    return joint_of(upper, lower, usual, WIDE)


def test_running_text_is_joined_by_a_space():
    assert joint(line("the boat had", y=700), line("waited", y=685.6)) == " "


def test_chinese_is_joined_by_nothing():
    assert joint(line("灯塔的守", y=700), line("护人", y=685.6)) == ""


def test_a_wider_gap_parts_paragraphs():
    assert joint(line("It ended.", y=700), line("It began", y=676)) == "\n\n"


def test_another_size_parts_paragraphs():
    assert joint(line("Heading", y=700, size=16), line("text", y=682)) == "\n\n"


def test_an_indented_line_after_a_full_stop_opens_a_paragraph():
    assert joint(line("It ended.", y=700), line("It began", y=685.6, left=90)) == "\n\n"


def test_the_second_line_of_a_list_entry_belongs_to_it():
    assert joint(line("• a long entry", y=700), line("goes on", y=685.6, left=84)) == " "


@pytest.mark.parametrize("entry", ["• next", "- next", "2. next", "(b) next", "2.4 Next"])
def test_a_list_entry_gets_a_line_of_its_own(entry):
    assert joint(line("the entry before", y=700), line(entry, y=685.6)) == "\n"


def test_a_short_line_ends_where_it_ends():
    address = line("Old Customs House", y=700, right=180)

    assert joint(address, line("Port Ansgar", y=685.6)) == "\n"
    assert joint(address, line("and so on", y=685.6)) == " "


def test_the_top_of_the_next_column_goes_on_or_begins_anew():
    assert joint(line("the boat had", y=80), line("waited", y=700, left=320)) == " "
    assert joint(line("It ended.", y=80), line("It began", y=700, left=320)) == "\n\n"


def test_words_on_one_row_stay_on_one_row():
    assert joint(line("Total", y=700, right=100), line("186", y=700.5, left=300)) == " "


def page_text(content: bytes):
    document = pypdfium2.PdfDocument(make_pdf([content]))
    page = document[0]
    text_page_ = page.get_textpage()
    result = read_page(PageLines.of(text_page_))
    raw = text_page_.get_text_range()
    document.close()
    return result, raw


CONTENT = text_page(
    (18, 72, 740, "The  gallery   door"),
    *paragraph(
        ["Its hinges were of mild steel, which rusts in salt and temper-", "ate air; nobody knew."],
        top=700,
    ),
    *paragraph(["1. First entry", "2. Second entry"], top=640),
    (12, 72, 560, "Contents . . . . . . . . . . . . . . . . 12"),
)


def test_every_character_knows_where_it_comes_from():
    page, raw = page_text(CONTENT)

    assert len(page.units) == len(page.text)
    for char, unit in zip(page.text, page.units, strict=True):
        if unit >= 0 and char != "…" and not char.isspace():
            assert raw[unit] == char
        if unit < 0:
            assert char in " \n"


def test_units_grow_with_the_text():
    page, _ = page_text(CONTENT)
    known = [unit for unit in page.units if unit >= 0]

    assert all(a <= b for a, b in itertools.pairwise(known))


def test_paragraphs_cover_the_text_in_order():
    page, _ = page_text(CONTENT)

    assert [page.text[one.start : one.end] for one in page.paragraphs] == page.text.split("\n\n")
    assert page.paragraphs[0].size > page.paragraphs[1].size


def test_spaces_are_folded_and_leaders_shortened():
    page, _ = page_text(CONTENT)

    assert page.text == (
        "The gallery door\n\n"
        "Its hinges were of mild steel, which rusts in salt and temperate air; nobody knew.\n\n"
        "1. First entry\n2. Second entry\n\n"
        "Contents … 12"
    )


def test_each_words_box_lies_on_its_own_line(write):
    rows = [f"alpha{n} beta{n} gamma{n}" for n in range(10)]
    data = make_pdf([text_page(*paragraph(rows, top=700))])
    document = pypdfium2.PdfDocument(data)
    text = read_page(PageLines.of(document[0].get_textpage())).text
    document.close()
    path = write(data)

    for number, row in enumerate(rows):
        base = (800 - (700 - 14.4 * number)) / 800
        lefts = []
        for word in row.split():
            start = text.index(word)
            ((x0, y0, x1, y1),) = page_boxes(path, 1, len(text), start, start + len(word))
            assert y0 < base <= y1 + 0.001
            assert y1 - y0 < 14.4 / 800
            lefts.append((x0, x1))
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(lefts))


def test_a_page_without_text_is_empty():
    page, _ = page_text(b"")

    assert page.text == ""
    assert page.paragraphs == ()


def test_the_lines_of_a_large_heading_belong_together():
    page, _ = page_text(
        text_page(
            (24, 72, 740, "Keeping the light of Skarrow and the"),
            (24, 72, 710, "boats below it"),
            *paragraph(["The lamp is trimmed at dusk,", "and again at midnight."], top=670),
        )
    )

    assert page.text.startswith("Keeping the light of Skarrow and the boats below it\n\nThe lamp")


def test_terms_above_indented_definitions_are_told_apart():
    page, _ = page_text(
        text_page(
            *paragraph(
                ["The programs that come with it are these, each with what it does:"], top=740
            ),
            (12, 72, 710, "btedit"),
            (12, 92, 690, "An editor for databases that are broken, for those who know."),
            (12, 72, 666, "dbverify"),
            (12, 92, 646, "It looks whether a database is sound, and mends what it can."),
        )
    )

    assert [page.text[one.start : one.end] for one in page.paragraphs if one.is_term] == [
        "btedit",
        "dbverify",
    ]
    assert "\n\nbtedit\nAn editor" in page.text
    assert "know.\n\ndbverify\nIt looks" in page.text


def test_one_short_line_above_an_indented_paragraph_is_no_term():
    page, _ = page_text(
        text_page(
            (12, 72, 710, "Yours truly"),
            (12, 92, 690, "The keepers of the light, and all of their helpers, in spring."),
        )
    )

    assert not any(one.is_term for one in page.paragraphs)
