"""A version on its way through the stage, and how far the group is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ingestion.models import Chunk, DocumentVersion
from ingestion.outcome import Progress

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(slots=True, eq=False)
class Situated:
    """A version with its chunks; ``local`` is what the document itself says of each.

    ``said`` are the places of those of which the model has said where they stand, earlier.
    """

    version: DocumentVersion
    chunks: list[Chunk]
    local: list[str]
    before: list[str]
    said: frozenset[int] = frozenset()
    unanswered: int = 0
    written: int = 0


@dataclass(slots=True)
class Counted:
    """Says how far a group is, now and then: every report is a statement and asks for a stop."""

    progress: Progress
    total: int
    done: int = field(default=0)
    _reported: float = field(default_factory=time.monotonic)

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if self.done >= self.total or now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self.progress(self.done, self.total)
