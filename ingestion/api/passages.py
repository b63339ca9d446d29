"""Passages that the model could not read: which, why, and once more."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion import passages, selectors
from kb_project.api import READING, WRITING, ProblemSerializer
from workspaces import access
from workspaces.requests import ApiRequest


class PassageProblemsApi(APIView):
    """What a model could not read of a document, and what it said that is not in there."""

    class PassageSerializer(serializers.Serializer[Any]):
        """Made from ``passages.UnreadPassage``."""

        chunk = serializers.UUIDField(source="chunk_id")
        number = serializers.IntegerField(help_text="Of the document's passages, from 1.")
        start = serializers.IntegerField()
        end = serializers.IntegerField()
        page = serializers.IntegerField(allow_null=True)
        heading_path = serializers.ListField(child=serializers.CharField())
        text = serializers.CharField(help_text="How it begins.")
        problem = serializers.DictField(help_text="code, happened, kept, next_step")

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        total = serializers.IntegerField()
        rejected = serializers.DictField(
            child=serializers.IntegerField(), help_text="Facts kept out, by reason."
        )

        def get_fields(self) -> dict[str, Any]:
            fields = super().get_fields()
            return {**fields, "passages": PassageProblemsApi.PassageSerializer(many=True)}

    @extend_schema(operation_id="passage_problems", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """List the passages without facts, and count the facts that were kept out."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = selectors.document_get(workspace=workspace, document_id=document_id)
        unread = passages.passages_with_problems(workspace=workspace, document=document)
        rejected = passages.rejections_of(workspace=workspace, document=document)
        answer = {"document": document.pk, "total": len(unread), "rejected": rejected}
        return Response(self.OutputSerializer(answer | {"passages": unread}).data)


class PassageRetryApi(APIView):
    """Read unread passages once more."""

    class InputSerializer(serializers.Serializer[Any]):
        chunk = serializers.UUIDField(
            required=False, help_text="One passage; all that could not be read, unless given."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @extend_schema(
        operation_id="passage_retry",
        request=InputSerializer,
        responses={
            202: OutputSerializer,
            400: ProblemSerializer,
            409: ProblemSerializer,
            **WRITING,
        },
    )
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Have the model read one unread passage again, or all of the document's."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        document = selectors.document_get(workspace=workspace, document_id=document_id)
        chunk = given.validated_data.get("chunk")
        job = passages.passages_retry(
            workspace=workspace, document=document, chunk_ids=None if chunk is None else [chunk]
        )
        answer = {"document": document.pk, "job": job.pk}
        return Response(self.OutputSerializer(answer).data, status=202)
