from __future__ import annotations

import io
import zipfile

import pytest

from kb_project.text.regions import Region, RegionKind
from tests.ingestion.parsers.conftest import headed
from tests.ingestion.parsers.samples import make_epub, make_zip

CHAPTERS = {
    "one.xhtml": "<h1>The boy</h1><p>Born at<a id='p1'/> Grindel.</p>",
    "text/two%20b.xhtml": "<h1>The man</h1><h2>Weather</h2><p>It rained.</p>",
}


def test_chapters_are_pages_in_reading_order(read):
    book = make_epub(
        {"one.xhtml": CHAPTERS["one.xhtml"], "two.xhtml": "<h1>The man</h1><p>Rain.</p>"}
    )

    document = read(book, "book.epub")

    assert [document.text[page.start : page.end] for page in document.pages] == [
        "The boy\n\nBorn at Grindel.",
        "The man\n\nRain.",
    ]
    assert headed(document) == ["The boy", "The man"]
    assert document.title == "A Book"
    assert document.metadata["author"] == "A. Writer"


def test_a_chapter_that_is_missing_is_named(read):
    # The manifest's address is percent-encoded, the entry's name in this archive is too.
    document = read(make_epub(CHAPTERS), "book.epub")

    assert document.warnings == ("1 of the chapters listed in the book are missing from the file.",)


def test_addresses_are_decoded(read):
    extra = {
        "OEBPS/text/two b.xhtml": f"<html><body>{CHAPTERS['text/two%20b.xhtml']}</body></html>"
    }

    document = read(make_epub(CHAPTERS, extra=extra), "book.epub")

    assert document.warnings == ()
    assert "It rained." in document.text


def test_a_file_is_read_once_though_the_book_lists_places_in_it(read):
    book = make_epub({"one.xhtml": CHAPTERS["one.xhtml"], "one.xhtml#p1": "<p>Not this.</p>"})

    assert read(book, "book.epub").text == "The boy\n\nBorn at Grindel."


def test_a_book_that_was_packed_with_its_folder_is_read(read):
    whole = zipfile.ZipFile(io.BytesIO(make_epub({"one.xhtml": CHAPTERS["one.xhtml"]})))
    names = [one for one in whole.namelist() if one != "mimetype"]
    book = make_zip({f"book/{name}": whole.read(name) for name in names})

    document = read(book, "book.epub")

    assert (document.title, headed(document)) == ("A Book", ["The boy"])
    assert document.media_type == "application/epub+zip"


def test_contents_that_are_headings_say_which_lines_are_the_headings(read):
    parts = ["1. Oil", "2. Wicks", "3. Fog", "4. Rope"]
    contents = "".join(f"<h2>{part}</h2>" for part in parts)
    told = "".join(f"<p><b>{part}</b></p><p>What is told of it.</p>" for part in parts)

    document = read(make_epub({"a.xhtml": contents, "b.xhtml": told}), "book.epub")

    first, second = document.pages
    assert headed(document) == parts
    assert [second.start <= one.start for one in document.headings] == [True] * 4
    assert Region(RegionKind.CONTENTS, first.start, first.end) in document.regions


def test_an_address_outside_the_book_reaches_nothing(read):
    book = make_epub(
        {"one.xhtml": "<p>Text.</p>", "../../../../etc/passwd": "<p>In the archive.</p>"}
    )

    assert "root:" not in read(book, "book.epub").text


def test_page_numbers_of_the_printed_book_are_left_out(read):
    chapter = '<p>It was <span epub:type="pagebreak" id="p7">7</span>raining.</p>'

    assert read(make_epub({"a.xhtml": chapter}), "book.epub").text == "It was raining."


def test_copy_protection_is_named(refuse):
    extra = {
        "META-INF/encryption.xml": (
            '<encryption xmlns="urn:e"><EncryptedData>'
            '<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
            "</EncryptedData></encryption>"
        )
    }

    assert refuse(make_epub(CHAPTERS, extra=extra), "book.epub").code == "copy_protected"


@pytest.mark.parametrize(
    "container", ["<container/>", "not xml", "<container><rootfile/></container>"]
)
def test_a_book_without_its_contents_is_refused(refuse, container):
    book = make_zip({"mimetype": "application/epub+zip", "META-INF/container.xml": container})

    assert refuse(book, "book.epub").code == "epub_corrupt"


def test_entity_declarations_are_refused(refuse):
    extra = {"OEBPS/bomb.opf": '<!DOCTYPE a [<!ENTITY a "b">]><a>&a;</a>'}

    assert refuse(make_epub(CHAPTERS, extra=extra), "book.epub").code == "unsafe_xml"
