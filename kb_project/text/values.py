"""Values that statements give (dates, quantities, names), and whether two of them agree.

A value's key identifies it wherever it is written: *3 May 1950* and *1950-05-03* have one key.

ISO 8601 dates of any precision (2019, 2019-05, 2019-05-03) sort as text: a shorter one comes before
all it contains, and with ``~`` behind it, after them. So a period is compared with a date without
knowing the precision of either.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from typing import Final, Self

import regex

AFTER: Final = "~"
"""Sorts after every digit and hyphen: the end of what a date contains."""
_ISO: Final = regex.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


def is_date(text: str) -> bool:
    """Whether a text is a date that exists.

    >>> is_date("2020-02-29"), is_date("2019-02-29"), is_date("2019-5"), is_date("0000")
    (True, False, False, False)
    """
    found = _ISO.fullmatch(text)
    if found is None or not text.isascii():
        return False
    year, month, day = (int(part or 1) for part in found.groups())
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def holds_at(start: str, end: str, date: str) -> bool:
    """Whether a period holds at some time within a date; an open end is ''.

    >>> holds_at("1902", "1911", "1911-05"), holds_at("", "1911-03", "1911-05")
    (True, False)
    >>> holds_at("2019-03", "", "2019"), holds_at("", "", "2019")
    (True, True)
    """
    return (not start or start <= date + AFTER) and (not end or end + AFTER >= date)


DATE: Final = "date"
NUMBER: Final = "number"
NAME: Final = "name"
WORDS: Final = "words"
"""What can only be compared as a whole: a quote, true or false."""
CONVERTED: Final = 0.01
"""Share by which two quantities in different units may differ."""
MONTHS_CLOSE: Final = 1
DAY: Final = 3
"""Parts of a date that says the day."""


@dataclass(frozen=True, slots=True)
class Value:
    """``parts`` are year, month and day as far as given; or amount, its precision, its dimension
    and the unit as written; or the name's key; or words.

    >>> Value.of_key("date:1950-5-3").agrees(Value.of_key("date:1950"))
    True
    """

    kind: str
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.kind}:{'-'.join(self.parts) if self.kind == DATE else '|'.join(self.parts)}"

    @classmethod
    def of_key(cls, key: str) -> Self:
        kind, _, rest = key.partition(":")
        return cls(kind, tuple(rest.split("-" if kind == DATE else "|")))

    @classmethod
    def date(cls, year: str, month: str = "", day: str = "") -> Self:
        return cls(DATE, tuple(part for part in (year, month, day) if part))

    @classmethod
    def number(cls, amount: float, precision: float, dimension: str, unit: str = "") -> Self:
        return cls(NUMBER, (f"{amount:.10g}", f"{precision:.10g}", dimension, unit))

    def agrees(self, other: Value) -> bool:
        """Return whether both may be true: one may be less precise than the other."""
        if self.kind != other.kind:
            return True
        if self.kind == DATE:
            return all(one == its for one, its in zip(self.parts, other.parts, strict=False))
        if self.kind == NUMBER:
            return self._is_close(other)
        return self.parts == other.parts

    def _is_close(self, other: Value) -> bool:
        if self.parts[2] != other.parts[2]:
            return True
        one, its = float(self.parts[0]), float(other.parts[0])
        rounding = max(float(self.parts[1]), float(other.parts[1])) / 2
        is_converted = self.parts[3] != other.parts[3]
        return abs(one - its) <= rounding + CONVERTED * max(abs(one), abs(its)) * is_converted

    def is_close_day(self, other: Value) -> bool:
        """Return whether both are days at most a month apart."""
        if self.kind != DATE or len(self.parts) != DAY or len(other.parts) != DAY:
            return False
        months = [12 * int(one.parts[0]) + int(one.parts[1]) for one in (self, other)]
        return abs(months[0] - months[1]) <= MONTHS_CLOSE

    def years_from(self, other: Value) -> int:
        """Return by how many years two dates differ."""
        return abs(int(self.parts[0]) - int(other.parts[0]))
