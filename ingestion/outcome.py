"""What a stage gives back, and how it reports on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kb_project.errors import KBError


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """``written`` counts rows made; ``warnings`` are sentences for the document's row.

    ``failed`` is what stopped this one job of a group, while the others went on.
    """

    written: int = 0
    warnings: tuple[str, ...] = ()
    failed: KBError | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How a stage says how far it is. Calling it renews the lease and raises when cancelled."""

    report: Callable[[int, int], None]

    def __call__(self, done: int, total: int) -> None:
        self.report(done, total)


def _ignore(_done: int, _total: int) -> None:
    return None


NO_PROGRESS = Progress(report=_ignore)
