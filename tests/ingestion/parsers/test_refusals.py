"""Every refusal says what happened, what was kept and what to do, under a code that stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from ingestion.parsers import refusals
from ingestion.parsers.document import is_clean
from ingestion.parsers.formats import FORMATS, Format
from kb_project.errors import ParseError

Refusal = Callable[[str], ParseError]
MIB = 1024 * 1024

REFUSALS: dict[str, Refusal] = {
    "empty_file": refusals.empty_file,
    "no_text": refusals.no_text,
    "too_large": partial(refusals.too_large, size=3 * MIB, limit=2 * MIB),
    "too_long": partial(refusals.too_long, limit=20_000_000),
    "too_many_pages": partial(refusals.too_many_pages, pages=6000, limit=5000),
    "unsupported_type": partial(refusals.unsupported_type, looks_like="an image (.png)"),
    "not_text": partial(refusals.not_text, looks_like="an image (.png)"),
    "password_protected": refusals.password_protected,
    "copy_protected": refusals.copy_protected,
    "docx_corrupt": partial(refusals.corrupt, kind="a Word document", code="docx_corrupt"),
    "pdf_no_text": partial(refusals.pdf_no_text, pages=1200),
    "zip_bomb": partial(refusals.zip_bomb, unpacked=9000 * MIB),
    "unsafe_xml": refusals.unsafe_xml,
    "no_such_page": partial(refusals.no_such_page, page=1234),
    "file_missing": refusals.file_missing,
    "parse_timeout": partial(refusals.timed_out, seconds=60.0),
    "parse_memory": partial(refusals.out_of_memory, limit=1024 * MIB),
    "parse_crashed": refusals.crashed,
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_names_the_file_and_has_three_sentences(code):
    error = REFUSALS[code]("minutes.docx")

    assert error.code == code
    assert "“minutes.docx”" in error.happened
    for part in (error.happened, error.kept, error.next_step):
        assert part[0].isupper() or part[0] == "“"
        assert part.endswith(".")


@pytest.mark.parametrize("code", REFUSALS)
def test_a_hostile_name_can_neither_break_a_line_nor_fill_a_page(code):
    error = REFUSALS[code]("a\r\n\x00\ud800\u2028" + "b" * 5000)

    assert is_clean(error.happened)
    assert "\n" not in error.happened
    assert len(error.happened) < 300


@pytest.mark.parametrize("name", ["", " \n", "\x00\x01", "\ufeff"])
def test_a_file_without_a_name_is_called_this_file(name):
    assert refusals.quoted(name) == "“This file”"


def test_a_name_of_eighty_characters_is_shown_whole_and_a_longer_one_is_not():
    assert refusals.quoted("n" * 80) == f"“{'n' * 80}”"
    assert refusals.quoted("n" * 81) == f"“{'n' * 79}…”"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (1_500, "1,500 bytes"),
        (MIB - 1, "1,048,575 bytes"),
        (MIB, "1 MB"),
        (2048 * MIB, "2,048 MB"),
    ],
)
def test_sizes_are_given_in_the_unit_a_person_would_use(size, shown):
    error = refusals.too_large("a.txt", size=size, limit=7)

    assert f" is {shown};" in error.happened
    assert "at most 7 bytes" in error.happened


def test_large_numbers_are_grouped():
    assert "20,000,000 characters" in REFUSALS["too_long"]("a").happened
    assert "6,000 pages" in REFUSALS["too_many_pages"]("a").happened
    assert "at most 5,000" in REFUSALS["too_many_pages"]("a").happened
    assert "no page 1,234" in REFUSALS["no_such_page"]("a").happened


def test_one_scanned_page_is_not_all_pages():
    assert "its page is an image" in refusals.pdf_no_text("a.pdf", pages=1).happened
    assert "all 2 pages are images" in refusals.pdf_no_text("a.pdf", pages=2).happened


def test_seconds_lose_a_fraction_of_nothing():
    assert "60 seconds" in refusals.timed_out("a", seconds=60.0).happened
    assert "0.25 seconds" in refusals.timed_out("a", seconds=0.25).happened


def test_advice_for_one_kind_takes_the_place_of_the_list_of_all_kinds():
    general = refusals.unsupported_type("a.bin", looks_like="a video")
    special = refusals.unsupported_type("a.rtf", looks_like="rich text", advice="Save as .docx.")

    assert general.next_step == refusals.SUPPORTED
    assert special.next_step == "Save as .docx."


def test_too_many_parts_is_the_same_danger_as_too_many_bytes():
    error = refusals.too_many_parts("a.docx", parts=30_000, limit=20_000)

    assert error.code == "zip_bomb"
    assert "30,000 parts; the limit is 20,000" in error.happened


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("PDF", "a PDF"),
        ("CSV table", "a CSV table"),
        ("HTML page", "an HTML page"),
        ("XML file", "an XML file"),
        ("Word document", "a Word document"),
        ("Excel workbook", "an Excel workbook"),
        ("OpenDocument text", "an OpenDocument text"),
        ("web page", "a web page"),
        ("e-book", "an e-book"),
    ],
)
def test_a_format_has_its_article_and_keeps_its_capitals(label, said):
    assert refusals.one(Format("toy", label, "Toys", (".toy",))) == said


def test_no_two_formats_have_the_same_label():
    labels = [one.label for one in FORMATS.values()]

    assert len(set(labels)) == len(labels)


def test_a_password_may_be_named_after_its_format():
    assert refusals.password_protected("a.pdf", code="pdf_encrypted").code == "pdf_encrypted"
