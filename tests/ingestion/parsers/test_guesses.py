"""What bytes are: guesses of an encoding and of a kind, and the limits of guessing."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers import encoding, wire
from ingestion.parsers.detection import is_binary
from ingestion.parsers.encoding import Decoded, decode, guess, wide_encoding
from ingestion.parsers.formats import ending_of

PROSE = "The lamp was lit at dusk, and the keeper wrote it down.\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.TXT", ".txt"),
        ("C:\\plans\\b.Md", ".md"),
        ("archive.tar.gz", ".gz"),
        ("plain", ""),
        ("folder.d/plain", ""),
        (".env", ""),
        (" a.csv ", ".csv"),
        ("", ""),
    ],
)
def test_an_ending_is_that_of_the_last_part_of_a_name(name, expected):
    assert ending_of(name) == expected


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (b"", False),
        (b"words\x00\x00\x00\x00\x00", False),
        (b"\x00" * 500, False),
        (b"a\x01b\x02c\x03", False),
        (b"a\x01b\x02c\x03d\x04", True),
        (b"\x01\x02\x03\x04" + b"a" * 1000, False),
        (b"\x01" * 21 + b"a" * 979, True),
        (b"\x1b[31mred\x1b[0m\n" * 50, False),
        (b"tab\tand\r\nbreaks\n" * 50, False),
    ],
)
def test_a_few_control_characters_are_damage_and_many_are_binary(sample, expected):
    assert is_binary(sample) is expected


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_wide_encoding_is_told_by_its_look_and_by_its_mark(name):
    data = (PROSE * 3).encode(name)
    mark = "\ufeff".encode(name)

    assert codecs.lookup(wide_encoding(data)).name == name
    assert codecs.lookup(wide_encoding(mark + data)).name == name
    assert decode(mark + data).text == PROSE * 3


@pytest.mark.parametrize("data", [b"", PROSE.encode(), codecs.BOM_UTF8 + b"a", b"\x89PNG\r\n"])
def test_what_is_not_wide_is_not_called_so(data):
    assert wide_encoding(data) == ""


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("windows-1250", "cp1250"),
        (' "utf-8" ', "utf-8"),
        ("ISO-8859-1", "cp1252"),
        ("gbk", "gb18030"),
        ("nonsense", ""),
        ("", ""),
        ("\x00", ""),
    ],
)
def test_a_declared_label_is_read_as_browsers_read_it(label, expected):
    assert encoding._known(label) == expected


@pytest.mark.parametrize(
    "declared", ["hex", "rot13", "utf-16", "utf-16-be", "utf-32", "unicode_escape", "zip"]
)
def test_a_label_that_is_no_encoding_of_files_harms_nothing(declared):
    assert decode(PROSE.encode() + "é".encode(), declared=declared).text.startswith(PROSE[:20])


def test_strays_in_utf8_are_counted_and_the_first_line_is_named():
    text = "première\n" * 9
    decoded = decode(text.encode() + b"caf\xe9\nna\xefve\n")

    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith(text)
    assert "2 places" in decoded.warning
    assert "line 10" in decoded.warning


@given(st.text(alphabet="abc é灯\n", max_size=80))
def test_utf8_is_never_taken_for_anything_else(text):
    decoded = decode(text.encode())

    assert (decoded.text, decoded.warning) == (text, "")


@given(st.binary(max_size=120))
def test_a_guess_is_always_an_encoding_that_exists(data):
    assert codecs.lookup(guess(data)).name


def test_ascii_is_utf8():
    assert decode(b"plain\n") == Decoded("plain\n", "utf-8")


@pytest.mark.parametrize("read", [wire.document_from_bytes, wire.boxes_from_bytes])
def test_an_answer_nested_without_end_is_nonsense_and_no_crash(read):
    with pytest.raises(ValueError, match="too deeply"):
        read(b"[" * 200_000)


@pytest.mark.parametrize(
    "change",
    [
        b'"text": "a\\u0000"',
        b'"text": "\\ud800"',
        b'"text": 7',
        b'"pages": [[1, 0, 99]]',
        b'"pages": [[1, 3, 2]]',
        b'"pages": [[1, 0]]',
        b'"pages": [[1, -1, 2]]',
        b'"headings": [[1, "a", 99]]',
        b'"headings": [[101, "a", 0]]',
        b'"headings": [[1, null, 0]]',
        b'"regions": [["heading", 0, 99, 1]]',
        b'"regions": [["code", 2, 4], ["table", 3, 5]]',
        b'"regions": [["nonsense", 0, 5]]',
        b'"metadata": {"a": 1}',
        b'"warnings": [1]',
        b'"encoding": 1',
    ],
)
def test_one_untrue_field_makes_an_answer_worthless(change):
    good = (
        b'"text": "words", "title": "t", "media_type": "text/plain", "pages": [[1, 0, 5]],'
        b' "headings": [[1, "words", 0]], "regions": [["heading", 0, 5, 1]],'
        b' "metadata": {}, "warnings": [], "parser": "plain",'
        b' "encoding": null'
    )
    assert wire.document_from_bytes(b"{" + good + b"}").text == "words"

    # Of a repeated field the last one counts.
    with pytest.raises((ValueError, TypeError)):
        wire.document_from_bytes(b"{" + good + b", " + change + b"}")
