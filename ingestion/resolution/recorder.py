"""Record the decisions that people make in one event of the history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, LiteralString

from ingestion.models import (
    Claim,
    ClaimRuling,
    Conflict,
    ConflictRuling,
    ConflictVerdict,
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
from kb_project.sql import run_sql

BATCH: Final = 5000
"""Rows of one statement."""

ADD_NAMES: Final[LiteralString] = """
INSERT INTO ingestion_resolutiondecision (workspace_id, id, left_key, left_sense, right_key,
       right_sense, keeps_right, sense, event_id, verdict, reason, by, model, user_id, created_at)
SELECT %(workspace)s, gen_random_uuid(), t.*, 0, %(event)s, %(verdict)s, %(reason)s, %(by)s, '',
       %(user)s, clock_timestamp()
  FROM unnest(%(lefts)s::text[], %(left_senses)s::int2[], %(rights)s::text[],
              %(right_senses)s::int2[], %(keeps_right)s::bool[]) AS t
"""
ADD_ENTITY_RULINGS: Final[LiteralString] = """
INSERT INTO ingestion_entityruling (workspace_id, id, event_id, sequence, key, sense, field, value)
SELECT %(workspace)s, gen_random_uuid(), %(event)s, %(sequence)s, t.*
  FROM unnest(%(keys)s::text[], %(senses)s::int2[], %(fields)s::text[], %(values)s::text[]) AS t
"""
ADD_RELATIONSHIP_RULINGS: Final[LiteralString] = """
INSERT INTO ingestion_relationshipruling (workspace_id, id, event_id, sequence, source_key,
       source_sense, target_key, target_sense, field, value)
SELECT %(workspace)s, gen_random_uuid(), %(event)s, %(sequence)s, t.*
  FROM unnest(%(sources)s::text[], %(source_senses)s::int2[], %(targets)s::text[],
              %(target_senses)s::int2[], %(fields)s::text[], %(values)s::text[]) AS t
"""


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
        pairs = [(ref, *pair_of(ref, (key, 0))) for ref, key in given]
        values = {
            "reason": self.event.reason,
            "by": ResolutionDecision.By.PERSON.value,
            "user": self.event.user_id,
            "verdict": Verdict.SAME.value,
        }
        columns = [(*left, *right, ref == right) for ref, left, right in pairs]
        names = ("lefts", "left_senses", "rights", "right_senses", "keeps_right")
        self._add(ADD_NAMES, names, columns, **values)
        mark_suggestions(
            self.workspace.pk,
            [(left[0], right[0]) for _, left, right in pairs if not left[1] | right[1]],
        )

    def _add(
        self,
        statement: LiteralString,
        names: Sequence[str],
        rows: Iterable[Sequence[object]],
        **values: object,
    ) -> None:
        """Insert rows by a statement that takes each column as an array."""
        common = {"workspace": self.workspace.pk, "event": self.event.pk, **values}
        left = iter(rows)
        while batch := list(islice(left, BATCH)):
            columns = map(list, zip(*batch, strict=True))
            run_sql(statement, {**common, **dict(zip(names, columns, strict=True))})

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
        self.entities([(ref, field, value)])

    def entities(self, rows: Iterable[tuple[Ref, EntityRuling.Field, str]]) -> None:
        """Record many decisions about entities."""
        names = ("keys", "senses", "fields", "values")
        columns = ((*ref, field.value, value) for ref, field, value in rows)
        self._add(ADD_ENTITY_RULINGS, names, columns, sequence=self.event.sequence)

    def relationships(self, rows: Iterable[tuple[Ref, Ref, RelationshipRuling.Field, str]]) -> None:
        """Record many decisions about relationships."""
        names = ("sources", "source_senses", "targets", "target_senses", "fields", "values")
        columns = ((*source, *target, field.value, value) for source, target, field, value in rows)
        self._add(ADD_RELATIONSHIP_RULINGS, names, columns, sequence=self.event.sequence)

    def relationship(
        self, source: Ref, target: Ref, field: RelationshipRuling.Field, value: str = ""
    ) -> None:
        self.relationships([(source, target, field, value)])

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

    def conflict(
        self,
        conflict: Conflict,
        verdict: ConflictVerdict,
        *,
        holds: str = "",
        known: Sequence[str] = (),
    ) -> None:
        """``holds`` and ``known`` are keys of the conflict's values."""
        ConflictRuling.objects.create(
            **self._common,
            key=conflict.subject.key,
            sense=conflict.subject.sense,
            about=conflict.about,
            verdict=verdict,
            holds=holds,
            known=list(known),
        )

    def reassign(self, placements: Sequence[MentionPlacement], target: Ref) -> None:
        """Reassign mentions to ``target``; the rows need only say which mentions."""
        for row in placements:
            row.workspace, row.event, row.sequence = self.workspace, self.event, self.event.sequence
            row.target_key, row.target_sense = target
        MentionPlacement.objects.bulk_create(placements)
