"""Recognise table rows on a PDF page by gaps that are aligned vertically."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pypdfium2 import PdfTextPage

from ingestion.parsers.pdf_lines import ENTRY, Cell, Line, box_of, font_of
from ingestion.parsers.tables import is_header

# Cells of a column begin within this many points of each other, in at least this many rows.
_SAME_COLUMN: Final = 3.0
_FEWEST_ROWS: Final = 3
_WIDE_ROWS: Final = 0.6
"""Share of a table's rows divided by gaps; in the others, words begin at column edges."""
_WORD: Final = re.compile(r"\S+")
_LEADER: Final = re.compile(r"(?: ?\.){6,}|…")


def with_tables(page: PdfTextPage, lines: list[Line]) -> list[Line]:
    """The lines, with table rows divided into columns and labelled."""
    found: list[Line] = []
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


def _rows_from(page: PdfTextPage, lines: list[Line], place: int) -> Iterator[Line]:
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


def _cells_at(page: PdfTextPage, line: Line, columns: Sequence[float]) -> Iterator[Cell]:
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


def _is_head(page: PdfTextPage, rows: Sequence[Line]) -> bool:
    """Whether the first row's last column is set in another font than the rows below."""
    whole = [row for row in rows if not row.continues]
    first, *others = (font_of(page, row.start + row.cells[-1].start) for row in whole)
    return others.count(first) * 2 < len(others)
