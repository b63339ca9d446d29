"""Lay out a document's stored text for reading: headings, paragraphs, tables, a marked span.

Except for pictures of pages, this is pure: text and offsets in, plain values out. Offsets
are characters of the version's text throughout, so that a citation's span marks exactly the
characters it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from ingestion.documents.reader.blocks import (
    Block,
    Grouping,
    Span,
    blocks_of,
    markdown_groups,
    plain_groups,
    record_groups,
)
from ingestion.models import DocumentVersion
from ingestion.parsers.sandbox import default_sandbox
from kb_project.errors import NotFoundError, ParseError

MOST_HEADINGS = 200


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading in the outline; ``is_here`` if it lies in the window shown."""

    depth: int
    title: str
    start: int
    is_here: bool

    @property
    def anchor(self) -> str:
        return f"h-{self.start}"


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of a document version needed to lay it out."""

    text: str
    headings: Sequence[Sequence[Any]]
    """Level, title and start of each, in order."""
    pages: list[list[int]]
    is_markdown: bool = False
    is_records: bool = False
    """Whether every line is its own record, as in a table that was read row by row."""
    code: Sequence[Span] = ()
    """Spans of code, in order; Markdown marks its own."""


@dataclass(frozen=True, slots=True)
class LaidOutText:
    """A stretch of a document, laid out. ``is_lost``: the requested span does not exist."""

    blocks: tuple[Block, ...]
    window: Window
    outline: tuple[OutlineEntry, ...]
    is_lost: bool


def read(
    source: Source, *, span: Span | None = None, begin: int = 0, length: int = 60_000
) -> LaidOutText:
    """Lay out about ``length`` characters, around ``span`` or from ``begin`` on."""
    is_lost = False
    if span is not None:
        start, end = span
        is_there = 0 <= start < end <= len(source.text) and source.text[start:end].strip()
        is_lost = not is_there
    marked = None if is_lost else span
    window = window_of(source.text, span=marked, begin=begin, length=length)
    headings = {
        start: depth for depth, _, start in source.headings if window.start <= start < window.end
    }
    groups: Grouping = partial(plain_groups, code=source.code)
    if source.is_records or source.is_markdown:
        groups = record_groups if source.is_records else markdown_groups
    return LaidOutText(
        blocks=tuple(
            blocks_of(
                source.text[window.start : window.end],
                offset=window.start,
                headings=headings,
                pages=source.pages if len(source.pages) > 1 else [],
                span=marked,
                groups=groups,
            )
        ),
        window=window,
        outline=outline_of(source, window),
        is_lost=is_lost,
    )


def outline_of(source: Source, window: Window) -> tuple[OutlineEntry, ...]:
    """Return the first headings, with depths counted from the shallowest."""
    if len(source.headings) < 2:
        return ()
    top = min(depth for depth, _, _ in source.headings)
    return tuple(
        OutlineEntry(
            depth=depth - top + 1,
            title=title,
            start=start,
            is_here=window.start <= start < window.end,
        )
        for depth, title, start in source.headings[:MOST_HEADINGS]
    )


def page_at(pages: list[list[int]], offset: int) -> int | None:
    """Return the number of the page an offset lies on.

    >>> page_at([[1, 0, 10], [2, 12, 30]], 15)
    2
    """
    return next((number for number, start, end in pages if start <= offset < end), None)


SNAP = 600
"""Characters within which a cut is moved to the nearest line break."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of text; ``earlier`` and ``later`` are where its neighbours begin, if there are
    any.
    """

    start: int
    end: int
    earlier: int | None
    later: int | None


def window_of(text: str, *, span: tuple[int, int] | None, begin: int, length: int) -> Window:
    """Return about ``length`` characters of ``text`` around ``span``, or from ``begin``.

    >>> window_of("abc", span=None, begin=0, length=10)
    Window(start=0, end=3, earlier=None, later=None)
    """
    if len(text) <= length * 1.5:
        return Window(0, len(text), None, None)
    first = begin if span is None else max(0, span[0] - length // 2)
    at = min(max(0, first), len(text) - 1)
    start = _snap_back(text, at)
    # Count from the requested offset, not from the snapped start: then the stretch before this one
    # always reaches up to it, and the one after always advances.
    least = at + length if span is None else max(at + length, span[1])
    end = _snap_forward(text, least)
    return Window(
        start=start,
        end=end,
        earlier=max(0, start - length) if start > 0 else None,
        later=end if end < len(text) else None,
    )


def _snap_back(text: str, at: int) -> int:
    """Return the beginning of the line if it is near; a line may be the whole file."""
    if at == 0:
        return 0
    return max(text.rfind("\n", max(0, at - SNAP), at) + 1, 0) or at


def _snap_forward(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    found = text.find("\n", at, at + SNAP)
    return at if found < 0 else found + 1


WIDTH: Final = 1400
"""Pixels: sharp on a dense screen at the reader's width, and still fast to render."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in thousandths of the page's width and height, from its top left corner."""

    left: int
    top: int
    width: int
    height: int


def page_picture(*, version: DocumentVersion, number: int) -> bytes:
    """Return a page as a PNG, cached beside the file. Raises NotFoundError, ParseError."""
    if version.parser != "pdf" or all(page[0] != number for page in version.pages):
        raise NotFoundError("This document has no image of that page.")
    kept = Path(f"{_blob(version)}.pages") / f"{number}.png"
    if kept.exists():
        return kept.read_bytes()
    picture = default_sandbox().render_page(_blob(version), number, WIDTH)
    kept.parent.mkdir(exist_ok=True)
    # Two people may ask at once: each writes its own file, and the last rename wins.
    draft = kept.with_suffix(f".{id(picture)}.part")
    draft.write_bytes(picture)
    draft.replace(kept)
    return picture


def page_marks(*, version: DocumentVersion, number: int, span: tuple[int, int]) -> list[Box]:
    """Return where the span is on that page; empty if it cannot be located reliably."""
    page = next((page for page in version.pages if page[0] == number), None)
    if page is None:
        return []
    start, end = max(span[0], page[1]) - page[1], min(span[1], page[2]) - page[1]
    if start >= end:
        return []
    try:
        found = default_sandbox().page_boxes(_blob(version), number, page[2] - page[1], start, end)
    except ParseError:
        return []  # the page is shown without marks; the text tab marks the same words
    return [
        Box(round(x0 * 1000), round(y0 * 1000), round((x1 - x0) * 1000), round((y1 - y0) * 1000))
        for x0, y0, x1, y1 in found
    ]


def _blob(version: DocumentVersion) -> Path:
    return Path(settings.MEDIA_ROOT) / version.blob
