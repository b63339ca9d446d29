"""Conflicts: how many are open, the sentences that are their sides, and those a model reports."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel, Field

from ingestion.models import Conflict as ConflictRow, ConflictSide, ConflictState
from kb_project.text.words import one_line
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
    return ConflictRow.objects.in_workspace(workspace).filter(state=ConflictState.OPEN).count()


# --- what a model reports -------------------------------------------------------------------------
MOST_CONFLICTS: Final = 12
"""Contradictions kept of one reply."""
MOST_STATEMENTS: Final = 6
"""Statements kept of one contradiction."""
LONGEST_REASON: Final = 500

ShownT = TypeVar("ShownT")


# Without a docstring: it would stand in the JSON schema that models are shown.
class Conflict(BaseModel):
    reason: str = ""
    statements: list[int] = Field(default_factory=list)


def reported(
    conflicts: Sequence[Conflict], shown: Sequence[ShownT]
) -> Iterator[tuple[str, list[ShownT]]]:
    """Yield the reason of each contradiction that has one, and the statements it names.

    Statements are numbered from 1 in the order in which they were shown; other numbers are left
    out, repeated ones count once.
    """
    for conflict in conflicts[:MOST_CONFLICTS]:
        if reason := one_line(conflict.reason)[:LONGEST_REASON]:
            numbers = dict.fromkeys(conflict.statements)
            yield reason, [shown[one - 1] for one in numbers if 0 < one <= len(shown)]
