"""The REST operations on workspaces."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.http.api import ProblemSerializer
from workspaces import access
from workspaces.api import ApiRequest, WorkspaceAPIView, checked, reading
from workspaces.people import queries as people_queries, services as people_services


class WorkspaceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    slug = serializers.CharField(help_text="Can be used instead of the id in URLs.")
    is_demo = serializers.BooleanField()
    role = serializers.CharField(source="membership.role")
    capabilities = serializers.ListField(
        child=serializers.CharField(), source="membership.capabilities"
    )
    created_at = serializers.DateTimeField()


class WorkspaceListApi(APIView):
    """The workspaces you are a member of."""

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=120)
        slug = serializers.SlugField(max_length=60, required=False, default="")

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = WorkspaceSerializer(many=True)

    @extend_schema(
        operation_id="workspace_list",
        responses={200: OutputSerializer, 401: ProblemSerializer, 404: ProblemSerializer},
    )
    def get(self, request: ApiRequest) -> Response:
        """List your workspaces."""
        workspaces = people_queries.workspaces_of(user=request.user)
        answer = {"total": len(workspaces), "results": workspaces}
        return Response(self.OutputSerializer(answer).data)

    @extend_schema(
        operation_id="workspace_create",
        request=InputSerializer,
        responses={
            201: WorkspaceSerializer,
            400: ProblemSerializer,
            401: ProblemSerializer,
            409: ProblemSerializer,
        },
    )
    def post(self, request: ApiRequest) -> Response:
        """Create a workspace; you become its owner."""
        given = checked(self.InputSerializer, request.data)
        made = people_services.workspace_create(owner=request.user, **given)
        workspace = access.workspace_for_reading(user=request.user, workspace_id=made.pk)
        return Response(WorkspaceSerializer(workspace).data, status=201)


class WorkspaceApi(WorkspaceAPIView):
    """One workspace."""

    @reading("workspace", at_source=True, gives=WorkspaceSerializer)
    def get(self) -> object:
        """View a workspace."""
        return self.workspace
