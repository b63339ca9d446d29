"""ISO 8601 dates of any precision (2019, 2019-05, 2019-05-03) and whether periods hold at one.

Such dates sort as text: a shorter one comes before all it contains, and with ``~`` behind it, after
them. So a period is compared with a date without knowing the precision of either.
"""

from __future__ import annotations

from calendar import monthrange
from typing import Final

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
