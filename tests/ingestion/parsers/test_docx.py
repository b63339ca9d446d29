from __future__ import annotations

from ingestion.parsers.document import MIB, Limits
from tests.ingestion.parsers.conftest import headed
from tests.ingestion.parsers.samples import make_docx, make_zip, word_paragraph, word_table


def test_headings_paragraphs_and_tables_come_in_order(read):
    body = (
        word_paragraph("Minutes", style="Title")
        + word_paragraph("Finance", style="Heading1")
        + word_paragraph("Money was spoken of.")
        + word_table([["Name", "Role"], ["Ada", "Chair"], ["Bo", "Clerk"]])
        + word_paragraph("Boats", style="Heading2")
        + word_paragraph("A boat was bought.")
    )

    document = read(make_docx(body, title="Board minutes", author="Kirsty"), "m.docx")

    assert document.text == (
        "Minutes\n\nFinance\n\nMoney was spoken of.\n\n"
        "Name: Ada; Role: Chair\nName: Bo; Role: Clerk\n\nBoats\n\nA boat was bought."
    )
    assert [heading.level for heading in document.headings] == [1, 1, 2]
    assert headed(document) == ["Minutes", "Finance", "Boats"]
    assert document.title == "Board minutes"
    assert document.metadata["author"] == "Kirsty"


def test_lists_and_line_breaks_are_kept(read):
    body = (
        "<w:p><w:r><w:t>First</w:t><w:br/><w:t>second</w:t></w:r></w:p>"
        "<w:p><w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink></w:p>"
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>"
    )

    assert read(make_docx(body), "m.docx").text == "First\nsecond\n\na link\n\nnew"


def test_a_table_inside_a_table_is_read_as_blocks(read):
    inner = word_table([["Name", "Role"], ["Ada", "Chair"]])
    body = f"<w:tbl><w:tr><w:tc>{word_paragraph('Around')}{inner}</w:tc></w:tr></w:tbl>"

    assert read(make_docx(body), "m.docx").text == "Around\n\nName: Ada; Role: Chair"


def test_a_zip_bomb_is_not_opened(refuse):
    bomb = make_zip({"word/document.xml": b"\x00" * (64 * MIB), "[Content_Types].xml": "<a/>"})

    error = refuse(bomb, "bomb.docx")

    assert len(bomb) < MIB
    assert error.code == "zip_bomb"
    assert "64 MB" in error.happened


def test_too_many_parts_are_not_opened(refuse):
    parts = {f"word/{number}.xml": "<a/>" for number in range(40)}

    error = refuse(make_docx("") + b"", "many.docx", Limits(max_archive_entries=3))

    assert error.code == "zip_bomb"
    assert (
        refuse(
            make_zip({"word/document.xml": "<a/>"} | parts), "m.docx", Limits(max_archive_entries=9)
        ).code
        == "zip_bomb"
    )


def test_entity_declarations_are_refused(refuse):
    prolog = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'

    assert refuse(make_docx("&b;", prolog=prolog), "laughs.docx").code == "unsafe_xml"


def test_a_damaged_archive_is_refused(refuse):
    whole = make_docx(word_paragraph("Text."))

    assert refuse(whole[: len(whole) // 2], "half.docx").code == "docx_corrupt"


def test_broken_xml_is_refused(refuse):
    assert refuse(make_docx("<w:p><w:r>"), "open.docx").code == "docx_corrupt"


def test_a_document_without_words_is_refused(refuse):
    assert refuse(make_docx(word_paragraph("  ")), "blank.docx").code == "no_text"


def test_ten_thousand_headings_are_read(read):
    body = "".join(word_paragraph(f"Part {n}", style="Heading1") for n in range(10_000))

    document = read(make_docx(body), "long.docx")

    assert len(headed(document)) == 10_000


def test_markup_in_the_text_is_text(read):
    document = read(make_docx(word_paragraph("1 &lt; 2 &lt;script&gt;")), "m.docx")

    assert document.text == "1 < 2 <script>"


def test_the_title_on_the_first_page_is_the_documents_title(read):
    body = (
        word_paragraph("Travel policy", style="Title")
        + word_paragraph("Scope", style="Heading1")
        + word_paragraph("All staff.")
    )

    assert read(make_docx(body), "policy_v7.docx").title == "Travel policy"


def test_what_is_struck_through_does_not_count(read):
    body = (
        "<w:p><w:r><w:rPr><w:strike/></w:rPr><w:t>Ten days.</w:t></w:r>"
        "<w:r><w:t>Five days.</w:t></w:r></w:p>"
    )

    assert read(make_docx(body), "m.docx").text == "Five days."
