"""Runs of text within a paragraph: emphasis, and the span a citation marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

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
_RULE: Final = re.compile(r"\|(?:[ \t]*(?::-+:?|-+:|-{3,})[ \t]*\|)+")
_BARS: Final = re.compile(r"(?:(?<!\S)\|(?!\S)\s*)+")
_OUTER_BAR: Final = re.compile(r"^(?:\s*\|(?!\S))+\s*|\s*(?:(?<!\S)\|\s*)+$")
_STYLES: Final = {"code": "code", "strong": "strong", "em": "em", "em2": "em"}


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


def _without_bars(text: str) -> str:
    """Turn the cells of a table into one line of text."""
    cells = _OUTER_BAR.sub("", _RULE.sub("|", text))
    return _BARS.sub("· ", cells)


def plain(text: str) -> str:
    """Strip Markdown from text, for a quotation on a page.

    >>> plain("The **Great Lens** of [Skarrow](skarrow.md)")
    'The Great Lens of Skarrow'
    >>> plain("| Ada Lind | Keeper |\\n| --- | --- |\\n| Per Holm | Skipper |")
    'Ada Lind · Keeper · Per Holm · Skipper'
    """
    lines = _LINE_MARK.sub("", _without_bars(text) if text.count("|") > 1 else text)
    shown = "".join(piece.text for piece in pieces_of([(0, lines)], is_markdown=True))
    return _LONE_MARK.sub("", shown)
