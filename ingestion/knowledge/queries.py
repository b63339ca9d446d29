"""Entities, and what is known about each: facts, claims, and where documents contradict."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import (
    Count,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.functions import Lower

from ingestion.knowledge.spans import SourceSpan, span_of, spans_of
from ingestion.models import (
    Claim,
    CommunityReport,
    Document,
    Entity,
    Evidence,
    Mention,
    Relationship,
)
from ingestion.resolution.queries import DecisionView, LookAlike, decisions_about, look_alikes
from kb_project.errors import found
from workspaces.models import Workspace

# ``written_by`` of a description in the documents' own sentences.
EXTRACTIVE: Final = "extractive"
CONCEPT: Final = "concept"
# Noun phrases and unknown names that no one made or confirmed and no model described.
TERMS: Final = Q(type=CONCEPT, written_by=EXTRACTIVE, is_made=False, is_confirmed=False)
MOST_EVIDENCE: Final = 100


def entities(*, workspace: Workspace, text: str = "", type_name: str = "") -> QuerySet[Entity]:
    """Most mentioned first; ``text`` is searched in names and aliases.

    Terms are left out unless requested, by type or by ``text``; only those that recur or occur in a
    heading are listed.
    """
    rows = _listed(workspace)
    if not text and type_name != CONCEPT:
        rows = rows.exclude(TERMS)
    if text:
        rows = rows.filter(
            Q(name__icontains=text) | Q(aliases__name__icontains=text, aliases__workspace=workspace)
        ).distinct()
    if type_name:
        rows = rows.filter(type=type_name)
    return rows.order_by("-mention_count", "name")


def entity_types(*, workspace: Workspace) -> list[tuple[str, int]]:
    """Types with their number of entities, most frequent first."""
    return list(
        _listed(workspace)
        .values_list("type")
        .annotate(number=Count("id"))
        .order_by("-number", "type")
    )


def terms_count(*, workspace: Workspace) -> int:
    """How many terms a list of all entities leaves out."""
    return _listed(workspace).filter(TERMS).count()


def _listed(workspace: Workspace) -> QuerySet[Entity]:
    """All entities except terms that occur in a single passage and in no heading."""
    path = Func(F("chunk__heading_path"), Value("\n"), function="array_to_string")
    heading = (
        Mention.objects.in_workspace(workspace)
        .filter(entity=OuterRef("pk"))
        .annotate(headings=Lower(path, output_field=TextField()))
        .filter(headings__contains=Lower(OuterRef("name")))
    )
    return Entity.objects.in_workspace(workspace).filter(
        ~TERMS | Q(chunk_count__gt=1) | Exists(heading)
    )


@dataclass(frozen=True, slots=True)
class Fact:
    """A relationship seen from one of its ends, with its evidence.

    ``description`` is a model's wording, if no passage states the relationship between the names;
    without it and ``predicate`` they are only named together.
    """

    relationship: Relationship
    other: Entity
    is_outgoing: bool
    predicate: str
    sources: tuple[SourceSpan, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class EntityView:
    """``documents`` is ``[(document, mentions), …]``, most mentions first.

    ``conflicts`` are those of the entity and of the facts shown. ``namesakes`` are other entities
    of the same name.
    """

    entity: Entity
    aliases: tuple[str, ...]
    description: tuple[SourceSpan, ...]
    facts: tuple[Fact, ...]
    documents: tuple[tuple[Document, int], ...]
    topics: tuple[CommunityReport, ...]
    claims: tuple[ClaimView, ...]
    conflicts: tuple[ConflictView, ...]
    decisions: tuple[DecisionView, ...]
    look_alikes: tuple[LookAlike, ...]
    namesakes: tuple[Entity, ...]

    @property
    def is_quoted(self) -> bool:
        """Whether the description consists of the documents' own sentences."""
        return self.entity.written_by == EXTRACTIVE


def entity_get(*, workspace: Workspace, entity_id: uuid.UUID) -> Entity:
    """Raises NotFoundError."""
    return found(Entity.objects.in_workspace(workspace).filter(pk=entity_id).first(), "entity")


