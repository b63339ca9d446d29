"""Parse what people submit on the evaluation pages."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import QueryDict

from kb_project.errors import InputError
from retrieval.evaluation import control
from retrieval.evaluation.measuring import Plan
from retrieval.search.modes import MODES
from workspaces.pages import id_in

LONGEST_NUMBERS: Final = 100


def plan_in(form: QueryDict) -> Plan:
    """Return the plan of a run. Raises InputError if it measures nothing."""
    modes = tuple(dict.fromkeys(mode for mode in form.getlist("modes") if mode in MODES))
    if not modes:
        raise InputError("No mode is selected.", next_step="Select at least one.")
    return Plan(modes, numbers_in(form.get("ks", "")))


def numbers_in(text: str) -> tuple[int, ...]:
    """Parse numbers separated by commas or spaces; each once, ascending.

    >>> numbers_in("20, 5 5")
    (5, 20)
    """
    words = text[:LONGEST_NUMBERS].replace(",", " ").split()
    if any(not word.isdecimal() or len(word) > 6 for word in words):
        raise InputError(
            "The numbers of passages must be whole numbers.",
            code="invalid_top_k",
            next_step="Enter whole numbers separated by commas, for example 5, 8, 20.",
        )
    return tuple(sorted({int(word) for word in words})) or control.KS


def number_in(form: QueryDict, name: str) -> int:
    """Return the number, or 0 if there is none: the services explain what is wrong with that."""
    value = form.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 9 else 0


def ids_in(form: QueryDict, name: str) -> list[UUID]:
    return [one for one in map(id_in, form.getlist(name)) if one]
