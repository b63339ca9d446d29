"""Which topics a global search reads: how deep, and whether a model selects them first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from kb_project.errors import InputError

DEEPEST_LEVEL: Final = 9
"""Topics are nested at most ten levels deep."""


class Selection(StrEnum):
    """``AUTO`` selects if there are more topics than one call can read, and no level was chosen;
    ``DYNAMIC`` always rates topics from the root down, ``FIXED`` reads all of a level."""

    AUTO = "auto"
    DYNAMIC = "dynamic"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """``level`` is the deepest that is read, 0 the main topics; None is as deep as fits."""

    level: int | None = None
    selection: Selection = Selection.AUTO

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Raises InputError for an unknown selection, or a level that is none."""
        return cls(_level(given.get("level")), _selection(given.get("selection")))

    def selects(self, *, is_much: bool) -> bool:
        """Whether topics are rated before they are read; ``is_much`` if one call can't read all."""
        if self.selection is Selection.AUTO:
            return is_much and self.level is None
        return self.selection is Selection.DYNAMIC

    def as_json(self) -> dict[str, Any]:
        """Return what was chosen, leaving out what was not."""
        level = {} if self.level is None else {"level": self.level}
        is_usual = self.selection is Selection.AUTO
        return level if is_usual else level | {"selection": self.selection.value}


def _level(value: Any) -> int | None:
    if value in (None, ""):
        return None
    try:
        level = int(str(value))
    except ValueError:
        level = -1
    if not 0 <= level <= DEEPEST_LEVEL:
        raise InputError(
            f"There is no level '{str(value)[:20]}' of topics.",
            code="invalid_level",
            next_step=f"Choose a level from 0, the main topics, to {DEEPEST_LEVEL}, or none.",
        )
    return level


def _selection(value: Any) -> Selection:
    if value not in ("", None, *Selection):
        raise InputError(
            f"There is no way '{str(value)[:20]}' to select topics.",
            code="invalid_selection",
            next_step=f"Choose one of {', '.join(Selection)}.",
        )
    return Selection(value or Selection.AUTO)
