"""The lines of one PDF page from pdfium, with position, size and font, divided at wide gaps, and
the colours behind them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final, TypeAlias

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

HYPHENS: Final = "\ufffe\x02"
"""pdfium's marks for a word hyphenated at a line's end."""
ENTRY: Final = re.compile(r"(?:[•●◦▪‣·–—*\-]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d{1,2}(?:\.\d{1,2})+)\s")
"""How a list entry begins."""

# Measured on reports, papers and letters: text in another size differs by a sixth or more.
OTHER_SIZE: Final = 1.16
SAME_ROW: Final = 0.3
"""Letter heights by which words of one row may be higher than others."""

_LINE: Final = re.compile(r"[^\r\n]+")
_CELL_GAP: Final = 0.55
_WIDE_CELL_GAP: Final = 1.0
"""Letter heights between cells, at least; a typewriter's words are farther apart."""
_APART: Final = 2.0
"""Usual distances between a running head or foot and the text."""
_SMALLER: Final = 0.95
"""Of the size of most lines."""
_DIGITS: Final = re.compile(r"\d+")
_MONOSPACED: Final = re.compile(
    rb"mono|courier|consol|menlo|typewriter|cmtt|lmtt|nimbusmon|fixed|terminal|source ?code", re.I
)
_FIXED_PITCH: Final = 1
_FIRST: Final = 5
"""Lines of a page among which its first is, with running heads and feet before it."""
_SAMPLES: Final = 4
"""Letters of a line whose font is checked."""
_CURRENCIES: Final = frozenset("$€£¥")
"""Signs set apart from their amounts."""

Colour: TypeAlias = tuple[int, ...]
Area: TypeAlias = tuple[tuple[float, float, float, float], Colour]
_MOST_OBJECTS: Final = 5_000
"""Of a page; one with more is a drawing."""
_WHITE: Final = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a line after a wide gap; offsets into the line's text."""

    start: int
    end: int
    left: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line from pdfium.

    A hyphenated last word joins it to the whole next line, so its first letter may be higher
    (``first_bottom``) than its last (``bottom``). ``cells`` has several entries if wide gaps divide
    the line.
    """

    start: int
    text: str
    left: float
    right: float
    first_bottom: float
    bottom: float
    size: float
    is_code: bool = False
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class PageLines:
    """An open page with its text, as pdfium has it, and lines."""

    page: PdfTextPage
    raw: str
    lines: list[PdfLine]

    @classmethod
    def of(cls, page: PdfTextPage) -> PageLines:
        raw = raw_text(page)
        return cls(page, raw, lines_of(page, raw))

    def repeated(self, before: PageLines | None, after: PageLines | None) -> frozenset[int]:
        """The starts of divided lines at the top of this page that are on the page before, too, and
        of those at the top of the page after: names of columns of a table that goes on there."""
        above = set(_divided(before.lines)) if before else set()
        below = set(_divided(after.lines[:_FIRST])) if after else set()
        tops = {line.start for line in self.lines[:_FIRST] if line.text in above}
        return frozenset(tops | {line.start for line in self.lines if line.text in below})

    def running(self, other: PageLines | None) -> frozenset[int]:
        """The starts of lines at the edges that stand at the same place of the other page, too,
        with only their numbers changed."""
        there = [(_shape(line), line.bottom) for line in other.edges()] if other else []
        return frozenset(
            line.start
            for line in self.edges()
            for shape, bottom in there
            if shape == _shape(line) and abs(bottom - line.bottom) < line.size
        )

    def edges(self) -> Iterator[PdfLine]:
        """Up to two lines at the top and at the bottom, apart by their distance or small letters,
        and not larger than others."""
        usual = usual_distance(self.lines)
        size = median(line.size for line in self.lines) if self.lines else 0.0
        down = sorted(self.lines, key=lambda line: -line.bottom)
        for outermost in (down[:3], down[:-4:-1]):
            gaps = [abs(outer.bottom - inner.bottom) for outer, inner in pairwise(outermost)]
            apart = max((n for n, gap in enumerate(gaps, 1) if 0 < _APART * usual < gap), default=0)
            for number, line in enumerate(outermost[:2]):
                is_apart = number < apart and line.size * _SMALLER <= size
                if is_apart or line.size < _SMALLER * size:
                    yield line


def usual_distance(lines: list[PdfLine]) -> float:
    """The distance between two lines of running text on this page, 0 if there is none."""
    distances = [
        distance
        for upper, lower in pairwise(lines)
        if SAME_ROW * upper.size
        < (distance := upper.bottom - lower.first_bottom)
        < 2.2 * max(upper.size, 1)
    ]
    return median(distances) if distances else 0.0


def _shape(line: PdfLine) -> str:
    return _DIGITS.sub("#", line.text)


def _divided(lines: Sequence[PdfLine]) -> Iterator[str]:
    return (line.text for line in lines if len(line.cells) > 1)


def raw_text(page: PdfTextPage) -> str:
    """pdfium's text as UTF-16 units, one per character, so that positions are unit indexes."""
    count = page.count_chars()
    if count == 0:
        return ""
    # One unit per character plus the terminator; doubled, as pdfium may insert characters.
    buffer = (pdfium.c_ushort * (2 * count + 2))()
    written = pdfium.FPDFText_GetText(page, 0, count, buffer)
    return "".join(map(chr, buffer[: max(0, written - 1)]))


