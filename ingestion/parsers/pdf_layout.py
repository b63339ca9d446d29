"""The text of one PDF page in paragraphs, with each character's index in pdfium.

pdfium gives visual lines. Here they become paragraphs: ``joint`` chooses between a space, a line
break and a new paragraph, and words hyphenated at a line's end are rejoined. Table rows name their
columns. The result depends on the page and its neighbours alone, so boxes for a passage can be
found later by reading them again.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ingestion.parsers.pdf_lines import (
    ENTRY,
    HYPHENS,
    OTHER_SIZE,
    SAME_ROW,
    PageLines,
    PdfLine,
    usual_distance,
)
from ingestion.parsers.pdf_tables import PdfTable, Piece, with_tables

_ENDS: Final = ".!?:;。！？：；…”\"'’)"
_CJK: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S*\Z")
# Measured on reports, papers and letters: lines of one paragraph are up to 1.3 times the usual
# distance apart.
_WIDER_GAP: Final = 1.35
_INDENT: Final = 0.8
_SHORT_LINE: Final = 0.85
_SHORT_TERM: Final = 0.7
"""Of the width of the definition below it …"""
_LONGEST_TERM: Final = 60
"""… in characters …"""
_WIDEST_INDENT: Final = 6.0
_FARTHEST: Final = 4.5
"""… and the indent and the distance of the definition, in letter heights."""
_ALIGNED: Final = 3.0
"""Points by which lines at one edge differ at most."""
_FEWEST_TERMS: Final = 2
_NO_TERM: Final = re.compile(r"[.!?:;,…]$|(?: ?\.){4}")
_PAGED: Final = re.compile(r"[\s,]\d+$|^\W*\d+$")
"""How sentences end, and entries of contents and of an index."""


# What must be replaced: pdfium's marks for a cut word, controls, runs of space, surrogates.
_SPECIAL: Final = re.compile(
    r"(?: ?\.){6,}"
    "|[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]|[\ufffe\x02]|[ \t\xa0\u2028\u2029]+"
    "|[\x00-\x1f\x7f-\x9f\u00ad\ufeff\uffff]"
)
_WORD_BEFORE: Final = re.compile(r"[^\W\d_]+\Z")
_WORD_AFTER: Final = re.compile(r"[^\W\d_]+")
_SYNTHETIC: Final = -1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Offsets into the page's text; ``size`` is the height of its letters in points.

    ``is_code``: all its letters have one width. ``is_table``: it consists of table rows.
    ``is_term``: the paragraph below it defines it. ``is_running``: it stands at the page's edge,
    and on a page beside it, too.
    """

    start: int
    end: int
    size: float
    is_code: bool = False
    is_table: bool = False
    is_term: bool = False
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """``units[i]`` is the index of character i in pdfium's text, -1 if it was inserted here."""

    text: str
    units: array[int]
    paragraphs: tuple[Paragraph, ...]


def read_page(
    page: PageLines, before: PageLines | None = None, after: PageLines | None = None
) -> PageText:
    """``before`` and ``after`` are the pages beside it, on which its tables may go on."""
    running = page.running(before) | page.running(after)
    writer = _PageWriter(page.raw, running)
    usual = usual_distance(page.lines)
    size = median(line.size for line in page.lines) if page.lines else 0.0
    edges = right_edges(page.lines)
    terms = terms_of(page.lines, usual, edges) - running
    last: PdfLine | None = None
    for item in with_tables(page.page, page.lines, page.repeated(before, after)):
        if isinstance(item, PdfTable):
            writer.add_table(item)
            last = None
        elif item.start in terms:
            writer.add_term(item)
            last = None
        else:
            # The lines of a large heading are farther apart.
            larger = max(1.0, min(last.size, item.size) / size) if last and size else 1.0
            writer.add(item, joint(last, item, larger * usual, edges) if last else "\n\n")
            last = item
    return writer.finish()


