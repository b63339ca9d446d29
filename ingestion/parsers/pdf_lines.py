"""The lines of one PDF page from pdfium, with position, size and font.

Lines whose words are aligned vertically after wide gaps are divided into the cells of a table.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingestion.parsers.tables import is_header

HYPHENS: Final = "\ufffe\x02"
"""pdfium's marks for a word hyphenated at a line's end."""
ENTRY: Final = re.compile(r"(?:[•●◦▪‣·–—*\-]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d{1,2}(?:\.\d{1,2})+)\s")
"""How a list entry begins."""

_LINE: Final = re.compile(r"[^\r\n]+")
# Cells are at least this many letter heights apart.
_CELL_GAP: Final = 0.55
_MONOSPACED: Final = re.compile(
    rb"mono|courier|consol|menlo|typewriter|cmtt|lmtt|nimbusmon|fixed|terminal|source ?code", re.I
)
_FIXED_PITCH: Final = 1
_SAMPLES: Final = 4
"""Letters of a line whose font is checked."""
# Cells of a column begin within this many points of each other, in at least this many rows.
_SAME_COLUMN: Final = 3.0
_FEWEST_ROWS: Final = 3
_WIDE_ROWS: Final = 0.6
"""Share of a table's rows divided by gaps; in the others, words begin at column edges."""
_WORD: Final = re.compile(r"\S+")
_LEADER: Final = re.compile(r"(?: ?\.){6,}|…")


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a line after a wide gap; offsets into the line's text."""

    start: int
    end: int
    left: float


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line from pdfium.

    A hyphenated last word joins it to the whole next line, so its first letter may be higher
    (``first_bottom``) than its last (``bottom``). ``cells`` has several entries if wide gaps divide
    the line. A table row has ``labels``, the names of its columns as far as known; one that
    ``continues`` holds more of the last cell of the row before.
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
    labels: tuple[str, ...] | None = None
    continues: bool = False


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
    lines = []
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
        lines.append(
            PdfLine(
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
        )
    return lines


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
    begin, left = 0, box_of(page, start).left
    for place, character in enumerate(text[1:-1], start=1):
        if character in " \xa0":
            after = box_of(page, start + place + 1).left
            if after - box_of(page, start + place - 1).right > _CELL_GAP * size:
                yield Cell(begin, place, left)
                begin, left = place + 1, after
    yield Cell(begin, len(text), left)


def box_of(page: PdfTextPage, unit: int) -> pdfium.FS_RECTF:
    """The box of a character with its font's full height; all zero if there is none."""
    box = pdfium.FS_RECTF()
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(page, unit)
    if index >= 0:
        pdfium.FPDFText_GetLooseCharBox(page, index, box)
    return box


def with_tables(page: PdfTextPage, lines: list[PdfLine]) -> list[PdfLine]:
    """The lines, with table rows divided into columns and labelled."""
    found: list[PdfLine] = []
    place = 0
    while place < len(lines):
        rows = list(_rows_from(page, lines, place))
        wide = sum(len(line.cells) > 1 for line in lines[place + 1 : place + len(rows)])
        below = sum(not row.continues for row in rows) - 1
        if below + 1 >= _FEWEST_ROWS and wide >= _WIDE_ROWS * below:
            names = tuple(rows[0].text[cell.start : cell.end] for cell in rows[0].cells)
            labels = names if _is_head(page, rows) and is_header(names) else ()
            found += [replace(row, labels=labels) for row in rows]
            found[-len(rows)] = replace(rows[0], labels=())
        else:
            rows = lines[place : place + 1]
            found += rows
        place += len(rows)
    return found


def _rows_from(page: PdfTextPage, lines: list[PdfLine], place: int) -> Iterator[PdfLine]:
    """The lines from here on that are divided like the first."""
    columns = [cell.left for cell in lines[place].cells]
    if len(columns) < 2 or _LEADER.search(lines[place].text):
        return
    yield lines[place]
    for line in lines[place + 1 :]:
        if abs(line.left - columns[-1]) <= _SAME_COLUMN:
            yield replace(line, cells=(Cell(0, len(line.text), line.left),), continues=True)
            continue
        cells = tuple(_cells_at(page, line, columns))
        if len(cells) != len(columns) or ENTRY.match(line.text):
            return
        yield replace(line, cells=cells)


def _cells_at(page: PdfTextPage, line: PdfLine, columns: Sequence[float]) -> Iterator[Cell]:
    """The line divided at words on the columns' left edges; fewer cells if some are missing."""
    if abs(line.left - columns[0]) > _SAME_COLUMN:
        return
    begin, left, wanted = 0, line.left, list(columns[1:])
    for match in _WORD.finditer(line.text):
        if not wanted:
            break
        at = box_of(page, line.start + match.start()).left
        if match.start() and abs(at - wanted[0]) <= _SAME_COLUMN:
            yield Cell(begin, match.start() - 1, left)
            begin, left = match.start(), wanted.pop(0)
    yield Cell(begin, len(line.text), left)


def _is_head(page: PdfTextPage, rows: Sequence[PdfLine]) -> bool:
    """Whether the first row's last column is set in another font than the rows below."""
    whole = [row for row in rows if not row.continues]
    first, *others = (font_of(page, row.start + row.cells[-1].start) for row in whole)
    return others.count(first) * 2 < len(others)
