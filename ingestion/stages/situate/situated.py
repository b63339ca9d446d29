"""A version in progress, and progress of its group."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ingestion.models import Chunk, DocumentVersion
from ingestion.stage import Progress

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(slots=True, eq=False)
class Situated:
    """A version with its chunks; ``local`` is the context of each from the document itself.

    ``said`` are the indexes of chunks that the model situated earlier.
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
    """Reports progress every so often: each report is a statement and checks for a stop."""

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
