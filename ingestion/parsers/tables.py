"""Write rows of cells as text. Each row names its columns, so that it makes sense alone:

``Name: Ada; Role: Engineer; Office: Bergen``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import one_line
from kb_project.text.regions import RegionKind

_NUMBER: Final = re.compile(r"[\s+\-–(]*[$€£¥]?\s*\d[\d\s.,:/\-TZ]*\s*[%€£$)]?")
_YEAR: Final = re.compile(r"((?:19|20)\d\d)(?:\s?[-–/]\s?((?:19|20)?\d\d))?")
# A value rather than a name: several digits that are no year, a date, an amount, an address.
_VALUE: Final = re.compile(
    r"(?<!\w)(?!(?:19|20)\d\d\b)\d\d|(?<!\w)\d{1,2}[.\s]\s*\w+[.\s]\s*(?:19|20)\d\d"
    r"|[$€£¥]\s*\d|\w@\w|://"
)
_AFTER_NAME: Final = re.compile(r"([:：]);\s")
_LONGEST_LABEL: Final = 80
_LONGEST_VALUE: Final = 160
"""Characters; a longer value is prose in a cell."""
_NO_LIMIT: Final = 2**31


Row: TypeAlias = Sequence[str | None]
"""Cells; ``None`` goes on with the cell to its left, as where cells were merged."""
Area: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last of merged cells, each its row and column."""


class Header(list[str | None]):
    """A row that its format marks as names of columns."""


class Field(list[str | None]):
    """A row whose first cell says what the others are, as in a form."""


def write_table(builder: TextBuilder, rows: Iterable[Row]) -> None:
    """Write rows as they come. A blank row ends a table; the next one has its own header."""
    builder.part()
    table = _Table(builder)
    for row in rows:
        cells = (cell and one_line(cell, limit=_NO_LIMIT) for cell in row)
        if isinstance(row, Header):
            table.name(list(cells))
        elif isinstance(row, Field):
            table.field(list(cells))
        else:
            table.add(list(cells))
    table.end()
    builder.part()


def spread(rows: Iterable[Row], merged: Iterable[Area]) -> Iterator[Row]:
    """Rows in which merged cells are in each row that they cover, and span their columns."""
    waiting = sorted(merged, reverse=True)
    above: list[tuple[Area, str | None]] = []
    for number, row in enumerate(rows):
        cells = list(row)
        above = [one for one in above if one[0][1][0] >= number]
        while waiting and waiting[-1][0][0] <= number:
            area = waiting.pop()
            left = area[0][1]
            if area[0][0] == number and 0 <= left < len(cells):
                above.append((area, cells[left]))
        for ((top, left), (_, right)), text in above:
            # What is all that a row has comes from above: there is nothing in it to name.
            if any(row) or top == number:
                end = min(right + 1, len(cells))
                cells[left:end] = [text, *[None] * (end - left - 1)]
        if any(cells) or not above:
            yield cells


