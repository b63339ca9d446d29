"""Cut text into blocks, headings, paragraphs, list entries, table rows and code, and into runs.

Runs are characters exactly as in the document, with the emphasis that Markdown gives them; those of
a citation's span are marked. Offsets are kept throughout.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from kb_project.text.statements import cells_of

LONGEST: Final = 20_000
"""Characters of a paragraph above which its emphasis is not parsed."""

_INLINE: Final = re.compile(
    r"\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|`(?P<code>[^`\n]+)`"
    r"|!?\[(?P<link>[^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])"
    r"|(?:\*\*|__)(?=\S)(?P<strong>[^\n]{1,600}?)(?<=\S)(?:\*\*|__)"
    r"|\*(?=\S)(?P<em>[^*\n]{1,600}?)(?<=\S)\*"
    r"|(?<!\w)_(?=\S)(?P<em2>[^_\n]{1,600}?)(?<=\S)_(?!\w)"
)
_LINE_MARK: Final = re.compile(r"(?m)(?:^|(?<=[.!?。！？] ))[ ]{0,3}(?:#{1,6}|>|[-*+])[ \t]+")
# A quotation may begin or end inside an emphasis, and so contain only one of its marks.
_LONE_MARK: Final = re.compile(r"\*\*|(?<!\S)\*(?=\S)|(?<=\S)\*(?!\S)")
# The bars between table cells, the divider row, and the bars at the ends.
_TABLE_RULE: Final = re.compile(r"\|(?:[ \t]*(?::-+:?|-+:|-{3,})[ \t]*\|)+")
_BARS: Final = re.compile(r"(?:(?<!\S)\|(?!\S)\s*)+")
_OUTER_BAR: Final = re.compile(r"^(?:\s*\|(?!\S))+\s*|\s*(?:(?<!\S)\|\s*)+$")
_FIRST_BAR: Final = re.compile(r"\s*\|(?!\S)")
_LAST_BAR: Final = re.compile(r"(?<!\S)\|\s*$")
_STYLES: Final = {"code": "code", "strong": "strong", "em": "em", "em2": "em"}

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
class Piece:
    """A run of characters exactly as in the document, beginning at ``start``."""

    start: int
    text: str
    style: str = ""
    is_marked: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class SourceLine:
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
Group = tuple[str, int, list[SourceLine]]
Grouping = Callable[[Sequence[SourceLine], Mapping[int, int]], Iterator[Group]]


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
        SourceLine(offset + match.start(), match.group().rstrip("\n"))
        for match in _LINE.finditer(text)
    ]
    # A stretch that begins in the middle of a page shows no page number until the next page begins.
    waiting = [page for page in pages if page[1] >= offset]
    for kind, depth, group in groups(lines, headings):
        page = None
        while waiting and waiting[0][1] <= group[0].start:
            page = waiting.pop(0)[0]
        yield _marked(_block(kind, depth, group, is_markdown=groups is markdown_groups), span, page)


def plain_groups(
    lines: Sequence[SourceLine], headings: Mapping[int, int], code: Sequence[Span] = ()
) -> Iterator[Group]:
    """Blank lines separate paragraphs; a heading line is its own group; code is kept verbatim.

    ``code`` are the stretches of code, in order.
    """
    return _grouped(((line, _plain_kind(line, headings, code)) for line in lines), headings)


def _grouped(
    kinds: Iterable[tuple[SourceLine, str]], headings: Mapping[int, int]
) -> Iterator[Group]:
    """Join neighbouring lines of one kind; each heading and list entry begins a group."""
    held: list[SourceLine] = []
    held_kind = ""
    for line, kind in kinds:
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


def _plain_kind(line: SourceLine, headings: Mapping[int, int], code: Sequence[Span]) -> str:
    """Return the kind of group a line belongs to, '' for a blank one; a blank line within code is
    code.
    """
    if line.start in headings:
        return "heading"
    place = bisect_right(code, line.start, key=itemgetter(1))
    if place < len(code) and code[place][0] < line.start + max(len(line.text), 1):
        return "code"
    return "paragraph" if line.text.strip() else ""


def record_groups(lines: Sequence[SourceLine], headings: Mapping[int, int]) -> Iterator[Group]:
    """Group lines into records: every line that is not blank is a record or a heading."""
    for line in lines:
        if line.start in headings:
            yield "heading", headings[line.start], [line]
        elif line.text.strip():
            yield "record", 0, [line]


def markdown_groups(lines: Sequence[SourceLine], headings: Mapping[int, int]) -> Iterator[Group]:
    def kinds() -> Iterator[tuple[SourceLine, str]]:
        before = fence = ""
        for line in lines:
            kind, fence = _markdown_kind(line, headings, before, fence)
            before = before if kind == "continued" else kind
            yield line, kind

    return _grouped(kinds(), headings)


def _markdown_kind(
    line: SourceLine, headings: Mapping[int, int], before: str, fence: str
) -> tuple[str, str]:
    """Return the kind a line belongs to ('' if it shows nothing), and the fence open after it."""
    opened = _FENCE.match(line.text)
    if fence:
        closes = opened is not None and opened.group(1) == fence
        return ("", "") if closes else ("code", fence)
    if opened:
        return "", opened.group(1)
    return _unfenced_kind(line, headings, before), ""


def _unfenced_kind(line: SourceLine, headings: Mapping[int, int], before: str) -> str:
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


def _block(kind: str, depth: int, group: list[SourceLine], *, is_markdown: bool) -> Block:
    start = group[0].start
    if kind == "code":
        return Block(
            kind, start, pieces=tuple(Piece(line.start, line.text + "\n") for line in group)
        )
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


def _content(kind: str, line: SourceLine) -> tuple[int, str]:
    """Return a line's content without its Markdown prefix, and the offset where it begins."""
    if kind == "heading" and (atx := _ATX.match(line.text)):
        return line.start + atx.start(1), atx.group(1)
    pattern = {"entry": _ENTRY, "quote": _QUOTE}.get(kind)
    marks = pattern.match(line.text) if pattern else None
    at = marks.end() if marks else 0
    return line.start + at, line.text[at:]


