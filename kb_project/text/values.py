"""Values that statements give (dates, quantities, names), and whether two of them agree.

A value's key identifies it wherever it is written: *3 May 1950* and *1950-05-03* have one key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

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
