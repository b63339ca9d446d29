"""Reading documents again after the workspace's reading settings change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.documents import queries as document_queries
from ingestion.documents import rereading, unread_passages
from ingestion.documents.api.estimates import MOST_FILES, EstimateApi
from kb_project.http.api import READING, WRITING, ProblemSerializer
from workspaces import access
from workspaces.requests import ApiRequest


class ReadAgainApi(APIView):
    """Documents that were read with other settings than the workspace has now."""

    class InputSerializer(serializers.Serializer[Any]):
        documents = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=MOST_FILES,
            help_text="Of these only; of all, unless given.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="So many are being read again.")

    @extend_schema(
        operation_id="read_again_estimate",
        responses={200: EstimateApi.OutputSerializer, **WRITING},
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """Count them, and estimate the cost of reading them again."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        estimate = rereading.reading_again_estimate(workspace=workspace)
        return Response(EstimateApi.OutputSerializer(estimate).data)

    @extend_schema(
        operation_id="read_again",
        request=InputSerializer,
        responses={202: OutputSerializer, 400: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Read them again. If there are none, nothing happens and nothing is spent."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        documents = given.validated_data.get("documents")
        number = rereading.documents_read_again(workspace=workspace, documents=documents)
        return Response(self.OutputSerializer({"documents": number}).data, status=202)


class PassageProblemsApi(APIView):
    """What a model could not read in a document, and what it said without support in the text."""

    class PassageSerializer(serializers.Serializer[Any]):
        """From ``unread_passages.UnreadPassage``."""

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
        """List the passages without facts, and count the rejected facts."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        unread = unread_passages.passages_with_problems(workspace=workspace, document=document)
        rejected = unread_passages.rejections_of(workspace=workspace, document=document)
        answer = {"document": document.pk, "total": len(unread), "rejected": rejected}
        return Response(self.OutputSerializer(answer | {"passages": unread}).data)


class PassageRetryApi(APIView):
    """Read unread passages again."""

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
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        chunk = given.validated_data.get("chunk")
        job = unread_passages.passages_retry(
            workspace=workspace, document=document, chunk_ids=None if chunk is None else [chunk]
        )
        answer = {"document": document.pk, "job": job.pk}
        return Response(self.OutputSerializer(answer).data, status=202)