def lines_of(page: PdfTextPage, raw: str) -> list[PdfLine]:
    lines: list[PdfLine] = []
    for match in _LINE.finditer(raw):
        text = match.group().strip(" \t\xa0\x00")
        if not text.strip(HYPHENS):
            continue
        start = match.start() + match.group().index(text[0])
        first = box_of(page, start)
        last = box_of(page, start + len(text) - 1)
        # A few letters of the line, from its beginning to its end.
        letters = [place for place, character in enumerate(text) if character.isalnum()]
        samples = letters[:: max(1, len(letters) // _SAMPLES)]
        boxes = [box_of(page, start + place) for place in samples or [0]]
        size = median(float(box.top - box.bottom) for box in boxes)
        line = PdfLine(
            start,
            text,
            first.left,
            last.right,
            first.bottom,
            last.bottom,
            size,
            is_code=_is_monospaced(page, [start + place for place in samples]),
            cells=tuple(_cells(page, start, text, size)),
        )
        if lines and _is_beside(lines[-1], line):
            lines[-1] = _joined(lines[-1], line)
        else:
            lines.append(line)
    return lines


def _is_beside(left: PdfLine, right: PdfLine) -> bool:
    """Whether pdfium has divided one line, as it does where a gap is very wide."""
    return (
        left.is_code == right.is_code
        and left.right < right.left
        and abs(left.bottom - right.first_bottom) < SAME_ROW * left.size
        and max(left.size, right.size) < OTHER_SIZE * min(left.size, right.size)
    )


def _joined(left: PdfLine, right: PdfLine) -> PdfLine:
    shift = right.start - left.start
    moved = (replace(cell, start=cell.start + shift, end=cell.end + shift) for cell in right.cells)
    return replace(
        left,
        text=left.text.ljust(shift) + right.text,
        right=right.right,
        bottom=right.bottom,
        cells=(*left.cells, *moved),
    )


def _is_monospaced(page: PdfTextPage, units: list[int]) -> bool:
    fonts = [font_of(page, unit) for unit in units]
    return bool(fonts) and all(
        flags & _FIXED_PITCH or _MONOSPACED.search(name) for name, flags in fonts
    )


def font_of(page: PdfTextPage, unit: int) -> tuple[bytes, int]:
    """Name and flags of a character's font."""
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(page, unit)
    name, flags = ctypes.create_string_buffer(80), ctypes.c_int()
    if index >= 0:
        pdfium.FPDFText_GetFontInfo(page, index, name, len(name), flags)
    return name.value, flags.value


def _cells(page: PdfTextPage, start: int, text: str, size: float) -> Iterator[Cell]:
    """The stretches between wide gaps; the whole line if there are none."""
    begin = 0
    for place, character in enumerate(text[1:-1], start=1):
        if character in " \xa0" and text[begin:place] not in _CURRENCIES:
            before, after = box_of(page, start + place - 1), box_of(page, start + place + 1)
            gap = (after.left - before.right) / max(size, 1)
            if gap > _WIDE_CELL_GAP or (
                gap > _CELL_GAP and not _is_monospaced(page, [start + place - 1, start + place + 1])
            ):
                yield cell_of(page, start, begin, place)
                begin = place + 1
    yield cell_of(page, start, begin, len(text))


def cell_of(page: PdfTextPage, line: int, start: int, end: int) -> Cell:
    """The stretch of a line that begins at the unit ``line``."""
    first, last = box_of(page, line + start), box_of(page, line + end - 1)
    # Turned text may run the other way.
    return Cell(start, end, first.left, max(first.left, last.right), first.bottom)


def box_of(page: PdfTextPage, unit: int) -> pdfium.FS_RECTF:
    """The box of a character with its font's full height; all zero if there is none."""
    box = pdfium.FS_RECTF()
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(page, unit)
    if index >= 0:
        pdfium.FPDFText_GetLooseCharBox(page, index, box)
    return box


def areas_of(page: PdfTextPage) -> list[Area]:
    """(left, bottom, right, top) of the page's filled areas with their colours, lowest first."""
    count = pdfium.FPDFPage_CountObjects(page.page)
    return list(_areas(page, count)) if count <= _MOST_OBJECTS else []


def _areas(page: PdfTextPage, count: int) -> Iterator[Area]:
    for number in range(count):
        shape = pdfium.FPDFPage_GetObject(page.page, number)
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if (
            pdfium.FPDFPageObj_GetType(shape) != pdfium.FPDF_PAGEOBJ_PATH
            or not pdfium.FPDFPath_GetDrawMode(shape, fill, stroke)
            or fill.value == pdfium.FPDF_FILLMODE_NONE
        ):
            continue
        edges = [ctypes.c_float() for _ in range(4)]
        red, green, blue, opacity = (ctypes.c_uint() for _ in range(4))
        pdfium.FPDFPageObj_GetBounds(shape, *edges)
        pdfium.FPDFPageObj_GetFillColor(shape, red, green, blue, opacity)
        left, bottom, right, top = (edge.value for edge in edges)
        yield (left, bottom, right, top), (red.value, green.value, blue.value)


def colour_at(areas: list[Area], x: float, y: float) -> Colour:
    """The colour of the highest area around a point."""
    for (left, bottom, right, top), colour in reversed(areas):
        if left <= x <= right and bottom <= y <= top:
            return colour
    return _WHITE
