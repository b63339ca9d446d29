"""The API of a workspace's reranker. No answer ever holds a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.api import READING, ProblemSerializer
from workspaces import access, choice, selectors, services
from workspaces.api.models import CHANGING, ModelTestApi
from workspaces.models import RerankerKind
from workspaces.requests import ApiRequest


class RerankerApi(APIView):
    """Who looks at the passages of a search once more."""

    class InputSerializer(serializers.Serializer[Any]):
        """What is left out stays as it is."""

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
        """Look at the reranker of a workspace."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        state = selectors.reranker_state(workspace=workspace)
        return Response(self.OutputSerializer(state).data)

    @extend_schema(
        operation_id="reranker_set",
        request=InputSerializer,
        responses={200: OutputSerializer, **CHANGING},
    )
    def put(self, request: ApiRequest, workspace_id: str) -> Response:
        """Choose a reranker. It counts from the next question on."""
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        now = selectors.reranker_state(workspace=workspace).choice
        wanted = replace(now, **given.validated_data)
        services.reranker_set(workspace=workspace, choice=wanted)
        state = selectors.reranker_state(workspace=workspace)
        return Response(self.OutputSerializer(state).data)


@method_decorator(transaction.non_atomic_requests, name="dispatch")
class RerankerTestApi(APIView):
    """One real call."""

    has_own_transactions = True

    @extend_schema(
        operation_id="reranker_test",
        request=None,
        responses={200: ModelTestApi.OutputSerializer, **CHANGING, 503: ProblemSerializer},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Have the reranker put three sentences in order, and tell whether it did."""
        # No transaction is open while the reranker answers.
        with transaction.atomic():
            workspace = access.workspace_for_administering(
                user=request.user, workspace_id=workspace_id
            )
        lines = services.reranker_test(workspace=workspace)
        return Response(ModelTestApi.OutputSerializer({"results": lines}).data)