def entity_view(*, workspace: Workspace, entity_id: uuid.UUID, most_facts: int = 60) -> EntityView:
    """An entity with everything known about it, with sources. Raises NotFoundError."""
    entity = entity_get(workspace=workspace, entity_id=entity_id)
    aliases = entity.aliases.filter(workspace=workspace).exclude(name=entity.name)
    facts = _facts(workspace, entity, most_facts)
    stored = [*entity.conflicts, *(c for fact in facts for c in fact.relationship.conflicts)]
    namesakes = Entity.objects.in_workspace(workspace).filter(key=entity.key).exclude(pk=entity.pk)
    return EntityView(
        entity=entity,
        aliases=tuple(aliases.order_by("name").values_list("name", flat=True).distinct()),
        description=tuple(spans_of(workspace, entity.description_sources)),
        facts=tuple(facts),
        documents=tuple(_documents_naming(workspace, entity)),
        topics=tuple(
            CommunityReport.objects.in_workspace(workspace)
            .filter(community__members__entity=entity, community__members__workspace=workspace)
            .select_related("community")
            .order_by("community__level")
        ),
        claims=tuple(claims_about(workspace=workspace, entity=entity)),
        conflicts=tuple(conflicts_of(workspace, stored)),
        decisions=tuple(decisions_about(workspace=workspace, entity=entity)),
        look_alikes=tuple(look_alikes(workspace=workspace, entity=entity)),
        namesakes=tuple(namesakes.filter(mention_count__gt=0).order_by("sense")),
    )


def _facts(workspace: Workspace, entity: Entity, most: int) -> list[Fact]:
    relationships = list(
        Relationship.objects.in_workspace(workspace)
        .filter(Q(source=entity) | Q(target=entity))
        .select_related("source", "target")
        .order_by("-weight", "id")[:most]
    )
    evidence: dict[uuid.UUID, list[Evidence]] = {}
    for row in (
        Evidence.objects.in_workspace(workspace)
        .filter(relationship__in=relationships)
        .select_related("chunk__document")
        .order_by("kind", "-strength", "chunk_id", "start")
    ):
        evidence.setdefault(row.relationship_id, []).append(row)
    return [_fact(entity, row, evidence.get(row.pk, [])) for row in relationships]


def _fact(entity: Entity, relationship: Relationship, evidence: Sequence[Evidence]) -> Fact:
    is_outgoing = relationship.source_id == entity.pk
    predicate = next((row.predicate for row in evidence if row.predicate), "")
    wording = next((row.description for row in evidence if row.description), "")
    return Fact(
        relationship=relationship,
        other=relationship.target if is_outgoing else relationship.source,
        is_outgoing=is_outgoing,
        predicate=predicate,
        sources=tuple(span_of(row.chunk, row.start, row.end) for row in evidence[:5]),
        description="" if predicate else relationship.description or wording,
    )


def _documents_naming(workspace: Workspace, entity: Entity) -> list[tuple[Document, int]]:
    counts = dict(
        Mention.objects.in_workspace(workspace)
        .filter(entity=entity)
        .values_list("document_id")
        .annotate(number=Count("id"))
    )
    rows = Document.objects.in_workspace(workspace).filter(pk__in=counts)
    return sorted(
        ((row, counts[row.pk]) for row in rows), key=lambda pair: (-pair[1], pair[0].title)
    )


def evidence_of(*, workspace: Workspace, relationship: Relationship) -> list[SourceSpan]:
    """Passages that state the relationship first, then those that only name the two together."""
    rows = (
        Evidence.objects.in_workspace(workspace)
        .filter(relationship=relationship)
        .select_related("chunk__document")
        .order_by("kind", "-strength", "chunk_id", "start")[:MOST_EVIDENCE]
    )
    return [span_of(row.chunk, row.start, row.end) for row in rows]


# --- claims and contradictions --------------------------------------------------------------------
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
    sources = [one for conflict in conflicts for one in conflict["statements"]]
    spans = {
        (str(span.chunk_id), span.start, span.end): span
        for span in (spans_of(workspace, sources) if sources else ())
    }
    views = [
        ConflictView(conflict["reason"], tuple(_present(conflict["statements"], spans)))
        for conflict in conflicts
    ]
    return [view for view in views if len(view.statements) > 1]


def _present(
    statements: Sequence[dict[str, Any]], spans: dict[tuple[str, int, int], SourceSpan]
) -> Iterable[StatementView]:
    for one in statements:
        span = spans.get((one["chunk"], one["start"], one["end"]))
        if span is not None:
            yield StatementView(one["text"], span)
