"""Files as they come: damaged, hostile, enormous. Each is read or refused alone, and quickly."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from ingestion.parsers import Limits
from ingestion.parsers.document import MIB
from ingestion.parsers.sandbox import ParserSandbox
from kb_project.errors import ParseError
from tests.ingestion.parsers.conftest import require_sound
from tests.ingestion.parsers.samples import make_docx, make_epub, make_zip, word_paragraph
from tests.patience import PATIENCE

HEADINGS = 3_000
FIVE_MB = 5_000_000
LIMITS = Limits(seconds=PATIENCE)
"""Anything that grows with the square takes hours."""


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.json", "a.html", "a"])
def test_an_empty_file_is_refused(refuse, name):
    assert refuse(b"", name).code == "empty_file"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.html", "a"])
@pytest.mark.parametrize(
    "data", [b" \n\t \r\n", b"\xef\xbb\xbf", b"\x00\x00\x00", "\u3000\n".encode()]
)
def test_a_file_of_blank_space_is_refused(refuse, name, data):
    assert refuse(data, name).code == "no_text"


def test_a_file_that_is_too_large_is_refused_by_its_size_alone(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(300 * MIB)

    with ParserSandbox() as sandbox, pytest.raises(ParseError, match="300 MB") as caught:
        sandbox.parse(path, name="huge.txt")

    assert caught.value.code == "too_large"
    assert sandbox._host is None  # nobody was started to read it


def test_text_longer_than_the_limit_is_refused(refuse):
    assert refuse(b"word " * 1000, "long.txt", Limits(max_characters=100)).code == "too_long"


MANY_HEADINGS = [
    ("a.md", "".join(f"## Heading {n}\n\nText.\n\n" for n in range(HEADINGS))),
    ("a.txt", "".join(f"Chapter {n}\n\nText.\n\n" for n in range(1, HEADINGS))),
    ("a.html", "<html><body>" + "".join(f"<h2>H {n}</h2><p>x" for n in range(HEADINGS))),
]
ONE_LINE = [
    ("a.txt", "word " * (FIVE_MB // 5)),
    ("a.md", "*word* [x](y) " * (FIVE_MB // 14)),
    ("a.md", "#" * FIVE_MB),
    ("a.md", "`" * FIVE_MB),
    ("a.md", "> " * 100_000),
    ("a.html", "<html><body><p>" + "word <b>x</b> " * (FIVE_MB // 14)),
    ("a.csv", "cell," * (FIVE_MB // 5)),
    ("a.json", '{"a": "' + "word " * (FIVE_MB // 5) + '"}'),
    ("a.json", "[" + "1," * (FIVE_MB // 2) + "1]"),
    ("a.txt", "汉" * (FIVE_MB // 3)),
    ("a", "<" * FIVE_MB),
    ("a", "--- " * (FIVE_MB // 4)),
]


@pytest.mark.parametrize(("name", "text"), MANY_HEADINGS)
def test_thousands_of_headings_are_read_quickly(write, sandbox, name, text):
    document = sandbox.parse(write(text.encode()), name=name, limits=LIMITS)

    assert len(document.headings) >= HEADINGS - 1
    require_sound(document)


@pytest.mark.parametrize(("name", "text"), ONE_LINE)
def test_a_line_of_five_megabytes_is_read_quickly(write, sandbox, name, text):
    document = sandbox.parse(write(text.encode()), name=name, limits=LIMITS)

    require_sound(document)


def test_legacy_bytes_in_one_endless_line_are_read_quickly(write, sandbox):
    data = "déjà vu ".encode("cp1252") * (FIVE_MB // 8)

    document = sandbox.parse(write(data), name="a.txt", limits=LIMITS)

    assert document.text.startswith("déjà vu déjà vu")


def test_a_bomb_that_lies_about_its_size_is_stopped(refuse):
    bomb = bytearray(make_zip({"word/document.xml": b" " * (32 * MIB)}))
    # The size in the central directory, 24 bytes behind its mark, is made to say 100 bytes.
    place = bomb.rindex(b"PK\x01\x02") + 24
    bomb[place : place + 4] = (100).to_bytes(4, "little")

    assert refuse(bytes(bomb), "liar.docx").code == "docx_corrupt"


@pytest.mark.parametrize(
    "data",
    [
        make_docx(word_paragraph("Text.")),
        make_epub({"a.xhtml": "<p>Text.</p>"}),
    ],
)
def test_a_flipped_byte_anywhere_never_escapes_as_a_crash_of_this_process(write, sandbox, data):
    for place in range(0, len(data), max(1, len(data) // 25)):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        with contextlib.suppress(ParseError):
            require_sound(sandbox.parse(write(bytes(damaged)), name="x.docx"))


def test_the_file_on_disk_is_left_as_it_was(write, sandbox):
    path: Path = write(b"Some text.")
    before = path.stat()

    sandbox.parse(path, name="../../../tmp/evil.txt")

    assert path.read_bytes() == b"Some text."
    assert path.stat().st_mtime_ns == before.st_mtime_ns
