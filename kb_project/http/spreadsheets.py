"""CSV files for people's spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Final

from django.http import HttpResponse

# Prefixes that make a spreadsheet treat a cell as a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(text: str) -> str:
    """
    >>> safe_cell("=1+1"), safe_cell("Who?")
    ("'=1+1", 'Who?')
    """
    return f"'{text}" if _is_formula(text) else text


def cell_text(cell: str) -> str:
    """The text that ``safe_cell`` was given.

    >>> cell_text("'=1+1"), cell_text("''=1"), cell_text("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    # Behind apostrophes too, so that the one added can be told from those that were there.
    return text.lstrip("'").startswith(_FORMULA)


def csv_response(name: str, rows: Iterable[Iterable[str]]) -> HttpResponse:
    """Return a download. Texts that people or models wrote must be ``safe_cell``s."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
