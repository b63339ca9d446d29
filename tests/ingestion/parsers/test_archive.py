from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from ingestion.parsers.archive import check_archive
from ingestion.parsers.document import MIB, Limits, Source
from kb_project.errors import ParseError
from tests.ingestion.parsers.samples import make_zip


def check(path: Path, **limits: int) -> None:
    source = Source(path, "report.docx", "irrelevant", Limits(**limits))
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
