"""The REST operations on facts: relationships, claims, and an entity's facts."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import claims, queries as curation_queries, relationships
from ingestion.curation.api import TEXT, ClaimSerializer, FactSerializer
from ingestion.curation.history_api import curated, curation, curation_of_one
from ingestion.graph import lists
from ingestion.graph.lists import RelationshipKind
from ingestion.graph.queries import evidence_spans
from ingestion.history.api import ExpectedField, ReasonSerializer, tags_of
from ingestion.knowledge import facts, queries
from ingestion.knowledge.facts import KINDS, FactFilter
from ingestion.knowledge.periods import as_of_date
from ingestion.knowledge.queries import ClaimFilter, ClaimView
from ingestion.knowledge.spans import (
    AS_OF,
    DATE_HELP,
    OtherEntitySerializer,
    SourceSpanSerializer,
    span_of,
)
from ingestion.models import Claim
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading


# --- facts and claims of an entity ----------------------------------------------------------------
class EntityFactsApi(WorkspaceAPIView):
    """The facts of an entity."""

    class QuerySerializer(PageInput):
        kind = serializers.ChoiceField(
            choices=[("", "All"), *KINDS.items()], required=False, default="", allow_blank=True
        )
        q = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            help_text="Text to find in the other entity's name, in descriptions and in predicates.",
        )
        type = serializers.CharField(
            required=False, default="", allow_blank=True, help_text="The other entity's type."
        )
        as_of = serializers.CharField(**AS_OF)

    class OutputSerializer(PageOutput):
        results = FactSerializer(many=True)

    @reading("entity_facts", query=QuerySerializer, gives=OutputSerializer)
    def get(self, entity_id: UUID) -> object:
        """List the facts of an entity, strongest first, each with its best sources."""
        wanted = self.query()
        entity = queries.entity_get(workspace=self.workspace, entity_id=entity_id)
        as_of = as_of_date(wanted["as_of"])
        filtered = FactFilter(wanted["kind"], wanted["q"], wanted["type"], as_of)
        rows = facts.fact_rows(self.workspace, entity, filtered)
        page = page_of(rows, page=wanted["page"], page_size=wanted["page_size"])
        return page.of(facts.facts_of(self.workspace, entity, page.results))


class EntityClaimsApi(WorkspaceAPIView):
    """The claims about an entity."""

    class QuerySerializer(PageInput):
        type = serializers.CharField(required=False, default="", allow_blank=True)
        status = serializers.ChoiceField(
            choices=[("", "All"), *Claim.Status.choices],
            required=False,
            default="",
            allow_blank=True,
        )
        q = serializers.CharField(
            required=False, default="", allow_blank=True, help_text="Text to find in descriptions."
        )
        dated = serializers.BooleanField(
            required=False, default=False, help_text="Only claims with a date, by time."
        )
        as_of = serializers.CharField(**AS_OF)

    class OutputSerializer(PageOutput):
        results = ClaimSerializer(many=True)

    @reading("entity_claims", query=QuerySerializer, gives=OutputSerializer)
    def get(self, entity_id: UUID) -> object:
        """List the claims with the entity at either end, by type and time."""
        wanted = self.query()
        entity = queries.entity_get(workspace=self.workspace, entity_id=entity_id)
        filtered = ClaimFilter(
            type=wanted["type"],
            status=wanted["status"],
            text=wanted["q"],
            is_dated=wanted["dated"],
            as_of=as_of_date(wanted["as_of"]),
        )
        rows = queries.claim_rows(self.workspace, entity, filtered)
        page = page_of(rows, page=wanted["page"], page_size=wanted["page_size"])
        return page.of(queries.claim_views(entity, page.results))


class ClaimApi(WorkspaceAPIView):
    """One claim."""

    class OutputSerializer(ClaimSerializer):
        subject = OtherEntitySerializer(source="claim.subject")

    class InputSerializer(ReasonSerializer):
        description = serializers.CharField(**TEXT)
        type = serializers.CharField(**TEXT)
        status = serializers.CharField(required=False, help_text="true, false or suspected.")
        period_start = serializers.CharField(**TEXT, help_text=DATE_HELP)
        period_end = serializers.CharField(**TEXT, help_text=DATE_HELP)

    @reading("claim", gives=OutputSerializer)
    def get(self, claim_id: UUID) -> object:
        """View a claim, its passage, and what the document gives where a person changed it."""
        row = curation_queries.claim_get(workspace=self.workspace, claim_id=claim_id)
        view = ClaimView(row, row.object, span_of(row))
        body: dict[str, Any] = dict(self.OutputSerializer(view).data)
        return Response(body, headers=tags_of(self.workspace, claim_id))

    @curation_of_one("claim_edit", takes=InputSerializer)
    def patch(self, claim_id: UUID) -> object:
        """Change a claim. This holds when its document is processed again."""
        return curated(self, claims.claim_edit, seen=claim_id, claim=claim_id)

    @curation_of_one("claim_delete")
    def delete(self, claim_id: UUID) -> object:
        """Delete a claim, even if its document is processed again. This can be undone."""
        return curated(self, claims.claim_delete, seen=claim_id, claim=claim_id)


# --- relationships --------------------------------------------------------------------------------
MOST_QUOTED: Final = 25
"""Sentences that one relationship is shown with."""


class RelationshipSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    source = OtherEntitySerializer()  # type: ignore[assignment]  # the API's word for it
    target = OtherEntitySerializer()
    description = serializers.CharField(allow_blank=True)
    keywords = serializers.ListField(child=serializers.CharField())
    weight = serializers.FloatField()
    evidence = serializers.IntegerField(source="evidence_count")
    written_by = serializers.CharField()
    is_made = serializers.BooleanField(help_text="Created by a person; needs no document.")
    proposed = serializers.DictField(
        help_text="The documents' values for the fields that a person has overridden."
    )


class QuotedRelationshipSerializer(RelationshipSerializer):
    sources = SourceSpanSerializer(
        many=True, help_text="The best sentences that support it; 'evidence/' lists all of them."
    )


class RelationshipListApi(WorkspaceAPIView):
    """The relationships of a workspace."""

    class QuerySerializer(PageInput):
        entity = serializers.UUIDField(required=False, help_text="Either end.")
        document = serializers.UUIDField(required=False, help_text="A document that supports it.")
        kind = serializers.ChoiceField(
            [kind.value for kind in RelationshipKind],
            required=False,
            help_text="'stated' in a sentence, 'together' if sentences only name both ends,"
            " 'made' by a person.",
        )
        q = serializers.CharField(
            required=False,
            default="",
            help_text="Text to find in descriptions, predicates and names.",
        )
        min_weight = serializers.FloatField(required=False)
        order = serializers.ChoiceField([*lists.RELATIONSHIP_ORDERS], default="-weight")

    class OutputSerializer(PageOutput):
        results = QuotedRelationshipSerializer(many=True)

    class InputSerializer(ReasonSerializer):
        source = serializers.UUIDField()  # type: ignore[assignment]  # the API's word for it
        target = serializers.UUIDField()
        description = serializers.CharField(allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False, default=list
        )
        expected = ExpectedField()

    @reading("relationship_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List relationships, each with the best sentence that supports it."""
        wanted = self.query()
        kind = wanted.get("kind")
        which = lists.RelationshipFilter(
            entity_id=wanted.get("entity"),
            document_id=wanted.get("document"),
            kind=RelationshipKind(kind) if kind else None,
            text=wanted["q"],
            min_weight=wanted.get("min_weight"),
        )
        found = lists.relationships(workspace=self.workspace, wanted=which, order=wanted["order"])
        page = page_of(found, page=wanted["page"], page_size=wanted["page_size"])
        spans = evidence_spans(self.workspace, [link.pk for link in page.results])
        for link in page.results:
            link.sources = spans.get(link.pk, ())  # type: ignore[attr-defined]  # for the serializer
        return page.of(page.results)

    @curation("relationship_create", takes=InputSerializer, status=201)
    def post(self) -> object:
        """Create a relationship between two entities. It needs no document."""
        return curated(self, relationships.relationship_create)


