"""The input and output of all parsers: plain values, and the characters allowed in text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingestion.parsers.open_file import OpenFile
from kb_project.text.regions import Region

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
    """A pattern of a title's words, with any white space between them and any quotes.

    >>> re.search(title_pattern('About "sid"'), "6.3 About\\n”sid”").start()
    4
    """
    words = (_QUOTES.sub(_ANY_QUOTE, re.escape(word)) for word in title.split())
    return r"\s{1,4}".join(words)


def one_line(text: str, *, limit: int = 300) -> str:
    """Any text as one short line, for titles, labels and metadata."""
    line = _SPACES.sub(" ", clean(text)[0]).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
