"""Looking one row up, or saying that there is none."""

from __future__ import annotations

from typing import TypeVar

from kb_project.errors import NotFoundError

RowT = TypeVar("RowT")


def found(row: RowT | None, noun: str) -> RowT:
    if row is None:
        raise NotFoundError(f"There is no such {noun} in this workspace.")
    return row
