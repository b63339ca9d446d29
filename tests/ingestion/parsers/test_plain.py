from __future__ import annotations

import pytest

from ingestion.parsers.plain import find_headings
from kb_project.text.statements import StatementKind, statements
from tests.ingestion.parsers.conftest import headed

BOOK = """\
The Project

Title: A Winter at the Light

Contents
Chapter One      1
Chapter Two     12

PART I

Chapter One

It began. Chapter two was worse.

CHAPTER II. The storm

More of it.

Afterword
=========

The end.
"""


def test_text_is_kept_as_it_stands(read):
    assert read(b"  An indented line\n\n\tand a tab  \n", "n.txt").text == (
        "  An indented line\n\n\tand a tab"
    )


def test_chapters_and_underlined_lines_are_headings(read):
    document = read(BOOK.encode(), "book.txt")

    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "PART I"),
        (2, "Chapter One"),
        (2, "CHAPTER II. The storm"),
        (1, "Afterword"),
    ]
    assert len(headed(document)) == 4


def test_a_line_in_capitals_above_prose_is_a_heading_and_those_of_a_title_page_are_not():
    prose = "A ray is the least light which may be stopped alone, without the rest."
    text = (
        f"OPTICKS\n\nOR A\n\nTREATISE\n\nBy Sir Isaac\n\n_PART I._\n\nDEFINITIONS\n\n{prose}\n\n"
        f"CHAPTER II.\n\nAXIOMS\n\n{prose}"
    )

    assert [(level, title) for level, title, _ in find_headings(text)] == [
        (1, "PART I."),
        (3, "DEFINITIONS"),
        (2, "CHAPTER II."),
        (3, "AXIOMS"),
    ]


def test_chinese_chapters_are_headings():
    found = find_headings("第一章 童年\n\n我们从一份档案开始。\n\n第二章 灾难\n\n后来。")

    assert [title for _, title, _ in found] == ["第一章 童年", "第二章 灾难"]


@pytest.mark.parametrize(
    "text",
    [
        "Chapter 3 describes the lens, and how it was broken.\n",
        "part of the reason\n",
        "Name   Age\n----------------------\nAda    36\n",
        "one\n---\n" * 3,
    ],
)
def test_prose_and_tables_are_not_headings(text):
    assert all("\n" not in title for _, title, _ in find_headings(text))
    assert find_headings(f"Before.\n{text}") == []


def test_a_title_field_names_the_document(read):
    assert read(BOOK.encode(), "book.txt").title == "A Winter at the Light"


@pytest.mark.parametrize(
    "below", ["\n", "======\n\n", "Version 3 of May 2024\n", "(by Ada Lind)\n"]
)
def test_a_first_line_alone_or_above_a_version_names_the_document(read, below):
    prose = "It was lit before the snow came, and burned.\n" * 20

    document = read(f"\n      Rules of the Light\n{below}\n{prose}".encode(), "rules.txt")

    assert document.title == "Rules of the Light"
    told = [one.said for one in statements(document.text, document.regions)]
    assert "Rules of the Light" in told[0]
    assert statements(document.text, document.regions)[0].kind is StatementKind.HEADING


@pytest.mark.parametrize(
    "first",
    [
        "Dear Ada",
        "DRAFT of May",
        "It was lit.",
        "keepers and lamps",
        "Chapter 1",
        "1. Lamps",
        "To: Ada",
        "It was lit\nin May",
    ],
)
def test_a_first_line_that_is_no_title_names_nothing(read, first):
    prose = "It was lit before the snow came, and burned.\n" * 20

    assert read(f"{first}\n\n{prose}".encode(), "rules.txt").title == "rules"


def test_lines_between_rules_and_underlines_of_any_kind_are_headings(read):
    text = "====\nOil\n====\nIt burns in the lamp.\n\nWhale oil\n^^^^^^^^^\nIt burned for long."

    document = read(text.encode(), "oil.rst.txt")

    assert [(one.level, one.title) for one in document.headings] == [(1, "Oil"), (2, "Whale oil")]
    assert document.title == "Oil"
    assert told_in(document) == ["It burns in the lamp.", "It burned for long."]


def test_marks_of_restructured_text_say_nothing_and_its_literal_blocks_are_code(read):
    text = (
        ".. _oil:\n\n.. image:: oil.png\n   :alt: a barrel\n\n"
        ".. note:: Oil is slippery when cold.\n\nIt is bought like this::\n\n"
        "   buy --oil three barrels of it\n\n   pay --now for all of them\n\n"
        "It burns in the lamp.\n\n.. code-block:: sh\n\n   light the lamp again\n"
    )

    document = read(text.encode(), "oil.rst.txt")

    assert told_in(document) == ["Oil is slippery when cold.", "It burns in the lamp."]


def test_colons_that_end_a_line_of_other_texts_are_only_colons(read):
    document = read(b"She wrote::\n\n   The lamp was lit at nine.\n", "log.txt")

    assert told_in(document) == ["The lamp was lit at nine."]


def test_otherwise_the_file_name_does(read):
    assert read(b"Text.", "harbour_notes 2024.txt").title == "harbour notes 2024"


def test_a_nul_byte_is_removed_with_a_warning(read):
    document = read(b"Before \x00after.", "nul.txt")

    assert document.text == "Before after."
    assert document.warnings == ("1 invalid control character was removed.",)


def test_nuls_at_the_end_of_an_interrupted_copy_are_removed(read):
    assert read(b"The text.\n" + b"\x00" * 5000, "copy.txt").text == "The text."


def test_gb18030_keeps_its_name(read):
    document = read("这是一个关于中文编码检测的测试。".encode("gb18030"), "中文.txt")

    assert document.text == "这是一个关于中文编码检测的测试。"
    assert document.encoding == "gb18030"
    assert document.title == "中文"


def test_an_e_mail_is_called_after_its_subject(read):
    mail = b"From: Lena\nTo: Paul,\n  Ines\nSubject: Slipway quotes\n\nPaul,\n\nSubject: none."

    assert read(mail, "mail 17.txt").title == "Slipway quotes"
    assert read(b"Dear Paul,\nSubject: none.", "mail 17.txt").title == "mail 17"


def test_each_line_of_notes_that_were_never_wrapped_is_a_paragraph(read):
    long = "reason: " + "most enquiries are about long packs, " * 4
    notes = f"infeed\ngo for the 12 inch chain\n{long}\n- open: paint\n- open: legs\nnext: May"

    paragraphs = read(notes.encode(), "notes.txt").text.split("\n\n")

    assert [one.split(":")[0] for one in paragraphs] == [
        "infeed",
        "go for the 12 inch chain",
        "reason",
        "next",
    ]
    assert paragraphs[2].endswith("- open: paint\n- open: legs")


def test_wrapped_lines_stay_together_beside_a_long_one(read):
    wrapped = "The light was lit in 1866\nand burned until 1890.\n" * 20
    text = f"{wrapped}See also {'the next page and ' * 8}\n"

    assert "\n\n" not in read(text.encode(), "light.txt").text


def told_in(document) -> list[str]:
    return [one.said for one in statements(document.text, document.regions) if one.states]
