"""Reading documents again after a change of how the workspace reads."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion import rereading
from ingestion.api.estimates import MOST_FILES, EstimateApi
from kb_project.api import WRITING, ProblemSerializer
from workspaces import access
from workspaces.requests import ApiRequest


class ReadAgainApi(APIView):
    """Documents that were read in another way than the workspace reads now."""

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
        """Count them, and estimate what reading them again will cost."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        estimate = rereading.reading_again_estimate(workspace=workspace)
        return Response(EstimateApi.OutputSerializer(estimate).data)

    @extend_schema(
        operation_id="read_again",
        request=InputSerializer,
        responses={202: OutputSerializer, 400: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Read them again. Where there are none, nothing is done and nothing costs anything."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        documents = given.validated_data.get("documents")
        number = rereading.documents_read_again(workspace=workspace, documents=documents)
        return Response(self.OutputSerializer({"documents": number}).data, status=202)
