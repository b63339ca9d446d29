from __future__ import annotations

import pytest

from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import Limits, Source
from kb_project.errors import ParseError
from tests.ingestion.parsers.conftest import NO_FILE


def builder_for(name: str = "notes.txt", **limits: int) -> TextBuilder:
    return TextBuilder(Source(NO_FILE, name, "text/plain", Limits(**limits)))


def test_pieces_stand_apart_as_far_as_either_asks():
    builder = builder_for()
    builder.paragraph("One")
    builder.line("- a")
    builder.line("- b")
    builder.heading(2, "Two")

    assert builder.text == "One\n\n- a\n- b\n\nTwo"


def test_offsets_count_the_final_text_only():
    builder = builder_for()
    builder.paragraph("Nul\x00 and\r\nbreak")
    builder.heading(1, "After\x07 it")
    document = builder.build(parser="test")

    (heading,) = document.headings
    assert document.text[heading.start :] == heading.title == "After it"
    assert document.warnings == ("1 invalid control character was removed.",)


def test_a_page_without_text_is_an_empty_span():
    builder = builder_for()
    for text in ("one", "", "three"):
        builder.open_page()
        builder.paragraph(text)
    pages = builder.build(parser="test").pages

    assert [(page.start, page.end) for page in pages] == [(0, 3), (3, 3), (5, 10)]


def test_the_limit_holds_while_text_is_added():
    builder = builder_for(max_characters=10)
    builder.paragraph("12345")

    with pytest.raises(ParseError) as caught:
        builder.paragraph("6789")

    assert caught.value.code == "too_long"


def test_a_warning_is_said_once():
    builder = builder_for()
    builder.warn("Look.")
    builder.warn("Look.")

    assert builder.warnings == ["Look."]


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Annual report", "Annual report"),
        ("Document management policy", "Document management policy"),
        ("Document1", "notes"),
        ("untitled", "notes"),
        ("PowerPoint Presentation", "notes"),
        ("final_v3.docx", "notes"),
        ("Report.ODS", "notes"),
        ("thesis.tex", "notes"),
        ("minutes of 3.5 hours", "minutes of 3.5 hours"),
        ("  ", "notes"),
    ],
)
def test_a_title_worth_having_is_taken(given, title):
    builder = builder_for()
    builder.paragraph("Text.")

    assert builder.build(parser="test", title=given).title == title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("report.final.pdf", "report.final"),
        ("C:\\Users\\ada\\plan.txt", "plan"),
        ("../../../etc/passwd", "passwd"),
        ("🎉 party_plan.md", "🎉 party plan"),
        ("..", "Untitled"),
        ("", "Untitled"),
        (".env", ".env"),
    ],
)
def test_a_file_name_becomes_a_title(name, title):
    assert title_from_name(name) == title