class _Table:
    """One table at a time; the first row waits until the second shows what it is."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._start()

    def _start(self) -> None:
        self._waiting: list[str | None] | None = None
        self._labels: list[str] | None = None
        self._headers: list[list[str | None]] = []
        self._is_form = False

    def name(self, cells: list[str | None]) -> None:
        """Add a row of names; those of several rows above each other belong together."""
        self._flush()
        self._is_form = False
        self._headers.append(cells)
        self._labels = _names(self._headers)

    def field(self, cells: list[str | None]) -> None:
        self._flush()
        self._labels, self._is_form = [], True
        self._write(cells)

    def _flush(self) -> None:
        if self._waiting is not None:
            self._write(self._waiting)
            self._waiting = None

    def add(self, cells: list[str | None]) -> None:
        if not any(cells):
            self.end()
        elif self._labels is not None:
            self._write(cells)
        elif self._waiting is None:
            self._waiting = cells
        else:
            self._open(self._waiting, cells)

    def end(self) -> None:
        self._flush()
        alone, self._labels = self._headers, []
        for cells in alone:
            self._write(cells)
        self._start()
        self._builder.part()

    def _open(self, first: list[str | None], second: list[str | None]) -> None:
        self._waiting = None
        if is_caption(first, second):
            write_row(self._builder, " ".join(filter(None, first)), longest=0)
            self._waiting = second
        elif is_header(first) and _divides(first, second):
            self._labels = _names([first, second])
        elif _is_form(first, second) or not is_header(first) or _shares(first, second):
            self._labels, self._is_form = [], _is_form(first, second)
            self._write(first)
            self._write(second)
        else:
            self._labels = _names([first])
            self._write(second)

    def _write(self, cells: Row) -> None:
        self._headers = []
        labels = self._labels or []
        if len(labels) > 2 and _filled(cells) == 1 and cells[0]:
            # A line such as "INCOME" between rows names a part of the table and belongs to no
            # column.
            labels = []
        parts = list(_parts(cells, labels))
        if self._is_form and len(parts) > 1 and cells[0]:
            parts = [f"{parts[0].rstrip(':： ')}: {parts[1]}", *parts[2:]]
        row = "; ".join(parts)
        row = row if labels else _AFTER_NAME.sub(r"\1 ", row)
        write_row(self._builder, row, longest=max((len(cell or "") for cell in cells), default=0))


def _names(rows: Sequence[Row]) -> list[str]:
    """One name for each column, from all rows of names above each other."""
    width = max(map(len, rows))
    names: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        above = ""
        for name, cell in zip(names, row, strict=False):
            above = above if cell is None else cell.rstrip(":： ")
            if above and above not in name:
                name.append(above)
    return [" ".join(name) for name in names]


def _parts(cells: Row, labels: Sequence[str]) -> Iterator[str]:
    """Each cell behind the names of its columns; one over the first columns names the row."""
    before = ""
    for at, cell in enumerate(cells):
        if not cell:
            continue
        end = at + 1
        while end < len(cells) and cells[end] is None:
            end += 1
        names = [] if at == 0 and end > 1 else list(dict.fromkeys(filter(None, labels[at:end])))
        label = ", ".join(names)
        yield f"{label}: {cell}" if label and label != before else cell
        before = label


def _divides(first: Row, second: Row) -> bool:
    """Whether the second row only divides what the merged cells of the first name."""
    parts = 0
    for at, cell in enumerate(second):
        above = first[at] if at < len(first) else ""
        is_part = above is None or (at + 1 < len(first) and first[at + 1] is None)
        if (cell and is_number(cell)) or not (is_part or not cell or cell == above):
            return False
        parts += bool(is_part and cell)
    return parts > 1


def _shares(first: Row, second: Row) -> bool:
    """Whether two rows have a cell in common: a name is not below itself."""
    return any(one and one == other for one, other in zip(first, second, strict=False))


def _is_form(first: Row, second: Row) -> bool:
    """Whether two rows are like those of a form: *Due* and *3 July 2025*, or *Chair:* and a name.

    >>> _is_form(["Number", "INV-0187"], ["Due", "3 July 2025"])
    True
    >>> _is_form(["Item", "Price 2025"], ["Rope", "3.20"]), _is_form(["A:", "B:"], ["1", "2"])
    (False, False)
    """
    name, value, *rest = *first, "", ""
    other, below = (*second, "", "")[:2]
    if not (name and value and other):
        return False
    if name[-1] in ":：":
        return other[-1] in ":：" and value[-1] not in ":："
    if any(rest) or any(second[2:]):
        return False
    is_worded = not (is_number(name) or is_number(other))
    return is_worded and is_value(value) and not is_number(below or "")


def write_row(builder: TextBuilder, row: str, *, longest: int) -> None:
    """Write a row or field; a table region unless its longest value is long enough to be prose."""
    start = builder.length
    builder.line(row)
    if longest <= _LONGEST_VALUE:
        builder.note(RegionKind.TABLE, start)


def is_value(cell: str) -> bool:
    """Whether a cell has a number, a date, an amount or an address: no name of a column does."""
    return _VALUE.search(cell) is not None


def is_caption(first: Row, second: Row) -> bool:
    return _filled(first) == 1 and _filled(second) > 1


def is_header(row: Row) -> bool:
    """Whether it has two or more short, distinct labels.

    Years count as labels next to words or an empty corner.

    >>> is_header(["Region", "2023", "2024"]), is_header(["", "2023", "2024"])
    (True, True)
    >>> is_header(["Bergen", "17.5"])
    False
    """
    labels = [cell for cell in row if cell]
    words = [label for label in labels if not is_number(label)]
    return (
        len(labels) >= 2
        and (bool(words) or not row[0])
        and len({label.casefold() for label in labels}) == len(labels)
        and all(len(label) <= _LONGEST_LABEL for label in labels)
        and all(label in words or is_year(label) for label in labels)
    )


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def is_year(cell: str) -> bool:
    """Whether it is a year, or one and the next, and no month.

    >>> [is_year(cell) for cell in ("2024", "2025-26", "2025/2026", "2025-06", "31,900")]
    [True, True, True, False, False]
    """
    found = _YEAR.fullmatch(cell)
    return found is not None and (found[2] is None or (int(found[2]) - int(found[1])) % 100 == 1)


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell)
