"""The REST operations on relationships: view, create, edit, delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import previewing, queries as curation_queries, relationships
from ingestion.curation.history_api import curated, curation, curation_of_one
from ingestion.history.api_changes import ReasonSerializer
from ingestion.history.preconditions import ExpectedField, tags_of
from ingestion.knowledge.queries import evidence_of
from ingestion.knowledge.serializers import OtherEntitySerializer, SourceSpanSerializer
from workspaces.api import WorkspaceAPIView, reading


class RelationshipSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    source = OtherEntitySerializer()  # type: ignore[assignment]  # the API's word for it
    target = OtherEntitySerializer()
    description = serializers.CharField(allow_blank=True)
    keywords = serializers.ListField(child=serializers.CharField())
    weight = serializers.FloatField()
    evidence = serializers.IntegerField(source="evidence_count")
    written_by = serializers.CharField()
    is_made = serializers.BooleanField(help_text="By a person: it stands without a document.")
    proposed = serializers.DictField(help_text="What documents say where people say otherwise.")


class RelationshipListApi(WorkspaceAPIView):
    """The relationships of a workspace."""

    class InputSerializer(ReasonSerializer):
        source = serializers.UUIDField()  # type: ignore[assignment]  # the API's word for it
        target = serializers.UUIDField()
        description = serializers.CharField(allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False, default=list
        )
        expected = ExpectedField()

    @curation("relationship_create", takes=InputSerializer, status=201)
    def post(self) -> object:
        """Add a relationship between two entities, whatever documents say."""
        return curated(self, previewing.relationship_create, relationships.relationship_create)


class RelationshipApi(WorkspaceAPIView):
    """One relationship."""

    class OutputSerializer(RelationshipSerializer):
        sources = SourceSpanSerializer(many=True, help_text="The sentences it rests on.")

    class InputSerializer(ReasonSerializer):
        description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False
        )

    @reading("relationship", gives=OutputSerializer)
    def get(self, relationship_id: UUID) -> object:
        """View a relationship and the sentences that support it."""
        link = curation_queries.relationship_get(
            workspace=self.workspace, relationship_id=relationship_id
        )
        spans = evidence_of(workspace=self.workspace, relationship=link)
        shown = RelationshipSerializer(link).data
        sources = SourceSpanSerializer(spans, many=True).data
        return Response({**shown, "sources": sources}, headers=tags_of(self.workspace, link.pk))

    @curation_of_one("relationship_edit", takes=InputSerializer)
    def patch(self, relationship_id: UUID) -> object:
        """Change a relationship's description or keywords."""
        return curated(
            self,
            previewing.relationship_edit,
            relationships.relationship_edit,
            seen=relationship_id,
            relationship=relationship_id,
        )

    @curation_of_one("relationship_delete")
    def delete(self, relationship_id: UUID) -> object:
        """Delete a relationship, whatever documents say of it later. This can be undone."""
        return curated(
            self,
            previewing.relationship_delete,
            relationships.relationship_delete,
            seen=relationship_id,
            relationship=relationship_id,
        )
