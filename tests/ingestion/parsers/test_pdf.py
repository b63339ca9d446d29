"""PDF files, read by pdfium itself."""

from __future__ import annotations

import struct

import pytest

from ingestion.parsers.document import Limits
from kb_project.errors import ParseError
from kb_project.text.regions import RegionKind
from tests.ingestion.parsers.conftest import headed, of_kind, page_boxes, render_page
from tests.ingestion.parsers.samples import Line, make_pdf, paragraph, text_page

PROSE = (
    "The lens was taken down in five days and carried to the harbour",
    "in wooden frames, where the boat had waited since the morning of",
    "the first of May. Nobody spoke while it was lowered.",
)
BLANK = b""


def page_of(*texts: str) -> bytes:
    return text_page(*paragraph(texts, top=700))


def test_lines_of_a_paragraph_are_joined_and_paragraphs_stand_apart(read):
    content = text_page(*paragraph(PROSE, top=700), *paragraph(PROSE, top=620))

    document = read(make_pdf([content]), "report.pdf")

    joined = " ".join(PROSE)
    assert document.text == f"{joined}\n\n{joined}"
    assert document.media_type == "application/pdf"


def test_every_page_has_its_span_of_the_text(read):
    document = read(make_pdf([page_of("First page."), page_of("Second page.")]), "two.pdf")

    assert [document.text[page.start : page.end] for page in document.pages] == [
        "First page.",
        "Second page.",
    ]


def test_a_word_cut_at_the_end_of_a_line_is_joined_again(read):
    page = page_of("The keeper wrote the temper-", "ature of the sea into the book.")

    assert "the temperature of the sea" in read(make_pdf([page]), "log.pdf").text


def test_a_hyphen_that_belongs_to_the_word_stays(read):
    page = page_of("Cases of COVID-", "19 rose; the well-known and well-", "known report said so.")

    text = read(make_pdf([page]), "log.pdf").text

    assert "COVID-19" in text
    assert text.count("well-known") == 2


def test_bookmarks_become_headings_at_their_words(read):
    first = text_page((18, 72, 720, "Opening"), *paragraph(PROSE, top=680))
    second = text_page((18, 72, 720, "The Repair"), *paragraph(PROSE, top=680))

    document = read(
        make_pdf([first, second], bookmarks=[("Opening", 0), ("The repair", 1)]), "r.pdf"
    )

    starts = [heading.start for heading in document.headings]
    assert [heading.title for heading in document.headings] == ["Opening", "The repair"]
    assert starts == [document.pages[0].start, document.pages[1].start]


def test_below_bookmarks_of_one_level_large_letters_are_headings(read):
    body = [PROSE[0]] * 12
    running = (9, 72, 60, "Chapter 1 1")
    first = text_page(
        running,
        (20, 72, 760, "Chapter 1: The lens"),
        *paragraph(body, top=690),
        (15, 72, 480, "Oil"),
    )
    second = text_page((20, 72, 760, "Fog"), (15, 72, 720, "Horns"), *paragraph(body, top=690))

    document = read(make_pdf([first, second], bookmarks=[("Chapter 1", 0), ("Fog", 1)]), "r.pdf")

    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "Chapter 1: The lens"),
        (2, "Oil"),
        (1, "Fog"),
        (2, "Horns"),
    ]


def test_without_bookmarks_large_letters_are_headings(read):
    body = [PROSE[0]] * 12
    content = text_page(
        (20, 72, 760, "Annual report"),
        (15, 72, 720, "1. The lens"),
        *paragraph(body, top=690),
        (15, 72, 480, "2. The boats"),
        *paragraph(body, top=450),
    )

    document = read(make_pdf([content]), "report.pdf")

    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "Annual report"),
        (2, "1. The lens"),
        (2, "2. The boats"),
    ]
    assert len(headed(document)) == 3
    assert document.title == "Annual report"


