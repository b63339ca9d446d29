"""Pages of lists that may be long: rows are counted no further than people look.

Counting all rows of a list takes as long as the list is. So a page counts ``MOST_COUNTED`` rows, or
as many as there are up to itself, and one more: every page can be reached, and whether another
follows is always known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol, TypeVar, cast

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property

MOST_COUNTED: Final = 10_000
"""Rows counted for a page; where there are more, it says so."""
RowT = TypeVar("RowT", bound=Model)
AnyT_co = TypeVar("AnyT_co", covariant=True)


class Rows(Protocol[AnyT_co]):
    """A list to count and to cut pages from."""

    def count(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Iterable[AnyT_co]: ...


def counted_up_to(rows: QuerySet[Any], most: int = MOST_COUNTED) -> int:
    """Count rows, no further than ``most`` and one more."""
    return rows.order_by()[: most + 1].count()


class LongPaginator(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Pages of rows of which at least ``least`` are counted.

    Beyond the bound, ``count`` is one more than was counted, and ``has_more`` is true.
    """

    most = MOST_COUNTED

    def __init__(self, rows: QuerySet[Any], per_page: int, least: int = 0) -> None:
        super().__init__(rows, per_page)
        self.bound = max(self.most, least)

    @cached_property
    def count(self) -> int:
        return counted_up_to(cast("QuerySet[Any]", self.object_list), self.bound)

    @property
    def has_more(self) -> bool:
        """Whether there are more rows than were counted."""
        return self.count > self.bound

    @property
    def pages_known(self) -> int:
        """The pages that are sure to be full, where there are more."""
        return self.bound // self.per_page


def long_page(rows: QuerySet[RowT], number: str, per_page: int) -> Page[RowT]:
    """Return the page of this number: the last for one beyond it, the first for no number."""
    is_number = number.isdecimal() and len(number) < 8
    wanted = max(1, int(number)) if is_number else 1
    return LongPaginator(rows, per_page, least=wanted * per_page).get_page(wanted)
