"""What documents claim about an entity, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from ingestion.knowledge.spans import SourceSpan, span_of, spans_of
from ingestion.models import Claim, Entity
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim with its passage. ``other`` is the entity at its other end, if any."""

    claim: Claim
    other: Entity | None
    source: SourceSpan

    @property
    def period(self) -> str:
        """
        >>> ClaimView(Claim(period_start="1974", period_end=""), None, None).period
        'since 1974'
        """
        start, end = self.claim.period_start, self.claim.period_end
        if start and end:
            return start if start == end else f"{start} to {end}"
        return f"since {start}" if start else f"until {end}" if end else ""


def claims_about(*, workspace: Workspace, entity: Entity, most: int = 60) -> list[ClaimView]:
    """Claims with the entity at either end, by type and time."""
    rows = (
        Claim.objects.in_workspace(workspace)
        .filter(Q(subject=entity) | Q(object=entity))
        .select_related("subject", "object", "chunk__document")
        .order_by("type", "period_start", "description", "chunk_id", "start", "id")[:most]
    )
    return [
        ClaimView(
            row,
            row.object if row.subject_id == entity.pk else row.subject,
            span_of(row.chunk, row.start, row.end),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class StatementView:
    """One of several contradictory statements, with its passage."""

    text: str
    source: SourceSpan


@dataclass(frozen=True, slots=True)
class ConflictView:
    reason: str
    statements: tuple[StatementView, ...]


def conflicts_of(workspace: Workspace, stored: Iterable[dict[str, Any]]) -> list[ConflictView]:
    """Stored contradictions, without statements whose passage is gone.

    One with fewer than two statements left is no longer a contradiction.
    """
    conflicts = list(stored)
    said = [one for conflict in conflicts for one in conflict["statements"]]
    spans = {
        (str(span.chunk_id), span.start, span.end): span
        for span in (spans_of(workspace, said) if said else ())
    }
    views = [
        ConflictView(conflict["reason"], tuple(_standing(conflict["statements"], spans)))
        for conflict in conflicts
    ]
    return [view for view in views if len(view.statements) > 1]


def _standing(
    statements: Sequence[dict[str, Any]], spans: dict[tuple[str, int, int], SourceSpan]
) -> Iterable[StatementView]:
    for one in statements:
        span = spans.get((one["chunk"], one["start"], one["end"]))
        if span is not None:
            yield StatementView(one["text"], span)
