"""A document's stored text as something to read: headings, paragraphs, tables, a marked span.

Everything here is pure: text and offsets in, plain values out. Offsets are characters of the
version's text throughout, so that a citation's span marks exactly the characters it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ingestion.reading.blocks import (
    Block,
    Grouping,
    Span,
    blocks_of,
    markdown_groups,
    plain_groups,
    record_groups,
)
from ingestion.reading.window import Window, window_of

MOST_HEADINGS = 200


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading in the outline; ``is_here`` when it lies in the window that is shown."""

    depth: int
    title: str
    start: int
    is_here: bool

    @property
    def anchor(self) -> str:
        return f"h-{self.start}"


@dataclass(frozen=True, slots=True)
class Source:
    """What of a document version is needed to read it."""

    text: str
    headings: list[list[object]]
    pages: list[list[int]]
    is_markdown: bool = False
    is_records: bool = False
    """Every line is a record of its own, as in a table that was read row by row."""
    code: Sequence[Span] = ()
    """Where code stands, in order; Markdown marks its own."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A stretch of a document laid out. ``is_lost``: a span was asked for that is not there."""

    blocks: tuple[Block, ...]
    window: Window
    outline: tuple[OutlineEntry, ...]
    is_lost: bool


def read(
    source: Source, *, span: Span | None = None, begin: int = 0, length: int = 60_000
) -> Reading:
    """Lay out about ``length`` characters, around ``span`` or from ``begin`` on."""
    is_lost = span is not None and not is_within(span, source.text)
    marked = None if is_lost else span
    window = window_of(source.text, span=marked, begin=begin, length=length)
    return Reading(
        blocks=tuple(
            blocks_of(
                source.text[window.start : window.end],
                offset=window.start,
                headings=headings_in(source, window),
                pages=source.pages if len(source.pages) > 1 else [],
                span=marked,
                groups=groups_for(source),
            )
        ),
        window=window,
        outline=outline_of(source, window),
        is_lost=is_lost,
    )


def groups_for(source: Source) -> Grouping:
    if source.is_records:
        return record_groups
    return markdown_groups if source.is_markdown else partial(plain_groups, code=source.code)


def is_within(span: Span, text: str) -> bool:
    start, end = span
    return 0 <= start < end <= len(text) and bool(text[start:end].strip())


def headings_in(source: Source, window: Window) -> dict[int, int]:
    """Depth of each heading by the offset its line begins at."""
    return {
        int(str(start)): int(str(depth))
        for depth, _, start in source.headings
        if window.start <= int(str(start)) < window.end
    }


def outline_of(source: Source, window: Window) -> tuple[OutlineEntry, ...]:
    """The first headings, depths counted from the shallowest there is."""
    if len(source.headings) < 2:
        return ()
    top = min(int(str(depth)) for depth, _, _ in source.headings)
    return tuple(
        OutlineEntry(
            depth=int(str(depth)) - top + 1,
            title=str(title),
            start=int(str(start)),
            is_here=window.start <= int(str(start)) < window.end,
        )
        for depth, title, start in source.headings[:MOST_HEADINGS]
    )


def page_at(pages: list[list[int]], offset: int) -> int | None:
    """The number of the page an offset lies on.

    >>> page_at([[1, 0, 10], [2, 12, 30]], 15)
    2
    """
    return next((number for number, start, end in pages if start <= offset < end), None)
