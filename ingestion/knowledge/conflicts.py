"""Count conflicts, and find the sentences that are their sides, for what rests on them."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from ingestion.models import Conflict, ConflictSide, ConflictState
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class SideSpan:
    """A side of a conflict as a place, with the conflict's state and the value that holds."""

    conflict_id: uuid.UUID
    state: str
    holds: str
    kind: str
    topic: str
    chunk_id: uuid.UUID
    document_id: uuid.UUID
    start: int
    end: int
    key: str
    value: str
    title: str

    @property
    def is_open(self) -> bool:
        return self.state == ConflictState.OPEN

    @property
    def is_refuted(self) -> bool:
        """Whether it was decided that another side holds."""
        return bool(self.holds) and self.holds != self.key

    def is_at(self, chunk_id: uuid.UUID, start: int, end: int) -> bool:
        return self.chunk_id == chunk_id and self.start < end and start < self.end


def sides_beside(workspace: Workspace | uuid.UUID, chunks: Collection[uuid.UUID]) -> list[SideSpan]:
    """Return all sides of the conflicts that these passages have a side of. Two queries."""
    own = ConflictSide.objects.in_workspace(workspace).filter(chunk__in=list(chunks))
    ids = set(own.values_list("conflict_id", flat=True))
    if not ids:
        return []
    rows = ConflictSide.objects.in_workspace(workspace).filter(conflict__in=ids)
    columns = rows.order_by("conflict_id", "ordinal").values_list(
        *("conflict_id", "conflict__state", "conflict__holds", "conflict__kind", "conflict__topic"),
        *("chunk_id", "document_id", "start", "end", "key", "value", "document__title"),
    )
    return [SideSpan(*row) for row in columns]


def others(own: SideSpan, sides: Collection[SideSpan]) -> list[SideSpan]:
    """Return the other sides of a side's conflict that matter beside it.

    All that say something else while the conflict is open; the side that holds where another was
    decided to; none where all are right, or it is this one that holds.
    """
    beside = [one for one in sides if one.conflict_id == own.conflict_id and one.key != own.key]
    if own.is_open:
        return beside
    return [one for one in beside if one.key == own.holds] if own.is_refuted else []


def open_count(workspace: Workspace) -> int:
    """Count the conflicts that no one has decided."""
    return Conflict.objects.in_workspace(workspace).filter(state=ConflictState.OPEN).count()
