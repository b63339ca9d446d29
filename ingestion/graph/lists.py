"""Lists of relationships and of claims, with filters and order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from ingestion.documents.queries import document_get
from ingestion.knowledge.queries import entity_get
from ingestion.models import Claim, Evidence, Relationship
from workspaces.models import Workspace


class RelationshipKind(StrEnum):
    """How a relationship is known: a sentence states it, sentences only name both ends, or a
    person created it."""

    STATED = "stated"
    TOGETHER = "together"
    MADE = "made"


RELATIONSHIP_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "-weight": ("-weight", "id"),
    "weight": ("weight", "id"),
    "-evidence": ("-evidence_count", "-weight", "id"),
    "evidence": ("evidence_count", "weight", "id"),
    "source": ("source__name", "target__name", "id"),
    "target": ("target__name", "source__name", "id"),
}
CLAIM_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "type": ("type", "period_start", "description", "id"),
    "subject": ("subject__name", "type", "period_start", "id"),
    "period": ("period_start", "period_end", "id"),
    "-period": ("-period_start", "-period_end", "id"),
    "document": ("document__title", "start", "id"),
}


@dataclass(frozen=True, slots=True)
class RelationshipFilter:
    """``text`` is searched in descriptions, predicates and the names of both ends."""

    entity_id: UUID | None = None
    document_id: UUID | None = None
    kind: RelationshipKind | None = None
    text: str = ""
    min_weight: float | None = None


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """``kind`` is the claim's type, in any case; ``text`` is searched in descriptions."""

    entity_id: UUID | None = None
    document_id: UUID | None = None
    kind: str = ""
    status: str = ""
    text: str = ""


def relationships(
    *, workspace: Workspace, wanted: RelationshipFilter, order: str = "-weight"
) -> QuerySet[Relationship]:
    """Relationships with their ends. Raises NotFoundError for an unknown entity or document."""
    rows = Relationship.objects.in_workspace(workspace).select_related("source", "target")
    evidence = Evidence.objects.in_workspace(workspace).filter(relationship=OuterRef("pk"))
    if wanted.entity_id is not None:
        entity = entity_get(workspace=workspace, entity_id=wanted.entity_id)
        rows = rows.filter(Q(source=entity) | Q(target=entity))
    if wanted.document_id is not None:
        document = document_get(workspace=workspace, document_id=wanted.document_id)
        rows = rows.filter(Exists(evidence.filter(document=document)))
    if wanted.kind is not None:
        rows = rows.filter(_is_of(wanted.kind, evidence))
    if text := wanted.text:
        rows = rows.filter(
            Q(description__icontains=text)
            | Q(source__name__icontains=text)
            | Q(target__name__icontains=text)
            | Exists(evidence.filter(predicate__icontains=text))
        )
    if wanted.min_weight is not None:
        rows = rows.filter(weight__gte=wanted.min_weight)
    return rows.order_by(*RELATIONSHIP_ORDERS[order])


def _is_of(kind: RelationshipKind, evidence: QuerySet[Evidence]) -> Q:
    if kind is RelationshipKind.MADE:
        return Q(is_made=True)
    is_stated = Exists(evidence.filter(kind=Evidence.Kind.STATED))
    if kind is RelationshipKind.STATED:
        return Q(is_stated)
    return Q(~is_stated, is_made=False)


def claims(*, workspace: Workspace, wanted: ClaimFilter, order: str = "type") -> QuerySet[Claim]:
    """Claims with ends and passage. Raises NotFoundError for an unknown entity or document."""
    rows = Claim.objects.in_workspace(workspace)
    if wanted.entity_id is not None:
        entity = entity_get(workspace=workspace, entity_id=wanted.entity_id)
        rows = rows.filter(Q(subject=entity) | Q(object=entity))
    if wanted.document_id is not None:
        document = document_get(workspace=workspace, document_id=wanted.document_id)
        rows = rows.filter(document=document)
    if wanted.kind:
        rows = rows.filter(type__iexact=wanted.kind)
    if wanted.status:
        rows = rows.filter(status=wanted.status)
    if wanted.text:
        rows = rows.filter(description__icontains=wanted.text)
    ordered = rows.order_by(*CLAIM_ORDERS[order])
    return ordered.select_related("subject", "object", "chunk__document")
