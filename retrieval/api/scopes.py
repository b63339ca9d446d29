"""What a question can be narrowed to, through the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.api import READING
from retrieval import choices
from workspaces import access
from workspaces.requests import ApiRequest


class CountedSerializer(serializers.Serializer[Any]):
    """One value of a filter and how many documents it leaves."""

    id = serializers.UUIDField(allow_null=True, help_text="Of a collection; else null.")
    value = serializers.CharField()
    documents = serializers.IntegerField()


class ScopeChoicesApi(APIView):
    """The filters that there is something to choose for."""

    class OutputSerializer(serializers.Serializer[Any]):
        collections = CountedSerializer(many=True)
        tags = CountedSerializer(many=True)
        media_types = CountedSerializer(many=True)
        dated_from = serializers.DateField(allow_null=True, help_text="The earliest date.")
        dated_to = serializers.DateField(allow_null=True, help_text="The latest date.")

    @extend_schema(operation_id="scope_choices", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """Values that filters can have. Documents and names are listed by their own operations."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = choices.scope_choices(workspace=workspace)
        return Response(self.OutputSerializer(found).data)
