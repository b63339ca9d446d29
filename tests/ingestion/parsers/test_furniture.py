"""What of a document is furniture, and that prose never is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ingestion.parsers.document import Heading, PageSpan
from ingestion.parsers.furniture import regions_of
from kb_project.text.regions import Region, RegionKind, prose
from tests.ingestion.parsers.conftest import of_kind
from tests.ingestion.parsers.samples import make_pdf, text_page

CHAPTERS = ["Oiling the lamp", "Trimming the wick", "Keeping the log", "Sounding the horn"]
BODY = "The lamp burns for eleven hours. It is then left to cool until the next evening."
NIGHTS = [
    f"On the {night} night the lamp was lit at six.\nNobody came until the {night} bell."
    for night in ("first", "second", "third", "fourth", "fifth")
]
GNU = (
    "This program is free software: you can redistribute it and/or modify it under the terms of"
    " the GNU General Public License as published by the Free Software Foundation, either version"
    " 3 of the License, or (at your option) any later version."
)
MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
    " and associated documentation files (the “Software”), to deal in the Software without"
    " restriction."
)
PROSE = [
    "The keeper winds the clock twice a day, and the lens turns once in eight minutes.",
    "The keepers were:\n- Ada Lind, from 1866;\n- Bram Holm, until 1890;\n- nobody since.",
    "1. Close the valve.\n2. Wait for the pressure to fall.\n3. Open the door.",
    "Make a copy of the log first. Then sign it; the office keeps the copy.",
    "In 1904 the harbour board gave permission to build a second pier.",
    "The copyright of the chart was bought by the harbour board in 1921.",
    "“Is it lit?” she asked.\n\n“It is,” said Bram; “it always was.”",
    "A licence was needed to land herring, and it cost two crowns (see the table of 1899).",
    "See https://example.org/tides for the tables of the year.",
    "灯塔每天晚上六点点亮。第二天早上熄灭。",
]


def found(text: str, kind: RegionKind, **known) -> list[str]:
    regions = regions_of(
        text, headings=known.pop("headings", ()), pages=known.pop("pages", ()), **known
    )
    return [text[one.start : one.end] for one in regions if one.kind == kind]


def heads(text: str, titles: list[str], level: int = 2) -> list[Heading]:
    return [Heading(level, title, text.rindex(title)) for title in titles]


def book(contents: str = "Contents\n") -> str:
    listed = contents + "\n".join(CHAPTERS)
    return "\n\n".join([listed, *(f"{title}\n\n{BODY}" for title in CHAPTERS)])


def paged(*pages: str) -> tuple[str, list[PageSpan]]:
    """A text of some pages, and where they are."""
    text, spans = "", []
    for number, page in enumerate(pages, start=1):
        text += "\n\n" if text else ""
        spans.append(PageSpan(number, len(text), len(text) + len(page)))
        text += page
    return text, spans


@pytest.mark.parametrize("text", PROSE)
def test_ordinary_prose_and_lists_are_kept(text):
    assert regions_of(f"{BODY}\n\n{text}\n\n{BODY}", headings=(), pages=()) == []


def test_a_list_of_the_documents_own_headings_is_its_contents():
    text = book()

    contents = found(text, RegionKind.CONTENTS, headings=heads(text, CHAPTERS))

    assert contents == ["Contents\n" + "\n".join(CHAPTERS)]


def test_lines_that_lead_to_pages_are_contents_whatever_they_name():
    text = "Lamp …  4\nWick …  9\nLog ........ 12\nHorn . . . . 15\n\n" + BODY

    assert found(text, RegionKind.CONTENTS) == [text.removesuffix(f"\n\n{BODY}")]


def test_a_line_between_the_entries_of_contents_belongs_to_them():
    text = book().replace(CHAPTERS[3], f"and when it fogs\n{CHAPTERS[3]}", 1)

    [contents] = found(text, RegionKind.CONTENTS, headings=heads(text, CHAPTERS))

    assert contents.splitlines()[-1] == CHAPTERS[-1]
    assert "fogs" in contents


def test_three_entries_are_too_few_for_contents():
    text = book(contents="")
    few = text.replace(f"{CHAPTERS[0]}\n{CHAPTERS[1]}\n", f"{CHAPTERS[1]}\n", 1)

    assert found(few, RegionKind.CONTENTS, headings=heads(few, CHAPTERS)) == []


def test_headings_themselves_are_no_contents():
    text = "\n\n".join(CHAPTERS)

    regions = regions_of(text, headings=heads(text, CHAPTERS), pages=())

    assert [one.kind for one in regions] == [RegionKind.HEADING] * len(CHAPTERS)
    assert [one.level for one in regions] == [2] * len(CHAPTERS)


def test_a_heading_is_marked_with_its_number():
    text = f"4.2 Trimming the wick\n\n{BODY}"

    assert found(text, RegionKind.HEADING, headings=[Heading(1, "Trimming the wick", 4)]) == [
        "4.2 Trimming the wick"
    ]


def test_a_bookmark_whose_words_are_not_there_marks_nothing():
    assert found(BODY, RegionKind.HEADING, headings=[Heading(1, "Cover", 0)]) == []


def test_a_line_that_comes_on_many_pages_is_a_running_head_and_its_figures_may_differ():
    text, pages = paged(
        *(f"The Keeper's Manual, page {n}\n{said}" for n, said in enumerate(NIGHTS))
    )

    running = found(text, RegionKind.RUNNING, pages=pages, is_laid_out=True)

    assert running == [f"The Keeper's Manual, page {n}" for n in range(5)]


def test_bare_page_numbers_are_running_feet():
    text, pages = paged(*(f"{said}\n{n}" for n, said in enumerate(NIGHTS, start=8)))

    running = found(text, RegionKind.RUNNING, pages=pages, is_laid_out=True)

    assert running == ["8", "9", "10", "11", "12"]


def test_a_line_at_the_edge_that_names_the_part_of_the_page_is_a_running_head():
    text, pages = paged(
        f"Trimming the wick\n\n{BODY}",
        f"2. TRIMMING THE WICK\n\nIt smokes. {BODY}",
        f"Then. {BODY}",
    )
    headings = [Heading(1, "Trimming the wick", 0)]

    running = found(text, RegionKind.RUNNING, headings=headings, pages=pages, is_laid_out=True)

    assert running == ["2. TRIMMING THE WICK"]


def test_sentences_at_the_edges_of_pages_are_no_running_heads():
    text, pages = paged(*NIGHTS)

    assert found(text, RegionKind.RUNNING, pages=pages, is_laid_out=True) == []


def test_pages_without_edges_have_no_running_heads():
    text, pages = paged(*(f"The Keeper's Manual\n{said}" for said in NIGHTS))

    assert found(text, RegionKind.RUNNING, pages=pages) == []


def test_a_sentence_goes_on_behind_a_running_head():
    text, pages = paged(*(f"The Keeper's Manual\nthen dark. {said} It was" for said in NIGHTS))

    read = prose(text, regions_of(text, headings=(), pages=pages, is_laid_out=True))

    assert len(read) == len(text)
    assert "Manual" not in read
    between = [one.split("then dark")[0] for one in read.split("It was")[1:-1]]
    assert [one.replace(" ", "") for one in between] == [""] * 4


def printed(*lengths: int) -> str:
    """Pages of so many lines of prose, each with a foot and the next page's head."""
    pages = (
        "\n".join(f"the tide of night {line} rose" for line in range(length))
        + f"\n\nLind             Keeping the Light            [Page {number}]"
        + "\n\n\nManual 7           Tern Rock              March 1866\n\n"
        for number, length in enumerate(lengths, start=1)
    )
    return "".join(pages)