class _PageWriter:
    def __init__(self, raw: str, running: Collection[int]) -> None:
        self._raw = raw
        self._running = running
        self._chars: list[str] = []
        self._units = array("i")
        self._paragraphs: list[Paragraph] = []
        self._start = 0
        self._gap = "\n\n"
        self._lines: list[PdfLine] = []

    def add(self, line: PdfLine, joint: str) -> None:
        if joint == "\n\n":
            self._open_paragraph()
        else:
            self._put(joint, _SYNTHETIC)
        self._lines.append(line)
        self._write(line, 0, len(line.text))

    def add_term(self, line: PdfLine) -> None:
        self._open_paragraph()
        self._write(line, 0, len(line.text))
        self._paragraphs.append(Paragraph(self._start, len(self._chars), line.size, is_term=True))
        self._gap = "\n"

    def add_table(self, table: PdfTable) -> None:
        self._open_paragraph()
        for number, row in enumerate(table.rows):
            self._put("\n" if number else "", _SYNTHETIC)
            self._write_row(row, table.labels if number else ())
        self._paragraphs.append(Paragraph(self._start, len(self._chars), table.size, is_table=True))

    def _write_row(self, row: Sequence[Sequence[Piece]], labels: Sequence[str]) -> None:
        """``Name: Ada; Role: Engineer``, like rows of other formats."""
        filled = [place for place, cell in enumerate(row) if cell]
        for number, place in enumerate(filled):
            self._put("; " if number else "", _SYNTHETIC)
            # A single cell names a part of the table and belongs to no column.
            if len(filled) > 1 and labels and labels[place]:
                self._put(f"{labels[place]}: ", _SYNTHETIC)
            for piece, before in zip(row[place], (None, *row[place]), strict=False):
                self._put(_space(before.line, piece.line) if before else "", _SYNTHETIC)
                self._write(piece.line, piece.cell.start, piece.cell.end)

    def _write(self, line: PdfLine, start: int, end: int) -> None:
        done = start
        for special in _SPECIAL.finditer(line.text, start, end):
            self._copy(line, done, special.start())
            self._replace(line, special)
            done = special.end()
        self._copy(line, done, end)

    def finish(self) -> PageText:
        self._close_paragraph()
        return PageText("".join(self._chars), self._units, tuple(self._paragraphs))

    def _open_paragraph(self) -> None:
        self._close_paragraph()
        self._put(self._gap if self._chars else "", _SYNTHETIC)
        self._gap = "\n\n"
        self._start = len(self._chars)

    def _close_paragraph(self) -> None:
        lines, self._lines = self._lines, []
        if lines and len(self._chars) > self._start:
            self._paragraphs.append(
                Paragraph(
                    self._start,
                    len(self._chars),
                    median(line.size for line in lines),
                    is_code=all(line.is_code for line in lines),
                    is_running=all(line.start in self._running for line in lines),
                )
            )

    def _copy(self, line: PdfLine, start: int, end: int) -> None:
        self._chars.extend(line.text[start:end])
        self._units.extend(range(line.start + start, line.start + end))

    def _put(self, text: str, unit: int) -> None:
        self._chars.extend(text)
        self._units.extend([unit] * len(text))

    def _replace(self, line: PdfLine, special: re.Match[str]) -> None:
        mark = special.group()
        unit = line.start + special.start()
        if mark in HYPHENS:
            if self._keeps_hyphen(line.text, special):
                self._put("-", unit)
        elif mark.endswith("."):
            # The dots that lead from a title to its page number in a table of contents.
            self._put(" …", unit)
        elif mark[0] in " \t\xa0\u2028\u2029":
            self._put(" ", unit)
        elif len(mark) == 2:
            self._put(mark.encode("utf-16-le", "surrogatepass").decode("utf-16-le"), unit)
        elif "\ud800" <= mark <= "\udfff":
            self._put("\ufffd", unit)

    def _keeps_hyphen(self, line: str, mark: re.Match[str]) -> bool:
        """True for "COVID-19" and for words the page also writes with a hyphen elsewhere."""
        left = _WORD_BEFORE.search(line, max(0, mark.start() - 40), mark.start())
        right = _WORD_AFTER.match(line, mark.end())
        if left is None or right is None or not right.group()[0].islower():
            return True
        return f"{left.group()}-{right.group()}" in self._raw


def terms_of(lines: Sequence[PdfLine], usual: float, edges: dict[int, float]) -> frozenset[int]:
    """The starts of lines that name what the indented paragraphs below them define, where at least
    two begin at one edge: *enable_avatars*, and below it, *Shows the pictures of senders.*"""
    found: list[tuple[PdfLine, float]] = []
    for before, line, after in zip((None, *lines), lines, lines[1:], strict=False):
        inner = _inner_edge(line, after)
        # A paragraph of its own: behind a gap, or behind another definition.
        is_alone = before is None or (
            before.bottom - line.first_bottom > _WIDER_GAP * usual or before.left > inner - _ALIGNED
        )
        is_short = line.right - line.left < _SHORT_TERM * _reach(after, edges)
        if inner and is_alone and is_short:
            found.append((line, inner))
    lefts = Counter(round(line.left / _ALIGNED) for line, _ in found)
    return frozenset(
        line.start for line, _ in found if lefts[round(line.left / _ALIGNED)] >= _FEWEST_TERMS
    )


