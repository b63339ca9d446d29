"""Cost estimates for documents, before anything is spent."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.documents import estimate_queries, estimate_sentences
from ingestion.documents.estimate_queries import FileSize
from ingestion.documents.estimates import Estimate
from kb_project.errors import InputError
from kb_project.http.api import WRITING, ProblemSerializer
from workspaces import access
from workspaces.requests import ApiRequest

MOST_FILES: Final = 10_000
LARGEST: Final = 2**40


class RangeSerializer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()


class FileSizeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=500)
    size = serializers.IntegerField(min_value=0, max_value=LARGEST, help_text="Bytes.")


class EstimateApi(APIView):
    """The estimated cost of adding files or reading documents again."""

    class InputSerializer(serializers.Serializer[Any]):
        files = serializers.ListField(
            child=FileSizeSerializer(), required=False, max_length=MOST_FILES
        )
        documents = serializers.ListField(
            child=serializers.UUIDField(), required=False, max_length=MOST_FILES
        )

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField()
        passages = RangeSerializer()
        calls = RangeSerializer()
        prompt_tokens = RangeSerializer()
        completion_tokens = RangeSerializer()
        cost = RangeSerializer(allow_null=True, help_text="Null: no price is set for the model.")
        seconds = RangeSerializer()
        known = serializers.IntegerField(help_text="Calls that the cache answers for nothing.")
        budget_left = serializers.FloatField(source="left", allow_null=True)
        is_free = serializers.BooleanField()
        is_short = serializers.BooleanField(help_text="The budget may not suffice.")
        sentences = serializers.SerializerMethodField()

        def get_sentences(self, estimate: Estimate) -> list[str]:
            return estimate_sentences.sentences(estimate)

    @extend_schema(
        operation_id="document_estimate",
        request=InputSerializer,
        responses={200: OutputSerializer, 400: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Estimate passages, tokens, cost and time. Send only the files' names and sizes."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        files, documents = given.validated_data.get("files"), given.validated_data.get("documents")
        if bool(files) == bool(documents):
            raise InputError(
                "Name either 'files' or 'documents'.",
                code="invalid_input",
                next_step="Send the names and sizes of files, or the ids of documents.",
            )
        if documents:
            estimate = estimate_queries.estimate_for_documents(
                workspace=workspace, document_ids=documents
            )
        else:
            sizes = [FileSize(file["name"], file["size"]) for file in files]
            estimate = estimate_queries.estimate_for_files(workspace=workspace, files=sizes)
        return Response(self.OutputSerializer(estimate).data)
