"""What a check of a workspace finds, in values and in sentences."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MOST_SAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What one check found: ``samples`` are ids of some of it, ``targets`` what to mend."""

    count: int = 0
    samples: tuple[str, ...] = ()
    targets: frozenset[uuid.UUID] = frozenset()

    def __bool__(self) -> bool:
        return self.count > 0


NOTHING: Final = Found()


@dataclass(frozen=True, slots=True)
class Drift:
    """One way in which a workspace is not what it follows from.

    ``next_step`` says what ``--repair`` does about it or, where ``is_repairable`` is false, what a
    person does.
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
    """Something that is under way, or will be mended by what is."""

    check: str
    sentence: str
    count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """What one look at a workspace found. ``seconds`` is what it took."""

    workspace_id: uuid.UUID
    drifts: tuple[Drift, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    is_deep: bool = False
    seconds: float = field(default=0, compare=False)

    @property
    def is_sound(self) -> bool:
        """Nothing is adrift; something may wait for work that is under way."""
        return not self.drifts

    @property
    def is_settled(self) -> bool:
        """Nothing is adrift, and nothing waits either."""
        return not self.drifts and not self.waiting

    def __str__(self) -> str:
        lines = [f"{one.check}: {one.sentence} {list(one.found.samples)}" for one in self.drifts]
        return "\n".join(lines) or "Everything agrees."
