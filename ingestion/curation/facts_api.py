"""The REST operations on an entity's facts and claims, and on one claim."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import claims, queries as curation_queries
from ingestion.curation.api import TEXT, ClaimSerializer, FactSerializer
from ingestion.curation.history_api import curated, curation_of_one
from ingestion.history.api import ReasonSerializer, tags_of
from ingestion.knowledge import facts, queries
from ingestion.knowledge.facts import KINDS, FactFilter
from ingestion.knowledge.periods import as_of_date
from ingestion.knowledge.queries import ClaimFilter, ClaimView
from ingestion.knowledge.serializers import AS_OF, DATE_HELP, OtherEntitySerializer
from ingestion.knowledge.spans import span_of
from ingestion.models import Claim
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading


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
