"""A version on its way through the stage, and how far the group is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingestion.models import Chunk, DocumentVersion
from ingestion.outcome import Progress


@dataclass(slots=True, eq=False)
class Situated:
    """A version with its chunks; ``local`` is what the document itself says of each."""

    version: DocumentVersion
    chunks: list[Chunk]
    local: list[str]
    before: list[str]
    unanswered: int = 0
    written: int = 0


@dataclass(slots=True)
class Counted:
    """Says how far a group is, when it is worth saying."""

    progress: Progress
    total: int
    done: int = field(default=0)

    def add(self, count: int) -> None:
        self.done += count
        self.progress(self.done, self.total)