def test_text_formatted_for_printing_has_running_heads_at_the_distance_of_a_page():
    text = printed(30, 30, 30, 30, 30, 30)

    running = found(text, RegionKind.RUNNING)

    assert [one.count("Lind") for one in running] == [one.count("Manual 7") for one in running]
    assert len(running) == 6
    assert "rose the tide" in " ".join(prose(text, regions_of(text, headings=(), pages=())).split())


def test_lines_that_recur_at_any_distance_or_soon_are_no_running_heads():
    assert found(printed(30, 61, 24, 47, 35, 52), RegionKind.RUNNING) == []
    assert found(printed(5, 5, 5, 5, 5, 5), RegionKind.RUNNING) == []


def links_in(*lines: str) -> tuple[str, list[int]]:
    """A text of lines, those with a leading arrow being links."""
    text = "\n".join(line.removeprefix(">") for line in lines)
    places = [text.index(line[1:]) for line in lines if line.startswith(">")]
    return text, places


def test_links_before_and_behind_everything_else_are_navigation():
    text, links = links_in(">Home", ">Tides", BODY, ">See the horn", BODY.upper(), ">Next")

    assert found(text, RegionKind.NAVIGATION, links=links) == ["Home\nTides", "Next"]


def test_a_link_that_recurs_between_sections_is_navigation():
    text = "Oil burns.\n\nBack to top\n\nFog.\n\nBack to top\n\nTides.\n\nBack to top\n\nEnd."
    links = [at for at in range(len(text)) if text.startswith("Back", at)]

    assert found(text, RegionKind.NAVIGATION, links=links) == ["Back to top"] * 3
    assert found(text, RegionKind.NAVIGATION, links=links[:2]) == []


