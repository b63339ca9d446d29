"""The result of a workspace check, as values and sentences."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MOST_SAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """The findings of one check: ``samples`` are some ids, ``targets`` what to repair."""

    count: int = 0
    samples: tuple[str, ...] = ()
    targets: frozenset[uuid.UUID] = frozenset()

    def __bool__(self) -> bool:
        return self.count > 0


NOTHING: Final = Found()


@dataclass(frozen=True, slots=True)
class Drift:
    """One way in which a workspace differs from the data it is derived from.

    ``next_step`` says what ``--repair`` does about it or, if not ``is_repairable``, what a person
    should do.
    """

    check: str
    sentence: str
    found: Found
    next_step: str = ""
    is_repairable: bool = False

    @property
    def count(self) -> int:
        return self.found.count

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "sentence": self.sentence,
            "count": self.count,
            "samples": list(self.found.samples),
            "next_step": self.next_step,
            "is_repairable": self.is_repairable,
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something in progress, or that work in progress will repair."""

    check: str
    sentence: str
    count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one workspace check. ``seconds`` is its duration."""

    workspace_id: uuid.UUID
    drifts: tuple[Drift, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    is_deep: bool = False
    seconds: float = field(default=0, compare=False)

    @property
    def is_sound(self) -> bool:
        """Whether there is no drift; work in progress may still be waiting."""
        return not self.drifts

    @property
    def is_settled(self) -> bool:
        """Whether there is no drift and nothing is waiting."""
        return not self.drifts and not self.waiting

    def __str__(self) -> str:
        lines = [f"{one.check}: {one.sentence} {list(one.found.samples)}" for one in self.drifts]
        return "\n".join(lines) or "No drift was found."
