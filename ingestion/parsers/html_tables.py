"""Rows of HTML tables: which have names of columns, and what cells span."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

from selectolax.lexbor import LexborNode

from ingestion.parsers.tables import Field, Header, Row, is_value

_LONGEST_CELL: Final = 400
LONGEST_TERM: Final = 80
"""Characters up to which text may name what other text says of it."""
_WIDEST: Final = 100
"""Columns within which a cell may span others; a hostile page makes them span millions."""
_SPACES: Final = re.compile(r"\s+")

_Read: TypeAlias = Callable[[LexborNode], str]
_Test: TypeAlias = Callable[[LexborNode], bool]


def is_data_table(table: LexborNode) -> bool:
    """Whether a table has rows of short cells in two or more columns; others are page layout, such
    as a note beside an icon, or definitions."""
    if _has_inside(table, "table, h1, h2, h3, h4, h5, h6"):
        return False
    cells = table.css("td, th")
    if any(len(cell.text()) > _LONGEST_CELL for cell in cells):
        return False
    return sum(1 for cell in cells if cell.text().strip()) > len(table.css("tr"))


def table_rows(table: LexborNode, read: _Read, *, may_guess: bool) -> Iterator[Row]:
    """Each row with what the table says of it. ``read`` makes a cell one line of text.

    Web pages mark names of columns, so two columns without any are names and what they mean. Where
    nobody marks them, as in Word, ``may_guess`` leaves it to what the rows say.
    """
    if (caption := table.css_first("caption")) is not None:
        yield [read(caption)]
    cells = [row.css("td, th") for row in table.css("tr")]
    is_name = _is_th if table.css_first("th") else _is_bold
    headers = _headers(cells, is_name)
    grid = _grid(cells, read)
    if all(number in headers for number, row in enumerate(cells) if len(row) > 1):
        yield from grid
        return
    is_pairs = max(map(len, grid)) == 2 and not (may_guess and _is_even(grid))
    is_form = not headers and (is_pairs or _begin_with_names(cells, is_name))
    for number, row in enumerate(grid):
        if sum(map(bool, row)) > 1 and (number in headers or is_form):
            yield Header(row) if number in headers else Field(row)
        elif any(row) or not headers:
            yield row


def definitions(table: LexborNode, read: _Read) -> list[tuple[str, list[str]]]:
    """The rows of a table with names of columns and long cells: each row's first cell, and lines
    that say what it is, the last cell first: *Value: URL* is no sentence that others could follow.
    A note in a row of its own has no first cell. None of a table that is page layout."""
    rows = [row.css("td, th") for row in table.css("tr")]
    if len(rows) < 2 or len(rows[0]) < 2 or not all(map(_is_th, rows[0])):
        return []
    if _has_inside(table, "table, h1, h2, h3, h4, h5, h6, pre, ul, ol, dl"):
        return []
    (_, *names), *grid = _grid(rows, read)
    found: list[tuple[str, list[str]]] = []
    for first, *others in grid:
        named = list(zip(names, others, strict=False))
        facts = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named[:-1] if cell)
        told = [line for line in (named[-1][1] if named else "", facts) if line]
        if told and not (first and len(first) <= LONGEST_TERM):
            return []
        found.append((first or "", told) if told else ("", [first] if first else []))
    return found


def _has_inside(table: LexborNode, tags: str) -> bool:
    return any(found.mem_id != table.mem_id for found in table.css(tags))


def _is_th(cell: LexborNode) -> bool:
    return cell.tag == "th"


def _is_bold(cell: LexborNode) -> bool:
    bold = "".join(one.text() for one in cell.css("b, strong"))
    return bool(bold.strip()) and _SPACES.sub("", bold) == _SPACES.sub("", cell.text())


def _headers(rows: Sequence[Sequence[LexborNode]], is_name: _Test) -> frozenset[int]:
    """Numbers of the rows in which all cells are names; of bold ones, only the first can be."""
    found = [
        number
        for number, cells in enumerate(rows)
        if any(cell.text().strip() for cell in cells)
        and all(is_name(cell) or not cell.text().strip() for cell in cells)
    ]
    if is_name is _is_bold:
        first = next((number for number, cells in enumerate(rows) if len(cells) > 1), 0)
        found = [number for number in found if number == first]
    return frozenset(found)


def _begin_with_names(rows: Sequence[Sequence[LexborNode]], is_name: _Test) -> bool:
    wide = (cells for cells in rows if len(cells) > 1)
    return all(is_name(cells[0]) and not any(map(is_name, cells[1:])) for cells in wide)


def _is_even(grid: Sequence[Row]) -> bool:
    """Whether the second column has only values or only words below its first row."""
    below = [is_value(row[1] or "") for row in grid[1:] if len(row) > 1]
    return len(set(below)) < 2


def _grid(rows: Sequence[Sequence[LexborNode]], read: _Read) -> list[list[str | None]]:
    """Cells at their columns. A cell that spans rows is in each of them."""
    places: dict[tuple[int, int], str | None] = {}
    widths = [0] * len(rows)
    for number, cells in enumerate(rows):
        at = 0
        for cell in cells:
            while (number, at) in places:
                at += 1
            is_near = at < _WIDEST
            end = at + (_span(cell, "colspan") if is_near else 1)
            last = min(len(rows), number + (_span(cell, "rowspan") if is_near else 1))
            text = read(cell)
            for row, column in product(range(number, last), range(at, end)):
                places[row, column] = text if column == at else None
                widths[row] = max(widths[row], end)
            at = end
    return [
        [places.get((number, column), "") for column in range(width)]
        for number, width in enumerate(widths)
    ]


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return max(1, min(int(value), _WIDEST)) if re.fullmatch(r"[0-9]{1,5}", value) else 1
