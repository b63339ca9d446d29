"""The REST operations on a workspace's reranker. No response ever contains a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.http.api import READING, ProblemSerializer
from workspaces import access
from workspaces.language_models import choice, reranking, reranking_queries
from workspaces.language_models.api import CHANGING, ModelTestApi
from workspaces.models import RerankerKind
from workspaces.requests import ApiRequest


class RerankerApi(APIView):
    """The reranker of a workspace's search results."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        kind = serializers.ChoiceField(
            choices=RerankerKind.choices,
            required=False,
            help_text="off, endpoint (a cross-encoder behind /rerank), or model (the chat model).",
        )
        endpoint = serializers.CharField(
            required=False, allow_blank=True, max_length=choice.LONGEST_ENDPOINT
        )
        key = serializers.CharField(
            required=False,
            allow_blank=True,
            write_only=True,
            max_length=choice.LONGEST_KEY,
            help_text="Stored encrypted, never given out. Left out, it stays; '' removes it.",
        )
        model = serializers.CharField(
            required=False, allow_blank=True, max_length=choice.LONGEST_MODEL
        )

    class OutputSerializer(serializers.Serializer[Any]):
        kind = serializers.ChoiceField(choices=RerankerKind.choices, source="choice.kind")
        endpoint = serializers.CharField(source="choice.endpoint")
        model = serializers.CharField(help_text="The one in force; '' where nothing is reranked.")
        has_key = serializers.BooleanField()
        key_hint = serializers.CharField(help_text="The last characters of the key.")

    @extend_schema(operation_id="reranker", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """View a workspace's reranker."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        state = reranking_queries.reranker_state(workspace=workspace)
        return Response(self.OutputSerializer(state).data)

    @extend_schema(
        operation_id="reranker_set",
        request=InputSerializer,
        responses={200: OutputSerializer, **CHANGING},
    )
    def put(self, request: ApiRequest, workspace_id: str) -> Response:
        """Choose a reranker. It applies from the next question."""
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        now = reranking_queries.reranker_state(workspace=workspace).choice
        wanted = replace(now, **given.validated_data)
        reranking.reranker_set(workspace=workspace, choice=wanted)
        state = reranking_queries.reranker_state(workspace=workspace)
        return Response(self.OutputSerializer(state).data)


@method_decorator(transaction.non_atomic_requests, name="dispatch")
class RerankerTestApi(APIView):
    """Testing the reranker with one real call."""

    has_own_transactions = True

    @extend_schema(
        operation_id="reranker_test",
        request=None,
        responses={200: ModelTestApi.OutputSerializer, **CHANGING, 503: ProblemSerializer},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Have the reranker order three sentences, and report whether it succeeded."""
        # Keep no transaction open while the reranker answers.
        with transaction.atomic():
            workspace = access.workspace_for_administering(
                user=request.user, workspace_id=workspace_id
            )
        lines = reranking.reranker_test(workspace=workspace)
        return Response(ModelTestApi.OutputSerializer({"results": lines}).data)
