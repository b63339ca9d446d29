"""Word counts clauses itself; the text has the numbers that people see and refer to."""

from __future__ import annotations

from tests.ingestion.parsers.conftest import headed
from tests.ingestion.parsers.samples import make_docx, word_numbering, word_paragraph, word_table

CLAUSES = word_numbering(
    [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("lowerRoman", "(%4)")],
    numberings=2,
)


def entry(text: str, depth: int, numbering: int = 1, style: str = "") -> str:
    return word_paragraph(text, entry=(numbering, depth), style=style)


def test_clauses_have_the_numbers_of_their_level(read):
    body = (
        entry("Scope", 0, style="Heading1")
        + entry("All staff.", 1)
        + entry("Guests, if", 1)
        + entry("they sleep here;", 2)
        + entry("they pay", 2)
        + entry("in cash; or", 3)
        + entry("in advance.", 3)
        + entry("Limits", 0, style="Heading1")
        + entry("Ten days.", 1)
    )

    document = read(make_docx(body, numbering=CLAUSES), "p.docx")

    assert headed(document) == ["1. Scope", "2. Limits"]
    assert document.text == (
        "1. Scope\n\n  1.1 All staff.\n  1.2 Guests, if\n    (a) they sleep here;\n    (b) they pay"
        "\n      (i) in cash; or\n      (ii) in advance.\n\n2. Limits\n\n  2.1 Ten days."
    )


def test_a_list_goes_on_behind_a_paragraph(read):
    body = entry("Buy oil.", 0) + word_paragraph("By Friday.") + entry("Trim wicks.", 0)

    assert read(make_docx(body, numbering=CLAUSES), "p.docx").text == (
        "1. Buy oil.\n\nBy Friday.\n\n2. Trim wicks."
    )


def test_a_numbering_that_begins_again_does(read):
    body = entry("Oil", 0) + entry("Wicks", 0) + entry("Ada", 0, 2) + entry("Bo", 0, 2)

    assert read(make_docx(body, numbering=CLAUSES), "p.docx").text == (
        "1. Oil\n2. Wicks\n1. Ada\n2. Bo"
    )


def test_bullets_stay_dashes_and_blank_entries_stay_blank(read):
    bullets = word_numbering([("bullet", "•")])
    body = entry("Oil", 0) + entry("Wicks", 0)

    assert read(make_docx(body, numbering=bullets), "b.docx").text == "- Oil\n- Wicks"
    assert read(make_docx(entry("", 0) + entry("Oil", 0), numbering=CLAUSES), "b.docx").text == (
        "2. Oil"
    )


def test_a_numbered_cell_of_a_table_has_its_number(read):
    cells = word_table([["Step", "Who"], ["x", "Ada"]]).replace(
        word_paragraph("x"), entry("Trim wicks", 0)
    )

    assert read(make_docx(cells, numbering=CLAUSES), "t.docx").text == (
        "Step: 1. Trim wicks; Who: Ada"
    )


def test_a_level_or_numbering_that_is_missing_costs_no_text(read):
    body = entry("Oil", 9) + entry("Wicks", 0, 77) + entry("Rope", 0)

    text = read(make_docx(body, numbering=CLAUSES), "m.docx").text

    assert [line.split()[-1] for line in text.split("\n") if line] == ["Oil", "Wicks", "Rope"]


def test_broken_numbering_is_refused(refuse):
    data = make_docx(entry("Oil", 0), numbering="<w:numbering>")

    assert refuse(data, "b.docx").code == "docx_corrupt"
