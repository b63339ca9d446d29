"""Decode bytes: find the encoding of a text file.

Order: byte-order mark, what the file declares (HTML), UTF-8, UTF-16 and -32 without a mark, mostly
UTF-8 with strays, then charset-normalizer on the lines that are not ASCII. It is good at multi-byte
encodings but answers Windows-1257 for French, so a file that reads as Windows-1252 with only
letters inside its words is taken as Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import charset_normalizer

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE: Final = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_WITH_MARK: Final = [
    "utf_7",
    "utf_16",
    "utf_16_le",
    "utf_16_be",
    "utf_32",
    "utf_32_le",
    "utf_32_be",
]
_SAMPLE: Final = 64 * 1024
# Browsers read these labels as their Windows superset, and so do we (WHATWG Encoding Standard).
_SUPERSETS: Final = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso8859-1": "cp1252",
    "latin_1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
}
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_UTF8_SEQUENCE: Final = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_ORDINARY: Final = re.compile(
    "[\t\n\r -~\u00a0-\u024f\u0370-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u2010-\u2027"
    "\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
_SEPARATORS: Final = re.compile("[ \n\r\t\u3000\u3001\u3002\uff0c\uff0e\uff1a\u300c]")
_SYMBOL_IN_WORD: Final = re.compile(r"[A-Za-z][^\W\d_a-zA-Z]*[\u00a1-\u00b4\u00b6-\u00bf][^\W\d_]")
_UNDEFINED_1252: Final = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# Letters that a language shows if read as cp1252, and letters that rule that language out: Turkish
# ğ ı ş read as ð ý þ (Icelandic also has á é í), Hungarian ő ű as õ û beside ö ü.
_READ_AS_WESTERN: Final = (
    ("cp1254", re.compile("[ðýþ]"), re.compile("[áéíóúæ]")),
    ("cp1250", re.compile("(?s)[õû].*[öü]|[öü].*[õû]"), re.compile("[ãçäêè]")),
)
# Chinese too short for charset-normalizer: only pairs of GB2312's common characters and marks.
# Korean Hangul lies in the same rows, but is recognised well.
_COMMON_CHINESE: Final = re.compile(rb"(?:[\x00-\x7f]|[\xb0-\xd7\xa1\xa3][\xa1-\xfe])+")


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, *, declared: str = "") -> Decoded:
    """Decode text in any encoding; never fails. Unreadable bytes become U+FFFD, with a warning."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _read(data[len(mark) :], encoding)
    encoding = _known(declared)
    # A label in UTF-16 could not have been read as ASCII, so one that says UTF-16 is wrong.
    if encoding and not encoding.startswith(("utf-16", "utf-32")) and _decodes(data, encoding):
        return _read(data, encoding)
    return _read(data, guess(data))


def guess(data: bytes) -> str:
    """The most likely encoding of bytes without a mark."""
    if wide := _wide(data):
        return wide
    return "utf-8" if _decodes(data, "utf-8") or _mostly_utf8(data) else _legacy(data)


def wide_encoding(data: bytes) -> str:
    """The UTF-16 or UTF-32 encoding of a text, by its mark or its content; "" if it is neither."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding if encoding in _WIDE else ""
    return _wide(data)


def _read(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace")
    unreadable = text.count("\ufffd")
    if not unreadable or _decodes(data, encoding):
        return Decoded(text, encoding)
    line = text.count("\n", 0, text.index("\ufffd")) + 1
    places = "1 place" if unreadable == 1 else f"{unreadable:,} places"
    return Decoded(
        text,
        encoding,
        f"The file mixes encodings or is damaged: {places} could not be read as "
        f"{encoding.upper()} and show as “\ufffd”, first in line {line:,}.",
    )


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name if label.strip() else ""
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(name, name)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        # LookupError: a label of a codec that is not for text, such as "hex".
        return False
    return True


def _wide(data: bytes) -> str:
    sample = data[: _SAMPLE - _SAMPLE % 4]
    if b"\x00" not in sample and _decodes(data, "utf-8"):
        return ""
    for encoding in reversed(_WIDE):
        width = 4 if "32" in encoding else 2
        if len(data) % width == 0 and _is_plausible(sample, encoding):
            return encoding
    return ""


def _is_plausible(sample: bytes, encoding: str) -> bool:
    """Whether a sample reads as text in this encoding.

    Text in the wrong byte order or width is full of private-use characters and lacks spaces and
    punctuation; 0.97 and 1 in 100 separated every sample tried.
    """
    text = sample.decode(encoding, errors="replace")
    ordinary = len(_ORDINARY.findall(text))
    separators = len(_SEPARATORS.findall(text))
    shortest = 1 if b"\x00" in sample else 20
    return (
        len(text) >= shortest
        and ordinary >= 0.97 * len(text)
        and separators * 100 >= len(text)
        and separators < len(text)
    )


def _mostly_utf8(data: bytes) -> bool:
    """In legacy encodings valid UTF-8 sequences are accidents, and fewer than other high bytes."""
    high = len(_HIGH.findall(data))
    valid = sum(len(match) for match in _UTF8_SEQUENCE.findall(data))
    return valid * 2 >= high


def _legacy(data: bytes) -> str:
    sample = b"\n".join(_telling_lines(data.splitlines()))
    if _looks_western(sample):
        text = sample.decode("cp1252")
        for encoding, telling, excluding in _READ_AS_WESTERN:
            if telling.search(text) and not excluding.search(text):
                return encoding
        return "cp1252"
    best = charset_normalizer.from_bytes(sample, cp_exclusion=_WITH_MARK).best()
    encoding = _SUPERSETS.get(best.encoding, best.encoding) if best else "cp1252"
    if encoding != "cp949" and _COMMON_CHINESE.fullmatch(sample):
        return "gb18030"
    return encoding


def _telling_lines(lines: Iterable[bytes]) -> list[bytes]:
    """Lines with non-ASCII bytes, up to the size of a sample; one endless line is cut."""
    telling: list[bytes] = []
    room = _SAMPLE
    for line in lines:
        if room <= 0:
            break
        if first := _HIGH.search(line):
            begin = max(0, first.start() - 1000) if len(line) > room else 0
            telling.append(line[begin : begin + room])
            room -= len(line)
    return telling


def _looks_western(sample: bytes) -> bool:
    """High bytes are rare, single among ASCII letters, and letters or marks in cp1252."""
    if _UNDEFINED_1252.search(sample) or not _decodes(sample, "cp1252"):
        return False
    text = sample.decode("cp1252")
    high = [char for char in text if char > "\x7f"]
    runs = len(re.findall("[^\x00-\x7f]{3,}", text))
    return len(high) * 3 < len(text) and runs == 0 and not _SYMBOL_IN_WORD.search(text)
