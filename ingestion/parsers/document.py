"""The input and output of all parsers: open files, plain values, the characters allowed in text."""

from __future__ import annotations

import io
import mmap
import os
import re
from ctypes import Array, c_char
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from kb_project.text.regions import Region

_BUFFER: Final = 64 * 1024


class OpenFile:
    """Any number of readers may share its descriptor: each has its own place in the file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Reader(self.descriptor), _BUFFER)

    def read_bytes(self) -> bytes:
        return _Reader(self.descriptor).readall()

    def mapped(self) -> Array[c_char]:
        """Map the file into memory, for native code. It must not be empty."""
        # A private copy: ctypes takes none that cannot be written.
        memory = mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_COPY)
        return (c_char * len(memory)).from_buffer(memory)


class _Reader(io.RawIOBase):
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._place = 0

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        size = os.fstat(self._descriptor).st_size
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: size}[whence]
        if start + offset < 0:
            raise OSError(22, "before the start of the file")
        self._place = start + offset
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        read = os.preadv(self._descriptor, [buffer], self._place)
        self._place += read
        return read

    def readall(self) -> bytes:
        parts = []
        rest = os.fstat(self._descriptor).st_size - self._place
        while rest > 0 and (part := os.pread(self._descriptor, rest, self._place)):
            parts.append(part)
            self._place += len(part)
            rest -= len(part)
        return b"".join(parts)


MIB = 1024 * 1024
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_INVISIBLE = re.compile("[\u00ad\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_FINAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_QUOTES = re.compile("\\\\?[\"'“”„‘’‚`´]")
_ANY_QUOTE = "[\"'“”„‘’‚`´]"
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class PageSpan:
    """One page, slide, sheet or chapter, counted from 1; offsets are characters of the text."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """``start`` is where the heading's line begins in the text (in Markdown, at its mark)."""

    level: int
    title: str
    start: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file as text.

    The text has ``\\n`` line ends and no control characters, lone surrogates or invisible marks
    (soft hyphen, byte-order mark), so Postgres can store it as it is. Unicode is not normalised: a
    citation must show the characters of the file, and search folds them itself. ``regions`` are all
    stretches that are not prose, in order, none overlapping.
    """

    text: str
    title: str
    media_type: str
    pages: tuple[PageSpan, ...]
    headings: tuple[Heading, ...]
    regions: tuple[Region, ...]
    metadata: dict[str, str]
    warnings: tuple[str, ...]
    parser: str
    encoding: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may cost. ``seconds`` is wall-clock time."""

    seconds: float = 60.0
    memory_bytes: int = 1024 * MIB
    max_bytes: int = 200 * MIB
    max_characters: int = 20_000_000
    max_pages: int = 5000
    max_archive_bytes: int = 512 * MIB
    max_archive_ratio: int = 200
    max_archive_entries: int = 20_000


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read. ``name`` is only shown or compared, never opened."""

    file: OpenFile
    name: str
    media_type: str
    limits: Limits


def clean(text: str) -> tuple[str, int]:
    """The text in its final form, and the number of control characters removed.

    >>> clean("a\\r\\nb\\x00")
    ('a\\nb', 1)
    """
    if not _NOT_FINAL.search(text):
        return text, 0
    text = _INVISIBLE.sub("", _BREAKS.sub("\n", text))
    text, removed = _CONTROLS.subn("", text)
    return _SURROGATES.sub("\ufffd", text), removed


def is_clean(text: str) -> bool:
    return _NOT_FINAL.search(text) is None


def title_pattern(title: str) -> str:
    """A pattern of a title's words, with any white space or ``_`` between them and any quotes.

    >>> re.search(title_pattern('About "sid"'), "6.3 About\\n”sid”").start()
    4
    """
    words = (_QUOTES.sub(_ANY_QUOTE, re.escape(word)) for word in title.split())
    return r"[\s_]{1,4}".join(words)


def one_line(text: str, *, limit: int = 300) -> str:
    """Any text as one short line, for titles, labels and metadata."""
    line = _SPACES.sub(" ", clean(text)[0]).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