class RelationshipApi(WorkspaceAPIView):
    """One relationship."""

    class InputSerializer(ReasonSerializer):
        description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False
        )

    @reading("relationship", gives=QuotedRelationshipSerializer)
    def get(self, relationship_id: UUID) -> object:
        """View a relationship and the best sentences that support it."""
        link = curation_queries.relationship_get(
            workspace=self.workspace, relationship_id=relationship_id
        )
        rows = facts.evidence_rows(workspace=self.workspace, relationship=link)
        spans = facts.evidence_spans_of(rows[:MOST_QUOTED])
        shown = RelationshipSerializer(link).data
        sources = SourceSpanSerializer(spans, many=True).data
        return Response({**shown, "sources": sources}, headers=tags_of(self.workspace, link.pk))

    @curation_of_one("relationship_edit", takes=InputSerializer)
    def patch(self, relationship_id: UUID) -> object:
        """Change a relationship's description or keywords."""
        return curated(
            self,
            relationships.relationship_edit,
            seen=relationship_id,
            relationship=relationship_id,
        )

    @curation_of_one("relationship_delete")
    def delete(self, relationship_id: UUID) -> object:
        """Delete a relationship, even if later documents state it. This can be undone."""
        return curated(
            self,
            relationships.relationship_delete,
            seen=relationship_id,
            relationship=relationship_id,
        )


class RelationshipEvidenceApi(WorkspaceAPIView):
    """The evidence of a relationship."""

    class OutputSerializer(PageOutput):
        results = SourceSpanSerializer(many=True)

    @reading("relationship_evidence", query=PageInput, gives=OutputSerializer)
    def get(self, relationship_id: UUID) -> object:
        """List the sentences that support a relationship: those that state it first."""
        link = curation_queries.relationship_get(
            workspace=self.workspace, relationship_id=relationship_id
        )
        rows = facts.evidence_rows(workspace=self.workspace, relationship=link)
        page = page_of(rows, **self.query())
        return page.of(facts.evidence_spans_of(page.results))
