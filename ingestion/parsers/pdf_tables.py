"""The tables of one PDF page, told from its text by where words stand.

A PDF has no tables, only words at places. Consecutive lines are rows if wide gaps divide them and
their cells stand in columns with nothing between them, each aligned on the left, on the right or in
the middle, or full of numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import median
from typing import Final

import regex
from pypdfium2 import PdfTextPage

from ingestion.parsers.pdf_lines import (
    HYPHENS,
    OTHER_SIZE,
    SAME_ROW,
    Cell,
    PdfLine,
    areas_of,
    box_of,
    cell_of,
    colour_at,
    font_of,
)
from ingestion.parsers.tables import is_header, is_number, is_year

_ALIGNED: Final = 3.0
"""Points by which cells of a column may differ in their left edge, right edge or middle."""
_MOST_ALIGNED: Final = 0.7
"""Share of a column's cells that must be aligned, or numbers."""
_FEWEST_ROWS: Final = 3
_FEWEST_NAMED: Final = 2
"""With the names, which need not all have a cell below them where the page ends."""
_MOST_LINES: Final = 500
_DIVIDED: Final = 0.6
"""Share of a table's rows with more than one cell; others name a part of the table."""
_FARTHEST: Final = 3.0
_NEAR: Final = 1.5
_CLOSER: Final = 0.8
"""Share of the usual distance between rows below which lines belong to one cell."""
_GUTTER: Final = 0.5
"""Letter heights: between rows, between lines of one cell and within a row at most, between columns
at least."""
_PROSE: Final = 40
"""Characters of a cell of running text, in which wide gaps are those of justified lines."""
_LEADER: Final = regex.compile(r"(?: ?\.){6,}|…")
_CUT: Final = regex.compile(f"[{HYPHENS}]")
_WORD: Final = regex.compile(r"(?<=[ \xa0])\S+")
_MARK: Final = regex.compile(r"\(?\w{1,3}[.)]|[^\w\s]")
_PAGE: Final = regex.compile(r"\d{1,4}|[ivxlc]{1,6}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of a cell."""

    line: PdfLine
    cell: Cell

    @property
    def text(self) -> str:
        """Its words, those cut at the line's end joined."""
        text: str = _CUT.sub("", self.line.text[self.cell.start : self.cell.end])
        return text


TableCell = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class PdfTable:
    """Each row has a cell for each column, maybe empty; ``labels`` are the columns' names or ()."""

    rows: tuple[tuple[TableCell, ...], ...]
    labels: tuple[str, ...]
    size: float


@dataclass(frozen=True, slots=True)
class _Column:
    left: float
    right: float

    def touches(self, cell: Cell) -> bool:
        return cell.left <= self.right and self.left <= cell.right


@dataclass(slots=True)
class _Row:
    pieces: list[Piece]

    @property
    def lowest(self) -> float:
        return min(piece.cell.bottom for piece in self.pieces)

    @property
    def first(self) -> float:
        return self.pieces[0].cell.bottom

    def cells(self, columns: Sequence[_Column]) -> tuple[TableCell, ...]:
        return tuple(
            tuple(piece for piece in self.pieces if column.touches(piece.cell))
            for column in columns
        )


def with_tables(
    page: PdfTextPage, lines: Sequence[PdfLine], repeated: Collection[int] = ()
) -> Iterator[PdfLine | PdfTable]:
    """The lines in order; those of a table have become one. ``repeated``: the starts of lines that
    may name columns, as they do so on a page beside this one, too."""
    place, grid = 0, _grid_at(page, lines, 0, repeated)
    while place < len(lines):
        # A line of names, each over several columns, would make one of them.
        below = _grid_at(page, lines, place + 1, repeated)
        if grid and (below is None or grid.width >= below.width):
            names = grid.names(lines[place - 1] if place else None)
            size = median(line.size for line in grid.lines)
            is_head = is_header(names) and (grid.is_named or _is_head(page, grid.rows))
            yield PdfTable(grid.rows, names if is_head else (), size)
            place += len(grid.lines)
            grid = _grid_at(page, lines, place, repeated)
        else:
            yield lines[place]
            place, grid = place + 1, below


def _grid_at(
    page: PdfTextPage, lines: Sequence[PdfLine], place: int, repeated: Collection[int]
) -> _Grid | None:
    """The table whose first line this is, if it is one."""
    if place >= len(lines) or len(lines[place].cells) < 2:
        return None
    grid = _Grid(page, is_named=lines[place].start in repeated)
    grid.fill(lines[place : place + _MOST_LINES])
    rows = grid.rows
    fewest = _FEWEST_NAMED if grid.is_named else _FEWEST_ROWS
    is_table = (
        len(rows) >= fewest and _is_table(rows, is_named=grid.is_named) and not _is_list(rows)
    )
    return grid if is_table else None


class _Grid:
    """Lines whose cells stand in columns, as far as they are known. ``is_named``: the first names
    the columns on another page, too."""

    def __init__(self, page: PdfTextPage, *, is_named: bool) -> None:
        self._page = page
        self.is_named = is_named
        self.lines: list[PdfLine] = []
        self.rows: tuple[tuple[TableCell, ...], ...] = ()
        self._columns: list[_Column] = []
        self._rows: list[_Row] = []

    @property
    def width(self) -> int:
        return len(self._columns)

    def _with_whole_names(self) -> Iterator[_Row]:
        """The rows, those whose first cell has several lines joined, if rows are farther apart."""
        steps = [above.lowest - below.first for above, below in pairwise(self._rows)]
        usual = median([step for step in steps if step > 0] or [0])
        before: _Row | None = None
        for row, step in zip(self._rows, chain(steps, [usual]), strict=False):
            pieces = [*before.pieces, *row.pieces] if before else row.pieces
            whole = _Row(pieces)
            if not self._is_divided(whole) and step < _CLOSER * usual:
                before = whole
            else:
                before = None
                yield whole

    def names(self, above: PdfLine | None) -> tuple[str, ...]:
        """The words of the first row, each after those that stand over several columns in the line
        above: *Weekdays First*, *Weekdays Last*."""
        names = list(map(_text, self.rows[0]))
        if above is None or not self._is_near(above, self._rows[0]):
            return tuple(names)
        named = [number for number, name in enumerate(names) if name]
        each = len(named) // len(above.cells)
        groups = [named[n * each : (n + 1) * each] for n in range(len(above.cells))]
        if each * len(groups) == len(named) > len(groups) > 1 and all(
            map(self._is_over, above.cells, groups)
        ):
            for cell, group in zip(above.cells, groups, strict=True):
                for number in group:
                    names[number] = f"{above.text[cell.start : cell.end]} {names[number]}"
        return tuple(names)

    def _is_over(self, cell: Cell, group: Sequence[int]) -> bool:
        left, right = self._columns[group[0]].left, self._columns[group[-1]].right
        return left <= (cell.left + cell.right) / 2 <= right

    def _is_near(self, line: PdfLine, row: _Row) -> bool:
        """A cell of many lines may come before one that stands beside its first."""
        far = _FARTHEST * line.size
        return row.lowest - far <= line.cells[0].bottom <= row.first + far

    def fill(self, lines: Sequence[PdfLine]) -> None:
        """Take lines as long as they fit."""
        for line in map(self._divided, lines):
            columns = self._columns_with(line) if self._follows(line) else []
            if not columns:
                break
            self._columns = columns
            self.lines.append(line)
            for cell in line.cells:
                self._place(Piece(line, cell))
        self._drop_last_words()
        self.rows = tuple(row.cells(self._columns) for row in self._with_whole_names())

    def _follows(self, line: PdfLine) -> bool:
        """Whether it is near the last row, and no heading between two tables."""
        if _LEADER.search(line.text):
            return False
        if not self.lines:
            return not line.is_code
        is_first = line.cells[0].left < self._columns[0].right
        if is_first and len(line.cells) == 1 and line.size > OTHER_SIZE * self.lines[-1].size:
            return False
        return self._is_near(line, self._rows[-1])

    def _divided(self, line: PdfLine) -> PdfLine:
        """The line, divided also where words begin at the left edges of columns."""
        cells: list[Cell] = []
        for cell in line.cells:
            touched = [one for one in self._columns if one.touches(cell)]
            parts = list(self._parts(line, cell, [one.left for one in touched[1:]]))
            cells += parts if len(parts) == len(touched) else [cell]
        return replace(line, cells=tuple(cells))

    def _parts(self, line: PdfLine, cell: Cell, edges: list[float]) -> Iterator[Cell]:
        start = cell.start
        for match in _WORD.finditer(line.text, cell.start, cell.end):
            at = match.start()
            if edges and abs(box_of(self._page, line.start + at).left - edges[0]) <= _ALIGNED:
                yield cell_of(self._page, line.start, start, at - 1)
                start = at
                del edges[0]
        yield cell_of(self._page, line.start, start, cell.end)

    def _columns_with(self, line: PdfLine) -> list[_Column]:
        """The columns, as wide as their widest cells, in order; none if the line does not fit."""
        columns = self._columns
        if columns and not any(one.touches(cell) for one in columns for cell in line.cells):
            return []
        for cell in line.cells:
            touched = [one for one in columns if one.touches(cell)] or self._before(columns, cell)
            if len(touched) > 1 and not self._is_running(cell):
                return []
            left = min([cell.left, *(one.left for one in touched)])
            right = max([cell.right, *(one.right for one in touched)])
            columns = [*(one for one in columns if one not in touched), _Column(left, right)]
        columns = sorted(columns, key=lambda one: one.left)
        gaps = [right.left - left.right for left, right in pairwise(columns)]
        return columns if min(gaps, default=0) >= _GUTTER * line.size else []

    def _is_running(self, cell: Cell) -> bool:
        """Whether it is running text, which shows that what seemed to be columns is not."""
        return len(self._rows) <= 1 and cell.end - cell.start > _PROSE

    def _before(self, columns: Sequence[_Column], cell: Cell) -> list[_Column]:
        """The column to the left of a cell in none, once the first row has shown them."""
        is_known = self._rows[1:] or (self._rows and _is_level(self.lines[0]))
        return [one for one in columns if one.right < cell.left][-1:] if is_known else []

    def _place(self, piece: Piece) -> None:
        if self._rows and self._goes_on(self._rows[-1], piece):
            self._rows[-1].pieces.append(piece)
        else:
            self._rows.append(_Row([piece]))

    def _goes_on(self, row: _Row, piece: Piece) -> bool:
        """Whether a piece belongs to the row; pdfium gives a row's cells in order, line by line."""
        last, column = self._column(row.pieces[-1]), self._column(piece)
        size = max(piece.line.size, row.pieces[-1].line.size, 1)
        below = (row.lowest - piece.cell.bottom) / size
        if below <= SAME_ROW:
            return column >= last
        is_wrapped = column == last and self._is_divided(row) and not _is_level(piece.line)
        is_lower = piece.text[:1].islower() and (column == last or len(piece.line.cells) == 1)
        return below <= _NEAR and (is_wrapped or is_lower)

    def _column(self, piece: Piece) -> int:
        return next(n for n, one in enumerate(self._columns) if one.touches(piece.cell))

    def _is_divided(self, row: _Row) -> bool:
        return len(set(map(self._column, row.pieces))) > 1

    def _drop_last_words(self) -> None:
        """What follows a table is not its last row, though it may stand below one column."""
        while self._rows and not self._is_divided(self._rows[-1]):
            last = self._rows.pop().pieces
            kept = {id(piece.line) for row in self._rows for piece in row.pieces}
            if any(id(piece.line) in kept for piece in last):
                self._rows.append(_Row(last))
                break
            self.lines = [line for line in self.lines if id(line) in kept]


def _is_level(line: PdfLine) -> bool:
    """Whether it has several cells, all at one height."""
    bottoms = [cell.bottom for cell in line.cells]
    return len(bottoms) > 1 and max(bottoms) - min(bottoms) <= SAME_ROW * line.size


def _is_table(rows: Sequence[Sequence[TableCell]], *, is_named: bool) -> bool:
    divided = sum(sum(map(bool, row)) > 1 for row in rows)
    columns = _columns(rows)
    return (
        divided >= _DIVIDED * len(rows)
        and all(_is_column(one) or (is_named and len(one) == 1) for one in columns)
        and (is_named or not _is_prose(columns))
    )


def _is_prose(columns: Sequence[Sequence[TableCell]]) -> bool:
    """Whether they are columns of running text, or its lines divided by chance."""
    is_long = [median(len(_text(cell)) for cell in column) > _PROSE for column in columns]
    return sum(is_long) > 1 or (len(columns) == 2 and is_long[0] and not _counts("", columns[1]))


def _columns(rows: Sequence[Sequence[TableCell]]) -> list[list[TableCell]]:
    """The cells of each column that are there."""
    return [[cell for cell in column if cell] for column in zip(*rows, strict=True)]


def _text(cell: TableCell) -> str:
    return " ".join(piece.text for piece in cell)


def _is_column(cells: Sequence[TableCell]) -> bool:
    """Whether it has more than one cell, and they are aligned or numbers."""
    firsts = [cell[0].cell for cell in cells]
    return len(cells) > 1 and _MOST_ALIGNED * len(cells) <= max(
        _alike([one.left for one in firsts]),
        _alike([one.right for one in firsts]),
        _alike([(one.left + one.right) / 2 for one in firsts]),
        sum(is_number(_text(cell)) for cell in cells),
    )


def _alike(places: Sequence[float]) -> int:
    """How many are near the one in the middle."""
    middle = median(places)
    return sum(abs(place - middle) <= _ALIGNED for place in places)


def _is_list(rows: Sequence[Sequence[TableCell]]) -> bool:
    """Whether they are marked entries, or titles with their pages."""
    first, *_, last = ([_text(cell) for cell in column] for column in zip(*rows, strict=True))
    is_pair = len(rows[0]) == 2
    marked = sum(_MARK.fullmatch(text) is not None for text in first)
    pages = [int(text) for text in last if text.isdecimal()]
    ascends = pages == sorted(pages) and (is_pair or len(set(pages)) > 1)
    return (is_pair and 2 * marked > len(rows)) or (ascends and all(map(_PAGE.fullmatch, last)))


def _is_head(page: PdfTextPage, rows: Sequence[Sequence[TableCell]]) -> bool:
    """Whether the first row, if it may, names the columns, as it does if only its corner, above the
    names of the rows, is empty."""
    corner, *names = rows[0]
    has_corner = not corner and all(names) and all(row[0] for row in rows[1:])
    is_apart = any(
        head and below and (_is_set_apart(page, head, below) or _counts(_text(head), below))
        for head, below in zip(rows[0], _columns(rows[1:]), strict=True)
    )
    return has_corner or is_apart or _is_shaded(page, rows)


def _is_shaded(page: PdfTextPage, rows: Sequence[Sequence[TableCell]]) -> bool:
    """Whether few other rows, such as that of a total, have the first one's colour behind them."""
    areas = areas_of(page)
    firsts = [next(cell for cell in row if cell)[0] for row in rows]
    first, *others = (
        colour_at(areas, one.cell.left + 1, one.cell.bottom + one.line.size / 3) for one in firsts
    )
    return others.count(first) * 3 < len(others)


def _is_set_apart(page: PdfTextPage, head: TableCell, below: Sequence[TableCell]) -> bool:
    """Whether most cells are in another font than the head."""
    first, *others = (
        font_of(page, cell[0].line.start + cell[0].cell.start) for cell in (head, *below)
    )
    return others.count(first) * 2 < len(others)


def _counts(name: str, below: Sequence[TableCell]) -> bool:
    """Whether most cells below a word or a year are numbers."""
    numbers = sum(is_number(_text(cell)) for cell in below)
    return 2 * numbers > len(below) and (is_year(name) or not is_number(name))
