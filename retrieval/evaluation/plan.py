"""What a run measures."""

from __future__ import annotations

from dataclasses import dataclass

from kb_project.errors import InputError
from retrieval.search.modes import mode_named
from retrieval.search.query import checked_top_k


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: the modes, and how many of the first passages count."""

    modes: tuple[str, ...]
    ks: tuple[int, ...]

    def __post_init__(self) -> None:
        for mode in self.modes:
            mode_named(mode)
        for k in self.ks:
            checked_top_k(k)
        if not self.modes or not self.ks:
            raise InputError("Choose at least one mode and one number of passages.")
