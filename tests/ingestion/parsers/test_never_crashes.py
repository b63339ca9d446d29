"""Whatever bytes come under whatever name: a sound document or a refusal, never another error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ingestion.parsers import FORMATS, Limits, OpenFile, parse, parser_of
from ingestion.parsers.document import Source
from kb_project.errors import ParseError
from tests.ingestion.parsers.conftest import require_sound
from tests.ingestion.parsers.samples import (
    make_docx,
    make_epub,
    make_pptx,
    make_xlsx,
    word_paragraph as word,
)

TEXT_NAMES = [
    *("a.txt", "a.md", "a.html", "a.eml", "a.csv", "a.tsv", "a.json", "a.jsonl", "a", "a.xyz"),
]
SAMPLES = {
    "a.docx": make_docx(word("Title", style="Heading1") + word("The lens was lit.")),
    "a.epub": make_epub({"one.xhtml": "<h1>One</h1><p>It began.</p>"}),
    "a.pptx": make_pptx([("Plan", ["first", "second"], "say this")]),
    "a.xlsx": make_xlsx({"Crew": [["Name", "Age"], ["Ada", 36]]}),
}
LIMITS = Limits(max_characters=200_000, max_archive_bytes=8 * 1024 * 1024)
# The one path is written anew for every example, so sharing it between them is no danger.
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FEW = settings(QUICK, max_examples=25)
MARKED_UP = st.text(alphabet="#*_=-`>|,;\t\"'{}[]<>/:&ab1 \n\r\\.灯\u2028\x00", max_size=300)
FIELDS = (
    *("From", "Date", "Subject", "Content-Type", "Content-Type: multipart/mixed; boundary=b; x"),
    *("Content-Transfer-Encoding", "Content-Transfer-Encoding: base64\nX", "Content-Disposition"),
)
MAIL_MARKS = "ab1 \n\t\"'<>@,;:=?/*%()[]\\.灯\x00"
MAIL_LINES = (
    *("--b", "--b--", "-- ", "> On 3 May A wrote:", ">> x", "From: A", "Sent: B", "Subject: C"),
    *(
        "Content-Type: message/rfc822",
        "Content-Type: multipart/alternative; boundary=b",
        "",
        "begin 1",
    ),
    *("-----Original Message-----", "=?utf-8?B?w?=", "not the intended recipient", "This"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "upload.blob"


def require_document_or_refusal(path: Path, data: bytes, name: str) -> None:
    path.write_bytes(data)
    with suppress(ParseError):
        require_sound(parse(path, name=name, limits=LIMITS))


@pytest.mark.parametrize("name", TEXT_NAMES)
@QUICK
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(path, name, data):
    require_document_or_refusal(path, data, name)


@pytest.mark.parametrize("name", TEXT_NAMES)
@QUICK
@given(text=MARKED_UP)
def test_any_marks_are_read_or_refused(path, name, text):
    require_document_or_refusal(path, text.encode(), name)


@QUICK
@given(
    fields=st.lists(st.tuples(st.sampled_from(FIELDS), st.text(MAIL_MARKS, max_size=60))),
    text=st.lists(st.one_of(st.sampled_from(MAIL_LINES), MARKED_UP)),
)
def test_any_message_is_read_or_refused(path, fields, text):
    head = [f"{name}: {value}" for name, value in fields]
    message = "\n".join(("To: a@b", *head, "", *text))

    require_document_or_refusal(path, message.encode(), "a.eml")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "gb18030", "cp1252", "shift_jis"])
@QUICK
@given(text=MARKED_UP)
def test_any_encoding_is_read_or_refused(path, encoding, text):
    require_document_or_refusal(path, text.encode(encoding, errors="ignore"), "a.md")


@pytest.mark.parametrize("name", SAMPLES)
@FEW
@given(data=st.data())
def test_a_damaged_archive_is_read_or_refused(path, name, data):
    damaged = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))

    require_document_or_refusal(path, bytes(damaged), name)


@pytest.mark.parametrize("name", SAMPLES)
@FEW
@given(share=st.floats(0, 1))
def test_an_archive_that_was_cut_off_is_read_or_refused(path, name, share):
    sample = SAMPLES[name]

    require_document_or_refusal(path, sample[: int(len(sample) * share)], name)


@pytest.mark.parametrize("method", [1, 6, 9, 12, 14, 93, 99])
@pytest.mark.parametrize("name", SAMPLES)
def test_an_archive_packed_in_another_way_is_refused(path, name, method):
    data = bytearray(SAMPLES[name])
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.find(mark)
        while place >= 0:
            data[place + at] = method
            place = data.find(mark, place + 4)
    path.write_bytes(bytes(data))

    with pytest.raises(ParseError):
        parse(path, name=name, limits=LIMITS)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_archive_with_an_unreadable_member_name_is_refused(path, name):
    data = bytearray(SAMPLES[name])
    place = data.find(b"PK\x01\x02")
    data[place + 9] |= 0x08  # The bit that says the name is UTF-8.
    data[place + 46] = 0xFF
    path.write_bytes(bytes(data))

    with pytest.raises(ParseError):
        parse(path, name=name, limits=LIMITS)


@pytest.mark.parametrize("media_type", FORMATS)
def test_every_reader_refuses_a_file_of_another_kind_in_its_own_words(path, media_type):
    path.write_bytes(b"\x00\x01\x02")

    with OpenFile.at(path) as file, pytest.raises(ParseError) as caught:
        parser_of(media_type).read(Source(file, "a.bin", media_type, LIMITS))

    assert "a.bin" in caught.value.happened
