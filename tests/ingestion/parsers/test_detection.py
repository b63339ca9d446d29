"""The content decides; the name only between kinds of text."""

from __future__ import annotations

import hashlib
import os

import pytest

from ingestion.parsers import FORMATS, OpenFile, detect, parser_of
from tests.ingestion.parsers.samples import (
    make_docx,
    make_encrypted_office,
    make_epub,
    make_pdf,
    make_pptx,
    make_xlsx,
    make_zip,
    text_page,
    word_paragraph,
)

PDF = make_pdf([text_page((12, 72, 700, "Text."))])
DOCX = make_docx(word_paragraph("Text."))
OFFICE = "application/vnd.openxmlformats-officedocument."
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8
NOISE = hashlib.shake_128(b"noise").digest(5000)
TABLE = b"a;b\n1;2\n3;4\n"


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (PDF, "report.txt", "application/pdf"),
        (b"\n\n" + PDF, "report", "application/pdf"),
        (DOCX, "renamed.pdf", OFFICE + "wordprocessingml.document"),
        (make_pptx([("A", ["b"], "")]), "x", OFFICE + "presentationml.presentation"),
        (make_xlsx({"A": [["b"]]}), "x.docx", OFFICE + "spreadsheetml.sheet"),
        (make_epub({"a.xhtml": "b"}), "book", "application/epub+zip"),
        (b"<!DOCTYPE html><p>x", "page.txt", "text/html"),
        (b"\xef\xbb\xbf\n<!-- saved -->\n<html>", "page", "text/html"),
        (b"<p>a</p>" * 5, "fragment", "text/html"),
        (b"# Title\n\nText.\n", "a.md", "text/markdown"),
        (b"# Title\n\nText.\n", "a.txt", "text/plain"),
        (b"# Title\n\nText.\n\n## More\n\n", "readme", "text/markdown"),
        (b"From: Ada\nSubject: Fog\n\nText.\n", "fog.eml", "message/rfc822"),
        (b"\nX-Spam: no\n it is not\nReceived: from b\n\nText.\n", "fog.EML", "message/rfc822"),
        (b"From a@b Fri Jul 10 16:20:00 2026\nTo: c@d\n\nText.\n", "fog.eml", "message/rfc822"),
        (b"From: Ada\nSubject: Fog\n\nText.\n", "fog.txt", "text/plain"),
        (b"Dear Ada,\n\nSubject: Fog\n", "fog.eml", "text/plain"),
        (b"<html><p>Text.", "fog.eml", "text/html"),
        (b"#!/bin/sh\n# a\n\n# b\n\n", "script", "text/plain"),
        (TABLE, "table", "text/csv"),
        (TABLE, "table.txt", "text/plain"),
        (TABLE, "table.tsv", "text/tab-separated-values"),
        (b'{"a": 1}', "data", "application/json"),
        (b'{"a": 1}', "data.txt", "application/json"),
        (b'{"a": 1', "data.txt", "text/plain"),
        (b"[draft] A letter", "letter.txt", "text/plain"),
        (b'{"a": 1}\n{"a": 2}\n', "data.json", "application/x-ndjson"),
        (b'{"a": 1}\n{"a": 2}\n', "data", "application/x-ndjson"),
        (b"def main():\n    return 1\n", "main.py", "text/plain"),
        ("日本語のテキスト。\n".encode("utf-16-be"), "ja.txt", "text/plain"),
        ("名前,町\n太郎,東京\n".encode("utf-16"), "ja.csv", "text/csv"),
        (b"Text with one \x00 in it.", "nul.txt", "text/plain"),
    ],
)
def test_the_type_is_told(write, data, name, media_type):
    with OpenFile.at(write(data)) as file:
        assert detect(file, name=name) == media_type


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"", "empty.txt", "empty_file"),
        (PNG, "notes.txt", "not_text"),
        (NOISE, "notes.md", "not_text"),
        (NOISE, "notes.CSV", "not_text"),
        (PNG, "photo.png", "unsupported_type"),
        (NOISE, "model.bin", "unsupported_type"),
        (b"\x7fELF" + bytes(500) + NOISE, "program", "unsupported_type"),
        (b"plain words " * 20_000 + NOISE * 40, "installer.sh", "unsupported_type"),
        (make_zip({"a.txt": "text"}), "files.zip", "unsupported_type"),
        (
            make_zip({"mimetype": "application/vnd.oasis.opendocument.text"}),
            "a.odt",
            "unsupported_type",
        ),
        (rb"{\rtf1 text}", "letter.rtf", "unsupported_type"),
        (make_encrypted_office(), "secret.docx", "password_protected"),
        (b"PK\x03\x04 and no more", "cut.pptx", "pptx_corrupt"),
        (b"PK\x03\x04 and no more", "cut.zip", "archive_corrupt"),
    ],
)
def test_what_cannot_be_read_is_refused(write, refuse, data, name, code):
    assert refuse(data, name).code == code


def test_a_refusal_says_what_the_file_is_and_what_would_be_read(refuse):
    error = refuse(PNG, "notes.txt")

    assert "image (.png)" in error.happened
    assert "PDF" in error.next_step


def test_old_word_files_get_their_own_advice(refuse):
    old = bytes.fromhex("d0cf11e0a1b11ae1").ljust(512, b"\x00") + "WordDocument".encode("utf-16-le")

    assert ".docx" in refuse(old, "letter.doc").next_step


def test_messages_of_outlook_get_their_own_advice(refuse):
    message = bytes.fromhex("d0cf11e0a1b11ae1").ljust(512, b"\x00") + "__nameid_version1.0".encode(
        "utf-16-le"
    )

    assert ".eml" in refuse(message, "letter.msg").next_step


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/shadow", "🎉.txt", "a\nb\x00.txt", "", ".."]
)
def test_a_name_is_only_a_label(read, name):
    document = read(b"Just text.", name)

    assert document.text == "Just text."
    assert "/" not in document.title
    assert "\n" not in document.title


def test_a_name_in_a_refusal_is_shortened(refuse):
    assert len(refuse(b"", "x" * 5000 + ".txt").happened) < 200


def test_every_registered_format_has_a_reader():
    for media_type in FORMATS:
        assert callable(parser_of(media_type).read)


def test_formats_in_zip_archives_are_estimated_as_such():
    assert {one.bulk for one in FORMATS.values() if one.member} == {"zip"}


def test_ordinary_text_is_never_taken_for_binary(write):
    sample = bytes(byte for byte in os.urandom(20_000) if 32 <= byte < 127)

    with OpenFile.at(write(sample)) as file:
        assert detect(file, name="noise.txt") == "text/plain"