def test_title_and_date_come_from_the_file(read):
    document = read(make_pdf([page_of("Text.")], title="Budget for 2025"), "b.pdf")

    assert document.title == "Budget for 2025"
    assert document.metadata["created"] == "2024-03-14"
    assert document.metadata["pages"] == "1"


def test_a_title_that_a_program_wrote_is_not_believed(read):
    data = make_pdf([page_of("Text.")], title="Microsoft Word - minutes.doc")

    assert read(data, "Board minutes.pdf").title == "Board minutes"


@pytest.mark.parametrize("title", ["LR-2025-3 | Harbour", "LR-2025-3", "untitled", "(anonymous)"])
def test_a_title_that_is_the_running_head_or_the_file_is_none_above_a_large_heading(read, title):
    content = text_page(
        (8, 72, 780, "LR-2025-3 | Harbour, page 1"),
        (20, 72, 740, "The water of the harbour"),
        *paragraph(PROSE * 4, top=690),
    )

    assert read(make_pdf([content], title=title), "LR-2025-3.pdf").title == (
        "The water of the harbour"
    )


def test_a_title_in_small_letters_stays_where_no_large_heading_is(read):
    content = text_page((8, 72, 780, "Harbour log"), *paragraph(PROSE * 4, top=690))

    assert read(make_pdf([content], title="Harbour log"), "scan-7.pdf").title == "Harbour log"


def two_pages(*edges: Line) -> list[bytes]:
    return [text_page(*edges, *paragraph([*PROSE, end], top=700)) for end in ("Once.", "Twice.")]


@pytest.mark.parametrize(
    "edges",
    [
        [(8, 72, 780, "LR-2025-3"), (8, 72, 30, "Harbour Office")],
        [(12, 72, 780, "LR-2025-3"), (12, 72, 30, "Harbour Office")],
        [(8, 72, 720, "LR-2025-3"), (8, 72, 640, "Harbour Office")],
    ],
    ids=["small and apart", "apart", "small"],
)
def test_lines_at_the_edges_of_both_of_two_pages_run(read, edges):
    document = read(make_pdf(two_pages(*edges)), "r.pdf")

    assert len(of_kind(document, RegionKind.RUNNING)) == 2
    assert " ".join(of_kind(document, RegionKind.RUNNING)).split() == [
        "LR-2025-3", "Harbour", "Office", "LR-2025-3", "Harbour", "Office",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "edges",
    [[(18, 72, 760, "Order form")], [(12, 72, 714.4, "Order form")]],
    ids=["large", "a line of the text"],
)
def test_what_both_of_two_pages_say_in_the_letters_and_place_of_content_stays(read, edges):
    document = read(make_pdf(two_pages(*edges)), "r.pdf")

    assert of_kind(document, RegionKind.RUNNING) == []


def test_page_numbers_of_two_pages_run(read):
    pages = [
        text_page(*paragraph(PROSE, top=700), (12, 300, 30, f"Page {number}")) for number in (1, 2)
    ]

    assert of_kind(read(make_pdf(pages), "r.pdf"), RegionKind.RUNNING) == ["Page 1", "Page 2"]


def test_boxes_lie_on_a_table_that_goes_on_from_the_page_before(write, read):
    names, row = ["Tag", "Range"], ["TT-141", "0 to 120"]
    pages = [
        text_page(*((12, x, y, cell) for y, cells in ((700, names), (686, row))
                    for x, cell in zip((72, 300), cells, strict=True)))
        for _ in range(2)
    ]  # fmt: skip
    data = make_pdf(pages)
    document = read(data, "r.pdf")
    page = document.pages[1]
    start = document.text.index("0 to 120", page.start) - page.start

    ((x0, y0, _, y1),) = page_boxes(write(data), 2, page.end - page.start, start, start + 8)

    assert "Tag: TT-141; Range: 0 to 120" in document.text
    assert x0 == pytest.approx(0.5, abs=0.01)
    assert y0 < 114 / 800 < y1 + 0.002


