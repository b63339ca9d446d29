"""The REST operations on relationships: view, create, edit, delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.curation import previewing, relationships
from ingestion.curation import queries as curation_queries
from ingestion.curation.api import curating
from ingestion.curation.history_api import (
    PREVIEW,
    EventSerializer,
    effect_response,
    event_response,
    wants_preview,
)
from ingestion.history.api_changes import CHANGING, ReasonSerializer, body_of, change_of
from ingestion.history.preconditions import IF_MATCH, ExpectedField, expected_of, tags_of
from ingestion.knowledge.queries import evidence_of
from ingestion.knowledge.serializers import OtherEntitySerializer, SourceSpanSerializer
from kb_project.http.api import READING
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.requests import ApiRequest


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


class RelationshipListApi(APIView):
    """The relationships of a workspace."""

    class InputSerializer(ReasonSerializer):
        source = serializers.UUIDField()  # type: ignore[assignment]  # the API's word for it
        target = serializers.UUIDField()
        description = serializers.CharField(allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False, default=list
        )
        expected = ExpectedField()

    @extend_schema(
        operation_id="relationship_create",
        request=InputSerializer,
        parameters=[PREVIEW, IDEMPOTENCY_KEY],
        responses={201: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Add a relationship between two entities, whatever documents say."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        if wants_preview(request):
            return effect_response(previewing.relationship_create(workspace=workspace, **wanted))
        event = relationships.relationship_create(change=change, **wanted)
        return event_response(workspace, event, 201)


class RelationshipApi(APIView):
    """One relationship."""

    class OutputSerializer(RelationshipSerializer):
        sources = SourceSpanSerializer(many=True, help_text="The sentences it rests on.")

    class InputSerializer(ReasonSerializer):
        description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
        keywords = serializers.ListField(
            child=serializers.CharField(allow_blank=True), required=False
        )

    @extend_schema(operation_id="relationship", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, relationship_id: UUID) -> Response:
        """View a relationship and the sentences that support it."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        link = curation_queries.relationship_get(
            workspace=workspace, relationship_id=relationship_id
        )
        spans = evidence_of(workspace=workspace, relationship=link)
        shown = RelationshipSerializer(link).data
        sources = SourceSpanSerializer(spans, many=True).data
        return Response({**shown, "sources": sources}, headers=tags_of(workspace, link.pk))

    @extend_schema(
        operation_id="relationship_edit",
        request=InputSerializer,
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def patch(self, request: ApiRequest, workspace_id: str, relationship_id: UUID) -> Response:
        """Change a relationship's description or keywords."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request) | {"relationship": relationship_id}
        change = change_of(request, workspace, wanted, seen=expected_of(request, relationship_id))
        if wants_preview(request):
            return effect_response(previewing.relationship_edit(workspace=workspace, **wanted))
        return event_response(workspace, relationships.relationship_edit(change=change, **wanted))

    @extend_schema(
        operation_id="relationship_delete",
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str, relationship_id: UUID) -> Response:
        """Delete a relationship, whatever documents say of it later. This can be undone."""
        workspace = curating(request, workspace_id)
        wanted = {"relationship": relationship_id}
        if wants_preview(request):
            return effect_response(previewing.relationship_delete(workspace=workspace, **wanted))
        change = change_of(request, workspace, {}, seen=expected_of(request, relationship_id))
        return event_response(workspace, relationships.relationship_delete(change=change, **wanted))
