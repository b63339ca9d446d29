"""The input and output of every format's reader: plain values only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kb_project.text.regions import Region

MIB = 1024 * 1024


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

    path: Path
    name: str
    media_type: str
    limits: Limits
