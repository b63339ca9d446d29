"""Tables that plain text lays out by spaces, with a line of dashes below the names:

Team    Lead
------  ---------------
Amber   Dilys Rowe

The dashes of each column, or one line below all names, which then tell where columns begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ingestion.parsers.tables import Header, Row, is_header

_RULE: Final = re.compile(r"[ \t]*[-=]{2,}(?:[ \t]+[-=]{2,})+[ \t]*")
_LONG_RULE: Final = re.compile(r"[ \t]*([-=_])\1{7,}[ \t]*")
_FEWEST_BELOW: Final = 2
"""Rows, each with several cells, right below names that alone tell the columns."""
_NAME: Final = re.compile(r"\S+(?: \S+)*")
_DASHES: Final = re.compile(r"[-=]+")
_DASHED: Final = re.compile(r"[-=]{2}")
"""A frame of dashes around a notice, not a name."""
_WIDE: Final = re.compile(r" {2,}")
_MOST_NAMES: Final = 3
"""Lines of names above the dashes."""


def parts_of(text: str) -> Iterator[str | list[Row]]:
    """What is between the text's tables, and their rows, names first; dashes are left out."""
    lines = text.split("\n")
    done = 0
    for place, line in enumerate(lines):
        if place < done:
            continue
        groups, fewest = _groups(line), 0
        if not groups and place > done and _LONG_RULE.fullmatch(line):
            groups, fewest = _groups_of_names(lines[place - 1]), _FEWEST_BELOW
        if groups:
            table = _Table(lines, done, place, groups)
            divided = [row for row in table.rows[1 : fewest + 1] if sum(map(bool, row)) > 1]
            if len(table.rows) > 1 and len(divided) == fewest:
                yield "\n".join(lines[done : table.start])
                yield table.rows
                done = table.end
    yield "\n".join(lines[done:])


class _Table:
    """What is a table around a line of dashes: the lines from ``start`` to ``end``."""

    def __init__(
        self, lines: Sequence[str], first: int, rule: int, groups: list[tuple[int, int]]
    ) -> None:
        self._lines = lines
        self._groups = groups
        self.start, self.end = rule, rule + 1
        names = list(map(_joined, zip(*self._names(first), strict=True)))
        is_head = is_header(names) and not any(map(_DASHED.match, names))
        self.rows: list[Row] = [Header(names), *self._below()] if is_head else []

    def _names(self, first: int) -> list[list[str]]:
        """The cells of the lines of names above the dashes."""
        names: list[list[str]] = []
        while self.start > first and len(names) < _MOST_NAMES:
            cells = self._cells(self._lines[self.start - 1])
            # A line that only begins where the first column does introduces the table.
            if not any(cells[1:]):
                break
            names.insert(0, cells)
            self.start -= 1
        if self.start > first and _groups(self._lines[self.start - 1]) == self._groups:
            self.start -= 1
        return names

    def _below(self) -> list[list[str]]:
        """The rows; a blank line, or one of dashes, may be before each, and dashes at the end."""
        rows: list[list[str]] = []
        for place in range(self.end, len(self._lines)):
            line = self._lines[place]
            cells = self._cells(line)
            is_row = any(cells) and not self._is_next(place, cells)
            is_between = self.end == place and (not line.strip() or _groups(line) == self._groups)
            if is_row:
                self._add(rows, cells)
            elif not is_between:
                break
            if line.strip():
                self.end = place + 1
        return rows

    def _is_next(self, place: int, cells: Sequence[str]) -> bool:
        """Whether what stands behind a blank line is text, or the names of another table."""
        if self._lines[place - 1].strip():
            return False
        below = "".join(self._lines[place + 1 : place + 2])
        is_text = (
            not any(cells[1:]) or _WIDE.search(self._lines[place].expandtabs().strip()) is None
        )
        return is_text or _RULE.fullmatch(below) is not None

    def _add(self, rows: list[list[str]], cells: list[str]) -> None:
        """A line without a first cell goes on with the row above, unless it has all others."""
        if rows and not cells[0] and not (len(cells) > 2 and all(cells[1:])):
            rows[-1] = [_joined(pair) for pair in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)

    def _cells(self, line: str) -> list[str]:
        """A cell for each column, maybe empty; none if the line does not keep to the columns."""
        line = line.expandtabs()
        if not line.strip() or _RULE.fullmatch(line):
            return []
        gutters = [slice(left[1], right[0]) for left, right in pairwise(self._groups)]
        if not any(line[gutter].strip() for gutter in gutters):
            starts = [0, *(start for start, _ in self._groups[1:]), None]
            return [line[start:end].strip() for start, end in pairwise(starts)]
        cells = _WIDE.split(line.strip())
        return cells if len(cells) == len(self._groups) else []


def _groups(rule: str) -> list[tuple[int, int]]:
    """Where each group of dashes begins and ends; none in another line."""
    return [one.span() for one in _DASHES.finditer(rule.expandtabs())] * bool(_RULE.fullmatch(rule))


def _groups_of_names(line: str) -> list[tuple[int, int]]:
    """Where each name of a line of several begins and ends."""
    found = [one.span() for one in _NAME.finditer(line.expandtabs())]
    return found if len(found) > 1 else []


def _joined(cells: Sequence[str]) -> str:
    return " ".join(filter(None, cells))
