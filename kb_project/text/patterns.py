"""Patterns that are compiled when they are first used."""

from __future__ import annotations

from functools import partial
from typing import cast

import regex
from django.utils.functional import SimpleLazyObject


def lazy_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the pattern as ``regex.compile`` does, compiled when it is first used.

    For patterns of many alternatives: together, they took a sixth of the start of every process,
    most of which never use them.
    """
    return cast("regex.Pattern[str]", SimpleLazyObject(partial(regex.compile, pattern, flags)))
