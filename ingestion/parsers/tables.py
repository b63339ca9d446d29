"""Write rows of cells as text. Each row names its columns, so that it makes sense alone:

``Name: Ada; Role: Engineer; Office: Bergen``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import one_line
from kb_project.text.regions import RegionKind

_NUMBER: Final = re.compile(r"[\s+\-–(]*[$€£¥]?\s*\d[\d\s.,:/\-TZ]*\s*[%€£$)]?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LONGEST_LABEL: Final = 80
_LONGEST_VALUE: Final = 160
"""Characters; a longer value is prose in a cell."""
_NO_LIMIT: Final = 2**31


def write_table(builder: TextBuilder, rows: Iterable[Sequence[str]]) -> None:
    """Write rows as they come. A blank row ends a table; the next one has its own header."""
    builder.part()
    table = _Table(builder)
    for row in rows:
        table.add([one_line(cell, limit=_NO_LIMIT) for cell in row])
    table.end()
    builder.part()


class _Table:
    """One table at a time; the first row waits until the second shows what it is."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._waiting: list[str] | None = None
        self._labels: list[str] | None = None

    def add(self, cells: list[str]) -> None:
        if not any(cells):
            self.end()
        elif self._labels is not None:
            self._write(cells)
        elif self._waiting is None:
            self._waiting = cells
        else:
            self._open(self._waiting, cells)

    def end(self) -> None:
        if self._waiting is not None:
            self._labels = []
            self._write(self._waiting)
        self._waiting = self._labels = None
        self._builder.part()

    def _open(self, first: list[str], second: list[str]) -> None:
        if is_caption(first, second):
            write_row(self._builder, " ".join(filter(None, first)), longest=0)
            self._waiting = second
            return
        self._waiting = None
        self._labels = [label.rstrip(":： ") for label in first] if is_header(first) else []
        if not self._labels:
            self._write(first)
        self._write(second)

    def _write(self, cells: list[str]) -> None:
        labels = self._labels or []
        if len(labels) > 2 and _filled(cells) == 1 and cells[0]:
            # A line such as "INCOME" between rows names a part of the table and belongs to no
            # column.
            labels = []
        padded = labels + [""] * (len(cells) - len(labels))
        parts = [
            f"{label}: {cell}" if label else cell
            for label, cell in zip(padded, cells, strict=False)
            if cell
        ]
        write_row(self._builder, "; ".join(parts), longest=max(map(len, cells), default=0))


def write_row(builder: TextBuilder, row: str, *, longest: int) -> None:
    """Write a row or field; a table region unless its longest value is long enough to be prose."""
    start = builder.length
    builder.line(row)
    if longest <= _LONGEST_VALUE:
        builder.note(RegionKind.TABLE, start)


def is_caption(first: Sequence[str], second: Sequence[str]) -> bool:
    return _filled(first) == 1 and _filled(second) > 1


def is_header(row: Sequence[str]) -> bool:
    """Whether it has two or more short, distinct labels; next to words, years count as labels.

    >>> is_header(["Region", "2023", "2024"]), is_header(["Bergen", "17.5"])
    (True, False)
    """
    labels = [cell for cell in row if cell]
    words = [label for label in labels if not _NUMBER.fullmatch(label)]
    return (
        len(labels) >= 2
        and bool(words)
        and len({label.casefold() for label in labels}) == len(labels)
        and all(len(label) <= _LONGEST_LABEL for label in labels)
        and all(label in words or _YEAR.fullmatch(label) for label in labels)
    )


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell)