def _rows(group: Sequence[SourceLine]) -> Iterator[tuple[tuple[Piece, ...], ...]]:
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


def pieces_of(lines: Sequence[tuple[int, str]], *, is_markdown: bool) -> tuple[Piece, ...]:
    """Return the runs of some lines, each given as ``(offset, text)``, with line breaks between
    them.
    """
    total = sum(len(text) for _, text in lines)
    styled = is_markdown and total <= LONGEST
    found: list[Piece] = []
    for number, (start, text) in enumerate(lines):
        line = text + ("\n" if number < len(lines) - 1 else "")
        found += _styled(start, line) if styled else [Piece(start, line)]
    return tuple(found)


def _styled(start: int, text: str) -> Iterator[Piece]:
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            yield Piece(start + at, text[at : match.start()])
        name = match.lastgroup or ""
        yield from _inside(start + match.start(name), match.group(name), name)
        at = match.end()
    if at < len(text):
        yield Piece(start + at, text[at:])


def _inside(start: int, text: str, name: str) -> Iterator[Piece]:
    style = _STYLES.get(name, "")
    if not text:
        return
    if name != "strong":
        yield Piece(start, text, style)
        return
    # A strong run may contain one emphasis; deeper nesting is shown as strong.
    for piece in _styled(start, text):
        yield replace(piece, style=style)


def mark_pieces(pieces: Iterable[Piece], span: tuple[int, int]) -> tuple[Piece, ...]:
    """Cut the runs where the span begins and ends, and mark those inside it.

    >>> [piece.is_marked for piece in mark_pieces([Piece(0, "abcdef")], (2, 4))]
    [False, True, False]
    """
    return tuple(part for piece in pieces for part in _cut(piece, *span))


def _cut(piece: Piece, first: int, last: int) -> Iterator[Piece]:
    start, end = max(piece.start, first), min(piece.end, last)
    if start >= end:
        yield piece
        return
    if piece.start < start:
        yield replace(piece, text=piece.text[: start - piece.start])
    yield replace(
        piece,
        start=start,
        text=piece.text[start - piece.start : end - piece.start],
        is_marked=True,
    )
    if end < piece.end:
        yield replace(piece, start=end, text=piece.text[end - piece.start :])


def plain(text: str) -> str:
    """Strip Markdown from text, for a quotation on a page.

    >>> plain("The **Great Lens** of [Skarrow](skarrow.md)")
    'The Great Lens of Skarrow'
    >>> plain("| Ada Lind | Keeper |\\n| --- | --- |\\n| Per Holm | Skipper |")
    'Ada Lind · Keeper · Per Holm · Skipper'
    """
    return _plain(text, has_cells=text.count("|") > 1)


def plain_around(before: str, quote: str, after: str) -> tuple[str, str, str]:
    """Strip Markdown from a quote and from the text on either side, with what separates them.

    >>> plain_around("| Bo | Clerk |\\n", "| Ada | Keeper |", "\\n| Per | Skipper |")
    ('Bo · Clerk · ', 'Ada · Keeper', ' · Per · Skipper')
    """
    has_cells = (before + quote + after).count("|") > 1
    shown = [_plain(one, has_cells=has_cells) for one in (before, quote, after)]
    if has_cells and shown[0] and (joint := _joint(before, quote)):
        shown[0] = shown[0].rstrip() + joint
    if has_cells and shown[2] and (joint := _joint(quote, after)):
        shown[2] = joint + shown[2].lstrip()
    return shown[0], shown[1], shown[2]


def _joint(left: str, right: str) -> str:
    """Return what separates two texts instead of the bars between them; '' if there are none."""
    ends, begins = bool(_LAST_BAR.search(left)), bool(_FIRST_BAR.match(right))
    if not (ends or begins):
        return ""
    gap = left[len(left.rstrip()) :] + right[: len(right) - len(right.lstrip())]
    # A bar on one side only, with a line between: the table begins or ends here.
    return "\n" if ends != begins and "\n" in gap else " · "


def _plain(text: str, *, has_cells: bool) -> str:
    if has_cells:
        # The cells of a table become one line of text.
        text = _BARS.sub("· ", _OUTER_BAR.sub("", _TABLE_RULE.sub("|", text)))
    lines = _LINE_MARK.sub("", text)
    shown = "".join(piece.text for piece in pieces_of([(0, lines)], is_markdown=True))
    return _LONE_MARK.sub("", shown)