def test_a_long_run_of_links_is_a_menu_and_a_short_one_what_a_text_speaks_of():
    menu = [f">Station {name}" for name in "abcdef"]
    text, links = links_in(BODY, *menu, BODY.upper(), *[">Horn", ">Bell"], BODY.lower())

    [found_menu] = found(text, RegionKind.NAVIGATION, links=links)

    assert found_menu == "\n".join(menu).replace(">", "")


def test_an_address_on_a_line_of_its_own_is_navigation():
    text = f"{BODY}\n\nhttps://example.org/tides?year=1904\n\n{BODY}"

    assert found(text, RegionKind.NAVIGATION) == ["https://example.org/tides?year=1904"]


GUTENBERG = """\
The Project Gutenberg EBook of A Lamp

This eBook is for the use of anyone anywhere at no cost.

*** START OF THIS PROJECT GUTENBERG EBOOK A LAMP ***

It was a dark night. Nobody had trimmed the wick.

*** END OF THIS PROJECT GUTENBERG EBOOK A LAMP ***

Section 1. General Terms of Use. Redistributing the work is easy."""


def test_what_project_gutenberg_puts_around_a_book_is_legal():
    regions = regions_of(GUTENBERG, headings=(), pages=())

    assert {one.kind for one in regions} == {RegionKind.LEGAL}
    assert prose(GUTENBERG, regions).strip() == "It was a dark night. Nobody had trimmed the wick."


@pytest.mark.parametrize(
    "notice",
    [
        GNU,
        MIT,
        "Copyright © 1998-2014 The Harbour Board",
        "(c) 2004 Ada Lind. All rights reserved.",
        "“Making a Lamp (the Keeper's Manual)”, copyright © 1997 Ada Lind.",
        "THE SOFTWARE IS PROVIDED “AS IS”, WITHOUT WARRANTY OF ANY KIND.",
        "版权所有，未经许可不得转载。",
        "You should have received a copy of the GNU General Public License along with this program;"
        " if not, write to the Foundation, 51 Franklin Street, Fifth Floor, Boston.",
    ],
)
def test_a_notice_that_comes_with_a_document_is_legal(notice):
    text = "\n\n".join([*[BODY] * 8, notice, *[BODY] * 4])

    assert found(text, RegionKind.LEGAL) == [notice]


def test_a_notice_may_be_wrapped_by_hand():
    notice = MIT.replace("Permission is hereby", "Permission is\n   hereby")

    assert found("\n\n".join([*[BODY] * 10, notice]), RegionKind.LEGAL) == [notice]


def test_a_whole_licence_below_its_name_is_legal():
    licence = "A modified version under this License must keep the title of the work. " * 9
    text = "\n\n".join([*[BODY] * 99, "GNU Free Documentation License", licence, "Index", BODY])
    headings = heads(text, ["GNU Free Documentation License", "Index"])

    assert found(text, RegionKind.LEGAL, headings=headings) == [licence.strip()]