def test_pages_without_text_are_named(read):
    pages = [page_of("Text."), BLANK, page_of("More."), BLANK, BLANK]

    document = read(make_pdf(pages), "mixed.pdf")

    assert document.warnings == ("Pages 2, 4–5 have no text (scanned images?).",)
    assert len(document.pages) == 5


def test_a_scan_without_text_is_refused(refuse):
    error = refuse(make_pdf([BLANK, BLANK]), "scan.pdf")

    assert error.code == "pdf_no_text"
    assert "all 2 pages" in error.happened
    assert "OCR" in error.next_step


def test_a_password_is_asked_for_in_vain(refuse):
    error = refuse(make_pdf([page_of("Secret.")], locked_with="sesame"), "secret.pdf")

    assert error.code == "pdf_password"


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"nonsense " * 500])
def test_a_corrupt_file_is_refused(refuse, data):
    assert refuse(data, "broken.pdf").code == "pdf_corrupt"


def test_a_cut_off_file_is_refused_or_read_but_never_crashes(refuse):
    whole = make_pdf([page_of("Text.")])

    assert refuse(whole[: len(whole) // 8], "cut.pdf").code == "pdf_corrupt"


def test_too_many_pages_are_refused(refuse):
    error = refuse(make_pdf([page_of("Text.")] * 4), "long.pdf", Limits(max_pages=3))

    assert error.code == "too_many_pages"


def boxes_for(path, document, words):
    page = document.pages[0]
    start = document.text.index(words) - page.start
    return page_boxes(path, 1, page.end - page.start, start, start + len(words))


def test_boxes_lie_on_the_words(write, read):
    data = make_pdf([text_page(*paragraph(PROSE, top=700))])
    document = read(data, "r.pdf")

    boxes = boxes_for(write(data), document, "the harbour in wooden frames")

    # The page is 600 by 800 points; the first line's base is at 700, the second's at 685.6.
    (first, second) = boxes
    assert first[1] < 100 / 800 < first[3] + 0.002
    assert second[1] < 114.4 / 800 < second[3] + 0.002
    assert first[0] > 0.4
    assert second[0] == pytest.approx(72 / 600, abs=0.01)
    assert all(0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1 for x0, y0, x1, y1 in boxes)


def test_boxes_follow_a_rotated_page(write, read):
    data = make_pdf([page_of("Sideways words.")], rotate=90)
    document = read(data, "r.pdf")

    ((x0, y0, x1, y1),) = boxes_for(write(data), document, "Sideways")

    # Turned clockwise, the line runs from top to bottom, near the right edge.
    assert y1 - y0 > x1 - x0
    assert x0 > 0.8


def test_boxes_find_a_word_after_a_joined_one(write, read):
    page = text_page(*paragraph(["A temper-", "ature and then more"], top=700))
    data = make_pdf([page])
    document = read(data, "r.pdf")

    ((x0, y0, _, _),) = boxes_for(write(data), document, "more")

    assert x0 > 0.2
    assert y0 > 100 / 800


def test_an_empty_passage_has_no_boxes(write):
    assert page_boxes(write(make_pdf([page_of("Text.")])), 1, 5, 2, 2) == []


def test_a_page_that_was_read_in_another_way_has_no_boxes(write):
    path = write(make_pdf([page_of("Text.")]))

    assert page_boxes(path, 1, 5, 0, 4)
    assert page_boxes(path, 1, 6, 0, 4) == []


def test_a_page_is_drawn_in_the_width_asked_for(write):
    picture = render_page(write(make_pdf([page_of("Text.")])), 1, 300)

    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (300, 400)


def test_a_picture_is_never_wider_than_the_limit(write):
    picture = render_page(write(make_pdf([page_of("Text.")])), 1, 10**9)

    assert struct.unpack(">I", picture[16:20])[0] <= 4000


def test_a_page_that_is_not_there_is_an_error(write):
    with pytest.raises(ParseError) as caught:
        render_page(write(make_pdf([page_of("Text.")])), 2, 100)

    assert caught.value.code == "no_such_page"
