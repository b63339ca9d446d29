"""When statements hold: the date a person asks for, what holds at it, and periods in words.

A statement holds at a date if its period, widened to its precision, and the date have any time in
common, or if it has no period. A fact that has periods holds if any of them does.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from django.db.models import F, Model, Q, QuerySet, Value
from django.db.models.functions import Collate, Concat

from kb_project.errors import InputError
from kb_project.text.values import AFTER, is_date

FORM: Final = "Write a year, a month or a day that exists: 2019, 2019-05 or 2019-05-03."
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
RowT = TypeVar("RowT", bound=Model)


def as_of_date(value: object) -> str:
    """Return the date as ISO 8601, '' for none. Raises InputError for one that does not exist.

    >>> as_of_date(" 2019-05 "), as_of_date(None)
    ('2019-05', '')
    """
    text = str(value or "").strip()
    if text and not is_date(text):
        raise InputError(f"“{text[:40]}” is not a date.", code="invalid_date", next_step=FORM)
    return text


def holding(rows: QuerySet[RowT], as_of: str) -> QuerySet[RowT]:
    """Those of some evidence or claims that hold at a date; all of them for ''."""
    if not as_of:
        return rows
    widened: Any = Collate(Concat(F("period_end"), Value(AFTER)), "C")
    since: Any = Collate(F("period_start"), "C")
    held: QuerySet[RowT] = rows.alias(holds_from=since, holds_to=widened).filter(
        Q(period_start="") | Q(holds_from__lte=as_of + AFTER),
        Q(period_end="") | Q(holds_to__gte=as_of),
    )
    return held


def dated(rows: QuerySet[RowT]) -> QuerySet[RowT]:
    """Those of some evidence or claims that have a period."""
    undated = Q(period_start="", period_end="")
    return rows.filter(~undated)


def in_words(start: str, end: str) -> str:
    """
    >>> in_words("1902", "1911"), in_words("2019-03", ""), in_words("", "2019-03-05")
    ('1902 to 1911', 'since March 2019', 'until 5 March 2019')
    >>> in_words("1823", "1823"), in_words("", "")
    ('1823', '')
    """
    if start and end:
        return readable(start) if start == end else f"{readable(start)} to {readable(end)}"
    return f"since {readable(start)}" if start else f"until {readable(end)}" if end else ""


def readable(date: str) -> str:
    """A date in words; what is not a date stays as it is.

    >>> readable("2019-03"), readable("2019-03-05"), readable("spring")
    ('March 2019', '5 March 2019', 'spring')
    """
    if not is_date(date):
        return date
    year, *rest = date.split("-")
    parts = [str(int(day)) for day in rest[1:]] + [MONTHS[int(month) - 1] for month in rest[:1]]
    return " ".join([*parts, year])
