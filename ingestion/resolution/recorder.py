"""Record the decisions that people make in one event of the history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ingestion.models import (
    Claim,
    ClaimRuling,
    Document,
    EntityRuling,
    HistoryEvent,
    MentionPlacement,
    RelationshipRuling,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution.decisions import mark_suggestions
from ingestion.resolution.keys import Ref, RefPair, pair_of

BATCH: Final = 5000
"""Rows of one statement."""


class Recorder:
    """Records a person's decisions with the event they belong to."""

    def __init__(self, event: HistoryEvent) -> None:
        self.event = event
        self.workspace = event.workspace
        self._common = {"workspace": event.workspace, "event": event, "sequence": event.sequence}

    def pairs(
        self, verdict: Verdict, pairs: Iterable[RefPair], *, keeps: Ref | None = None
    ) -> None:
        """Decide whether the entities of each pair are one, and which one of them is kept."""
        ordered = [pair_of(*pair) for pair in pairs]
        ResolutionDecision.objects.bulk_create(
            self._decision(
                left_key=left[0],
                left_sense=left[1],
                right_key=right[0],
                right_sense=right[1],
                keeps_right=None if keeps is None else keeps == right,
                verdict=verdict,
            )
            for left, right in ordered
        )
        mark_suggestions(
            self.workspace.pk,
            [(left[0], right[0]) for left, right in ordered if not left[1] and not right[1]],
        )

    def names(self, given: Iterable[tuple[Ref, str]]) -> None:
        """Decide that documents may use these names' keys for the entities."""
        rows = []
        for ref, key in given:
            left, right = pair_of(ref, (key, 0))
            rows.append(
                self._decision(
                    left_key=left[0],
                    left_sense=left[1],
                    right_key=right[0],
                    right_sense=right[1],
                    keeps_right=ref == right,
                    verdict=Verdict.SAME,
                )
            )
        ResolutionDecision.objects.bulk_create(rows, batch_size=BATCH)
        mark_suggestions(
            self.workspace.pk,
            [(row.left_key, row.right_key) for row in rows if not row.left_sense | row.right_sense],
        )

    def sense(self, entity: Ref, document: Document) -> ResolutionDecision:
        """Decide that a document means this entity by the name."""
        decision = self._decision(
            left_key=entity[0], document=document, sense=entity[1], verdict=Verdict.DIFFERENT
        )
        decision.save(force_insert=True)
        return decision

    def _decision(self, **subject: Any) -> ResolutionDecision:
        return ResolutionDecision(
            workspace=self.workspace,
            reason=self.event.reason,
            by=ResolutionDecision.By.PERSON,
            user=self.event.user,
            event=self.event,
            **subject,
        )

    def entity(self, ref: Ref, field: EntityRuling.Field, value: str = "") -> None:
        EntityRuling.objects.create(
            **self._common, key=ref[0], sense=ref[1], field=field, value=value
        )

    def entities(self, rows: Iterable[tuple[Ref, EntityRuling.Field, str]]) -> None:
        """Record many decisions about entities."""
        made = (
            EntityRuling(**self._common, key=ref[0], sense=ref[1], field=field, value=value)
            for ref, field, value in rows
        )
        EntityRuling.objects.bulk_create(made, batch_size=BATCH)

    def relationships(self, rows: Iterable[tuple[Ref, Ref, RelationshipRuling.Field, str]]) -> None:
        """Record many decisions about relationships."""
        made = (
            RelationshipRuling(
                **self._common,
                source_key=source[0],
                source_sense=source[1],
                target_key=target[0],
                target_sense=target[1],
                field=field,
                value=value,
            )
            for source, target, field, value in rows
        )
        RelationshipRuling.objects.bulk_create(made, batch_size=BATCH)

    def relationship(
        self, source: Ref, target: Ref, field: RelationshipRuling.Field, value: str = ""
    ) -> None:
        RelationshipRuling.objects.create(
            **self._common,
            source_key=source[0],
            source_sense=source[1],
            target_key=target[0],
            target_sense=target[1],
            field=field,
            value=value,
        )

    def claim(
        self, claim: Claim, identity: tuple[str, str], field: ClaimRuling.Field, value: str = ""
    ) -> None:
        """``identity`` is the claim's quote and its own words, as digests."""
        ClaimRuling.objects.create(
            **self._common,
            document_id=claim.document_id,
            key=claim.subject.key,
            quote=identity[0],
            words=identity[1],
            field=field,
            value=value,
        )

    def reassign(self, placements: Sequence[MentionPlacement], target: Ref) -> None:
        """Reassign mentions to ``target``; the rows need only say which mentions."""
        for row in placements:
            row.workspace, row.event, row.sequence = self.workspace, self.event, self.event.sequence
            row.target_key, row.target_sense = target
        MentionPlacement.objects.bulk_create(placements)
