"""Writes the rulings of one event, and reads earlier ones on pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ingestion.history.recording import ChangeContext
from ingestion.models import (
    EntityRuling,
    HistoryEvent,
    MentionPlacement,
    RelationshipRuling,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution.keys import Ref
from workspaces.models import Workspace

Pair = tuple[Ref, Ref]


class Rules:
    """The rulings of one event; those on pairs are collected and written by ``keep``."""

    def __init__(self, change: ChangeContext, event: HistoryEvent) -> None:
        self.change = change
        self.event = event
        self._pairs: list[ResolutionDecision] = []

    @property
    def workspace(self) -> Workspace:
        return self.change.workspace

    def pair(self, one: Ref, other: Ref, verdict: Verdict, *, keeps: Ref | None = None) -> None:
        """Add a decision whether two entities are one, and which of them is kept."""
        left, right = sorted((one, other))
        self._pairs.append(
            ResolutionDecision(
                workspace=self.workspace,
                left_key=left[0],
                left_sense=left[1],
                right_key=right[0],
                right_sense=right[1],
                keeps_right=None if keeps is None else keeps == right,
                verdict=verdict,
                reason=self.event.reason,
                by=ResolutionDecision.By.PERSON,
                user=self.change.user,
                event=self.event,
            )
        )

    def keep(self) -> None:
        """Write the decisions on pairs."""
        ResolutionDecision.objects.bulk_create(self._pairs)
        self._pairs = []

    def entity(self, ref: Ref, field: EntityRuling.Field, value: str = "") -> None:
        EntityRuling.objects.create(
            workspace=self.workspace,
            event=self.event,
            sequence=self.event.sequence,
            key=ref[0],
            sense=ref[1],
            field=field,
            value=value,
        )

    def link(
        self, source: Ref, target: Ref, field: RelationshipRuling.Field, value: str = ""
    ) -> None:
        RelationshipRuling.objects.create(
            workspace=self.workspace,
            event=self.event,
            sequence=self.event.sequence,
            source_key=source[0],
            source_sense=source[1],
            target_key=target[0],
            target_sense=target[1],
            field=field,
            value=value,
        )

    def place(self, placements: Iterable[MentionPlacement], target: Ref) -> None:
        """Reassign mentions to ``target``; the rows need only their place set."""
        rows = list(placements)
        for row in rows:
            row.workspace = self.workspace
            row.event = self.event
            row.sequence = self.event.sequence
            row.target_key, row.target_sense = target
        MentionPlacement.objects.bulk_create(rows)


def who_told_apart(workspace: Workspace, pairs: Sequence[Pair]) -> list[str]:
    """Return the people who declared these pairs different, without repeats."""
    keys = {key for pair in pairs for key, _ in pair}
    rows = ResolutionDecision.objects.in_workspace(workspace).filter(
        left_key__in=keys,
        right_key__in=keys,
        verdict=Verdict.DIFFERENT,
        by=ResolutionDecision.By.PERSON,
        undone_at=None,
    )
    wanted = set(pairs)
    found = [
        str(row.user) if row.user else "A former member"
        for row in rows.select_related("user").order_by("created_at")
        if ((row.left_key, row.left_sense), (row.right_key, row.right_sense)) in wanted
    ]
    return list(dict.fromkeys(found))
