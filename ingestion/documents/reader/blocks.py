"""Cuts text into headings, paragraphs, list entries, table rows and code, keeping offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from ingestion.documents.reader.inline import Piece, mark_pieces, pieces_of
from kb_project.text.statements import cells_of

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")
_ATX: Final = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*\Z")
_UNDERLINE: Final = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*\Z")
_RULE: Final = re.compile(r"[ ]{0,3}([-*_])([ \t]*\1){2,}[ \t]*\Z")
_ENTRY: Final = re.compile(r"([ \t]*)([-*+]|\d{1,3}[.)])[ \t]+(?=\S)")
_QUOTE: Final = re.compile(r"[ ]{0,3}>[ ]?")
_ROW: Final = re.compile(r"[ ]{0,3}\|.*\|[ \t]*\Z")
_DIVIDER: Final = re.compile(r"[ |:\-\t]+\Z")
_FENCE: Final = re.compile(r"[ ]{0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its line break, and the offset in the document where it begins."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block of text. ``kind`` is heading, paragraph, entry, quote, code, record or table, the
    only one with ``rows``.

    ``page`` is the number of the page that begins with this block.
    """

    kind: str
    start: int
    pieces: tuple[Piece, ...] = ()
    rows: tuple[tuple[tuple[Piece, ...], ...], ...] = ()
    depth: int = 0
    label: str = ""
    page: int | None = None

    @property
    def anchor(self) -> str:
        return f"h-{self.start}"


Span = tuple[int, int]
Group = tuple[str, int, list[Line]]
Grouping = Callable[[Sequence[Line], Mapping[int, int]], Iterator[Group]]


def blocks_of(
    text: str,
    *,
    offset: int,
    headings: Mapping[int, int],
    pages: Sequence[Sequence[int]],
    span: Span | None,
    groups: Grouping,
) -> Iterator[Block]:
    """Yield the blocks of ``text``, which begins at ``offset`` in the document."""
    lines = [
        Line(offset + match.start(), match.group().rstrip("\n")) for match in _LINE.finditer(text)
    ]
    # A stretch that begins in the middle of a page shows no page number until the next page begins.
    waiting = [page for page in pages if page[1] >= offset]
    for kind, depth, group in groups(lines, headings):
        page = None
        while waiting and waiting[0][1] <= group[0].start:
            page = waiting.pop(0)[0]
        yield _marked(_block(kind, depth, group, is_markdown=groups is markdown_groups), span, page)


def plain_groups(
    lines: Sequence[Line], headings: Mapping[int, int], code: Sequence[Span] = ()
) -> Iterator[Group]:
    """Blank lines separate paragraphs; a heading line is its own group; code is kept verbatim.

    ``code`` are the stretches of code, in order.
    """
    held: list[Line] = []
    held_kind = ""
    for line in lines:
        kind = _plain_kind(line, headings, code)
        if held and kind != held_kind:
            yield held_kind, 0, held
            held = []
        if kind == "heading":
            yield "heading", headings[line.start], [line]
        elif kind:
            held.append(line)
        held_kind = kind
    if held:
        yield held_kind, 0, held


def _plain_kind(line: Line, headings: Mapping[int, int], code: Sequence[Span]) -> str:
    """Return the kind of group a line belongs to, '' for a blank one; a blank line within code is
    code.
    """
    if line.start in headings:
        return "heading"
    place = bisect_right(code, line.start, key=itemgetter(1))
    if place < len(code) and code[place][0] < line.start + max(len(line.text), 1):
        return "code"
    return "paragraph" if line.text.strip() else ""


def record_groups(lines: Sequence[Line], headings: Mapping[int, int]) -> Iterator[Group]:
    """Group lines into records: every line that is not blank is a record or a heading."""
    for line in lines:
        if line.start in headings:
            yield "heading", headings[line.start], [line]
        elif line.text.strip():
            yield "record", 0, [line]


def markdown_groups(lines: Sequence[Line], headings: Mapping[int, int]) -> Iterator[Group]:
    held: list[Line] = []
    held_kind = ""
    fence = ""
    for line in lines:
        kind, fence = _markdown_kind(line, headings, held_kind, fence)
        if kind == "continued":
            held.append(line)
            continue
        if held and (kind != held_kind or kind == "entry"):
            yield held_kind, 0, held
            held = []
        if kind == "heading":
            yield "heading", headings[line.start], [line]
        elif kind:
            held.append(line)
        held_kind = kind
    if held:
        yield held_kind, 0, held


def _markdown_kind(
    line: Line, headings: Mapping[int, int], before: str, fence: str
) -> tuple[str, str]:
    """Return the kind a line belongs to ('' if it shows nothing), and the fence open after it."""
    opened = _FENCE.match(line.text)
    if fence:
        closes = opened is not None and opened.group(1) == fence
        return ("", "") if closes else ("code", fence)
    if opened:
        return "", opened.group(1)
    return _unfenced_kind(line, headings, before), ""


def _unfenced_kind(line: Line, headings: Mapping[int, int], before: str) -> str:
    text = line.text
    if line.start in headings:
        return "heading"
    # A line of dashes under a heading or between two parts shows nothing itself.
    if not text.strip() or _UNDERLINE.match(text) or _RULE.match(text):
        return ""
    if _ROW.match(text):
        return "table"
    if _QUOTE.match(text):
        return "quote"
    if _ENTRY.match(text):
        return "entry"
    return "continued" if before == "entry" and text[0] in " \t" else "paragraph"


def _block(kind: str, depth: int, group: list[Line], *, is_markdown: bool) -> Block:
    start = group[0].start
    if kind == "code":
        return Block(kind, start, pieces=_verbatim(group))
    if kind == "table":
        return Block(kind, start, rows=tuple(_rows(group)))
    shown = [
        _content(kind if number == 0 or kind == "quote" else "", line)
        if is_markdown
        else (line.start, line.text)
        for number, line in enumerate(group)
    ]
    pieces = pieces_of(shown, is_markdown=is_markdown)
    label = ""
    if kind == "entry" and (entry := _ENTRY.match(group[0].text)):
        depth, label = len(entry.group(1).expandtabs(4)) // 2, entry.group(2).strip("-*+")
    return Block(kind, start, pieces, depth=depth, label=label)


def _content(kind: str, line: Line) -> tuple[int, str]:
    """Return a line's content without its Markdown prefix, and the offset where it begins."""
    if kind == "heading" and (atx := _ATX.match(line.text)):
        return line.start + atx.start(1), atx.group(1)
    pattern = {"entry": _ENTRY, "quote": _QUOTE}.get(kind)
    marks = pattern.match(line.text) if pattern else None
    at = marks.end() if marks else 0
    return line.start + at, line.text[at:]


def _verbatim(group: Sequence[Line]) -> tuple[Piece, ...]:
    return tuple(Piece(line.start, line.text + "\n") for line in group)


def _rows(group: Sequence[Line]) -> Iterator[tuple[tuple[Piece, ...], ...]]:
    for line in group:
        if not _DIVIDER.match(line.text):
            yield tuple(
                pieces_of([(line.start + at, cell)], is_markdown=True)
                for at, cell in cells_of(line.text)
            )


def _marked(block: Block, span: Span | None, page: int | None) -> Block:
    if span is None:
        return replace(block, page=page)
    return replace(
        block,
        page=page,
        pieces=mark_pieces(block.pieces, span),
        rows=tuple(tuple(mark_pieces(cell, span) for cell in row) for row in block.rows),
    )