def test_what_a_text_says_about_a_licence_is_not():
    about = "Under the MIT licence, everybody may use a program, whatever for. " * 9
    text = "\n\n".join([*[BODY] * 40, "MIT License", about])

    assert found(text, RegionKind.LEGAL, headings=heads(text, ["MIT License"])) == []


def test_licences_are_the_subject_of_a_text_that_is_mostly_of_them():
    text = "\n\n".join(["The licences in use are these.", GNU, MIT])

    assert found(text, RegionKind.LEGAL) == []


@pytest.mark.parametrize(
    "line",
    [
        "$ dpkg -i lamp.deb",
        "# apt-get -y install lamp",
        "sudo lamp restart",
        "ada@skarrow:~/log$ ls -l",
        "lamp --verbose --oil=3",
        "tar -xzf lamp.tar.gz",
    ],
)
def test_a_line_typed_at_a_prompt_is_code_and_the_prose_around_it_is_not(line):
    text = f"Now type this:\n{line}\nThe lamp goes on. It stays lit."

    assert found(text, RegionKind.CODE) == [line]


@pytest.mark.parametrize(
    "line", ["make merry at Christmas and cannot", "export oil to the islands", "tar and feathers"]
)
def test_a_line_of_wrapped_prose_is_no_command(line):
    assert found(f"The keepers of old would\n{line}\nstayed where it was.", RegionKind.CODE) == []


def test_a_paragraph_of_code_is_code():
    code = "def trim(wick):\n    wick.length = 3\n    return wick.smoke()"

    assert found(f"{BODY}\n\n{code}\n\n{BODY}", RegionKind.CODE) == [code]


def test_regions_are_in_order_and_apart_whatever_was_noted():
    noted = [Region(RegionKind.CODE, 20, 40), Region(RegionKind.TABLE, 10, 30)]

    regions = regions_of(BODY, headings=[Heading(1, "The lamp", 0)], pages=(), noted=noted)

    assert {one.kind for one in regions} == {
        RegionKind.HEADING,
        RegionKind.TABLE,
        RegionKind.CODE,
    }
    assert all(one.end <= other.start for one, other in pairwise(regions))


def test_a_web_page_has_its_menu_code_and_tables_told_apart(read):
    page = f"""<html><body><p><a href="/">Home</a></p><h1>The lamp</h1><p>{BODY}</p>
    <pre>lamp --on</pre><table><tr><th>Station</th><th>Hours</th></tr>
    <tr><td>Skarrow</td><td>11</td></tr></table><p>{BODY}</p><p><a href="/2">Next</a></p>
    </body></html>"""

    document = read(page.encode(), "lamp.html")

    assert of_kind(document, RegionKind.NAVIGATION) == ["Home", "Next"]
    assert of_kind(document, RegionKind.HEADING) == ["The lamp"]
    assert of_kind(document, RegionKind.CODE) == ["lamp --on"]
    assert of_kind(document, RegionKind.TABLE) == ["Station: Skarrow; Hours: 11"]


def test_markdown_has_its_code_and_tables_told_apart(read):
    source = f"# The lamp\n\n{BODY}\n\n```sh\nlamp on\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"

    document = read(source.encode(), "lamp.md")

    assert of_kind(document, RegionKind.HEADING) == ["# The lamp"]
    assert of_kind(document, RegionKind.CODE) == ["```sh\nlamp on\n```"]
    assert of_kind(document, RegionKind.TABLE) == ["| a | b |\n|---|---|\n| 1 | 2 |"]


def test_the_running_heads_of_a_pdf_are_told_apart(read):
    pages = [
        text_page(
            (10, 72, 770, "The Keeper's Manual"),
            (12, 72, 700, said.replace("\n", " ")),
            (10, 300, 40, str(number)),
        )
        for number, said in enumerate(NIGHTS, start=1)
    ]

    document = read(make_pdf(pages), "manual.pdf")

    running = "\n\n".join(of_kind(document, RegionKind.RUNNING)).split("\n\n")
    assert sorted(running) == ["1", "2", "3", "4", "5", *["The Keeper's Manual"] * 5]
    read_as_prose = " ".join(prose(document.text, document.regions).split())
    assert read_as_prose == " ".join(" ".join(NIGHTS).split())