def _inner_edge(term: PdfLine, below: PdfLine) -> float:
    """Where a definition below a term begins; 0 if the lines do not look like these."""
    indent, gap = below.left - term.left, term.bottom - below.first_bottom
    is_term = (
        len(term.text) <= _LONGEST_TERM
        and len(term.cells) <= 1
        and not (_NO_TERM.search(term.text) or ENTRY.match(term.text))
        and not any(_PAGED.search(line.text) for line in (term, below))
        # Not a command in the middle of a sentence.
        and not (term.is_code and " " in term.text)
        and any(map(str.isalpha, term.text))
    )
    is_definition = not below.is_code and below.size * OTHER_SIZE > term.size
    is_below = 0 < gap < _FARTHEST * below.size and _INDENT * below.size < indent
    is_near = indent < _WIDEST_INDENT * below.size
    return below.left if is_term and is_definition and is_below and is_near else 0.0


def right_edges(lines: list[PdfLine]) -> dict[int, float]:
    """How far lines with the same left edge reach: a column's right border."""
    edges: dict[int, float] = {}
    for line in lines:
        column = round(line.left / 12)
        for near in (column - 1, column, column + 1):
            edges[near] = max(edges.get(near, 0.0), line.right)
    return edges


def joint(upper: PdfLine, lower: PdfLine, usual: float, edges: dict[int, float]) -> str:
    """A space (nothing in Chinese), a new line, or a new paragraph."""
    distance = upper.bottom - lower.first_bottom
    is_near = 0 < distance <= _WIDER_GAP * usual
    if is_near and lower.text[:1].islower() and _ADDRESS.search(upper.text):
        return ""
    small, large = sorted((upper.size, lower.size))
    # One of them may be just a name set like code, in the middle of a sentence.
    is_mixed = upper.is_code != lower.is_code and _flows_on(upper, lower) and _is_open(upper)
    if small > 0 and large / small > OTHER_SIZE and not (is_near and is_mixed):
        return "\n\n"
    if abs(distance) < SAME_ROW * upper.size:
        return " "
    if distance < 0:
        return _joint_of_columns(upper, lower)
    if upper.is_code or lower.is_code:
        return _joint_at_code(upper, lower, edges, is_near=is_near)
    if 0 < _WIDER_GAP * usual < distance:
        return "\n\n"
    return _joint_in_block(upper, lower, edges)


def _joint_of_columns(upper: PdfLine, lower: PdfLine) -> str:
    """Between the end of a column and the top of the next."""
    # A sentence does not go on after a page number.
    is_body = any(map(str.isalpha, upper.text))
    flows = is_body and _flows_on(upper, lower) and _is_open(upper)
    return _space(upper, lower) if flows else "\n\n"


def _joint_at_code(
    upper: PdfLine, lower: PdfLine, edges: dict[int, float], *, is_near: bool
) -> str:
    if upper.is_code and lower.is_code:
        return "\n" if is_near else "\n\n"
    # A sentence may end in a name set like code, on a line of its own.
    is_full = upper.right - upper.left >= _SHORT_LINE * _reach(upper, edges)
    return _space(upper, lower) if is_near and _is_open(upper) and is_full else "\n\n"


def _joint_in_block(upper: PdfLine, lower: PdfLine, edges: dict[int, float]) -> str:
    if ENTRY.match(lower.text):
        return "\n"
    indent = lower.left - upper.left
    if indent > _INDENT * lower.size and not ENTRY.match(upper.text):
        return "\n\n" if upper.text[-1] in _ENDS else _space(upper, lower)
    reach = _reach(upper, edges)
    is_short = reach > 0 and upper.right - upper.left < _SHORT_LINE * reach
    if is_short and not lower.text[:1].islower():
        return "\n"
    return _space(upper, lower)


def _reach(line: PdfLine, edges: dict[int, float]) -> float:
    """The greatest width of a line that begins where this one does."""
    return edges.get(round(line.left / 12), line.right) - line.left


def _is_open(line: PdfLine) -> bool:
    """Whether a line ends in the middle of a sentence."""
    return line.text[-1] not in _ENDS


def _flows_on(upper: PdfLine, lower: PdfLine) -> bool:
    return lower.text[:1].islower() or _continues(upper, lower)


def _continues(upper: PdfLine, lower: PdfLine) -> bool:
    return bool(_CJK.match(upper.text[-1]) and _CJK.match(lower.text[:1]))


def _space(upper: PdfLine, lower: PdfLine) -> str:
    return "" if _continues(upper, lower) else " "
