from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from ingestion.parsers.archive import check_archive, describe_openxml, parse_xml
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import MIB, Limits, OpenFile, Source
from kb_project.errors import ParseError
from tests.ingestion.parsers.samples import make_zip


def check(path: Path, **limits: int) -> None:
    with OpenFile.at(path) as file:
        source = Source(file, "report.docx", "irrelevant", Limits(**limits))
        check_archive(source, kind="a Word document", code="docx_corrupt")


def code_of(path: Path, **limits: int) -> str:
    with pytest.raises(ParseError) as caught:
        check(path, **limits)
    return caught.value.code


def test_an_ordinary_archive_passes(write):
    check(write(make_zip({"a.xml": "<a/>", "picture.png": b"\x89PNG" * 100})))


def test_size_and_number_are_limited(write):
    path = write(make_zip({"a.bin": b"x" * 5000, "b.bin": b"y" * 5000}))

    check(path, max_archive_bytes=10_000, max_archive_entries=2)
    assert code_of(path, max_archive_bytes=9_999) == "zip_bomb"
    assert code_of(path, max_archive_entries=1) == "zip_bomb"


def test_a_steep_ratio_matters_only_when_it_is_large(write):
    check(write(make_zip({"a.bin": bytes(8 * MIB)})), max_archive_ratio=100)

    assert code_of(write(make_zip({"a.bin": bytes(40 * MIB)})), max_archive_ratio=100) == "zip_bomb"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("before", [0, MIB - 4, MIB, 3 * MIB - 1])
def test_an_entity_is_found_wherever_it_stands(write, encoding, before):
    part = (" " * before + '<!ENTITY a "b">').encode(encoding)

    assert code_of(write(make_zip({"word/x.xml": part}))) == "unsafe_xml"


def test_words_about_entities_elsewhere_do_not_matter(write):
    check(write(make_zip({"notes.txt": "<!ENTITY a 'b'>", "a.xml": "&lt;!ENTITY a&gt;"})))


def test_a_doctype_alone_is_fine(write):
    check(
        write(make_zip({"a.xhtml": '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">'}))
    )


def test_an_encrypted_entry_is_named(write):
    data = bytearray(make_zip({"a.xml": "<a/>"}))
    # The flags stand 6 bytes into the local header and 8 into the central directory.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1

    assert code_of(write(bytes(data))) == "password_protected"


@pytest.mark.parametrize("damage", ["checksum", "data", "end"])
def test_damage_is_found(write, damage):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.xml", "<words/>" * 50)
    data = bytearray(buffer.getvalue())
    place = {"checksum": data.index(b"PK\x01\x02") + 16, "data": 60, "end": len(data) - 4}[damage]
    data[place] ^= 0x55

    if damage == "end":
        data = data[:-30]
    assert code_of(write(bytes(data))) == "docx_corrupt"


NAMESPACES = (
    'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
)


def described(path: Path) -> tuple[str, dict[str, str]]:
    with OpenFile.at(path) as file:
        builder = TextBuilder(Source(file, "plan.docx", "unused", Limits()))
        return describe_openxml(builder, file), builder.metadata


def core(fields: str) -> bytes:
    return make_zip(
        {"docProps/core.xml": f"<cp:coreProperties {NAMESPACES}>{fields}</cp:coreProperties>"}
    )


def test_properties_become_metadata_under_plain_names(write):
    title, metadata = described(
        write(
            core(
                "<dc:title>Plan</dc:title><dc:creator>Ada</dc:creator>"
                "<dc:subject>Oil</dc:subject><cp:keywords>a, b</cp:keywords>"
                "<dcterms:created>2024-03-14T12:00:00Z</dcterms:created>"
                "<cp:lastModifiedBy>Bob</cp:lastModifiedBy>"
            )
        )
    )

    assert title == "Plan"
    assert metadata == {
        "author": "Ada",
        "subject": "Oil",
        "keywords": "a, b",
        "created": "2024-03-14T12:00:00Z",
    }


def test_an_empty_property_says_nothing(write):
    assert described(write(core("<dc:title/><dc:creator> </dc:creator><!-- c -->"))) == ("", {})


def test_a_property_of_several_lines_is_one_line(write):
    fields = f"<dc:description>one\n two\t{'long ' * 200}</dc:description>"

    description = described(write(core(fields)))[1]["description"]

    assert description.startswith("one two long")
    assert len(description) <= 300


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        make_zip({"word/document.xml": "<a/>"}),
        make_zip({"docProps/core.xml": ""}),
        make_zip({"docProps/core.xml": "<cp:coreProperties>"}),
        make_zip({"docProps/core.xml": b"\xff\xfe\x00"}),
    ],
)
def test_a_file_without_readable_properties_is_still_a_file(write, data):
    assert described(write(data)) == ("", {})


def test_an_entity_that_reads_a_file_is_not_resolved(write):
    secret = write(b"the secret")
    root = parse_xml(
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>before &x; after</a>'.encode()
    )

    assert "secret" not in "".join(str(text) for text in root.itertext("a"))


def test_entities_that_multiply_are_refused_before_they_grow():
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(8))
    data = f'<!DOCTYPE a [<!ENTITY e0 "bomb">{levels}]><a>&e8;</a>'.encode()

    with pytest.raises(etree.XMLSyntaxError):
        parse_xml(data)


@pytest.mark.parametrize("data", [b"", b"<a>", b"<a></b>", b"\x00", b"<a>&nosuch</a>"])
def test_broken_xml_is_one_kind_of_error(data):
    with pytest.raises(etree.XMLSyntaxError):
        parse_xml(data)
