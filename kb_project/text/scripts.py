"""Patterns of scripts and names of months, shared by the modules that read text."""

from __future__ import annotations

from typing import Final

import regex

HAN: Final = regex.compile(r"\p{Han}")
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
