"""Counts in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count; ``many`` is the plural if it is not ``one`` with an s.

    >>> counted(1, "fact"), counted(1200, "fact"), counted(2, "entity", "entities")
    ('1 fact', '1,200 facts', '2 entities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
