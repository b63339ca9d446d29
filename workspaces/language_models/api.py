"""The REST operations on a workspace's models. No response ever contains a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.http.api import READING, WRITING, ProblemSerializer
from kb_project.llm.ports import Role
from workspaces import access
from workspaces.language_models import choice, testing
from workspaces.language_models import queries as language_model_queries
from workspaces.language_models import services as language_model_services
from workspaces.models import Workspace
from workspaces.requests import ApiRequest
from workspaces.usage import queries as usage_queries

CHANGING = {**WRITING, 400: ProblemSerializer, 409: ProblemSerializer}
MONEY: dict[str, Any] = {"max_digits": 18, "decimal_places": 10}


class RoleModelSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=[role.value for role in Role])
    model = serializers.CharField()
    max_output = serializers.IntegerField(help_text="Tokens of an answer.")
    timeout = serializers.IntegerField(help_text="Seconds.")


class EmbeddingSerializer(serializers.Serializer[Any]):
    model = serializers.CharField()
    dimension = serializers.IntegerField()
    is_local = serializers.BooleanField()
    is_changing = serializers.SerializerMethodField()

    def get_is_changing(self, state: language_model_queries.EmbeddingState) -> bool:
        return state.building is not None


class ModelsApi(APIView):
    """The models a workspace uses."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        endpoint = serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=choice.LONGEST_ENDPOINT,
            help_text="Base address of an OpenAI-compatible server; '' for none.",
        )
        key = serializers.CharField(
            required=False,
            allow_blank=True,
            write_only=True,
            max_length=choice.LONGEST_KEY,
            help_text="Stored encrypted, never given out. Left out, it stays; '' removes it.",
        )
        is_local = serializers.BooleanField(
            required=False, help_text="Stay local where the installation has a model."
        )
        model = serializers.CharField(
            required=False, allow_blank=True, max_length=choice.LONGEST_MODEL
        )
        role_models = serializers.DictField(
            child=serializers.CharField(allow_blank=True, max_length=choice.LONGEST_MODEL),
            required=False,
            help_text="Models of single roles.",
        )
        limits = serializers.DictField(
            child=serializers.DictField(child=serializers.IntegerField(min_value=1)),
            required=False,
            help_text="By role: max_output in tokens, timeout in seconds.",
        )
        concurrency = serializers.IntegerField(required=False)
        context_window = serializers.IntegerField(required=False)
        gleanings = serializers.IntegerField(required=False)
        wants_claims = serializers.BooleanField(required=False)
        allows_general = serializers.BooleanField(
            required=False, help_text="Answers may add what is generally known, marked as such."
        )
        wants_judge = serializers.BooleanField(
            required=False, help_text="A model compares each sentence with what it cites."
        )
        entity_types = serializers.ListField(
            child=serializers.CharField(max_length=choice.LONGEST_TYPE),
            required=False,
            max_length=choice.MOST_TYPES,
        )

    class OutputSerializer(serializers.Serializer[Any]):
        tier = serializers.ChoiceField(choices=["own", "installation", "local"])
        endpoint = serializers.CharField(source="choice.endpoint")
        host = serializers.CharField()
        model = serializers.CharField()
        has_key = serializers.BooleanField()
        key_hint = serializers.CharField(help_text="The last characters of the key.")
        is_local = serializers.BooleanField(source="choice.is_local")
        roles = RoleModelSerializer(many=True)
        concurrency = serializers.IntegerField(source="choice.concurrency")
        context_window = serializers.IntegerField(source="choice.context_window")
        gleanings = serializers.IntegerField(source="choice.gleanings")
        wants_claims = serializers.BooleanField(source="choice.wants_claims")
        allows_general = serializers.BooleanField(source="choice.allows_general")
        wants_judge = serializers.BooleanField(source="choice.wants_judge")
        entity_types = serializers.ListField(
            child=serializers.CharField(), source="choice.entity_types"
        )
        support = serializers.DictField(
            child=serializers.BooleanField(), help_text="What the endpoint was found to understand."
        )
        tuning = serializers.DictField(help_text="What was learned from the documents.")
        embedding = EmbeddingSerializer()

    @extend_schema(operation_id="models", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """View a workspace's models."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        return Response(self._shown(workspace))

    @extend_schema(
        operation_id="models_set",
        request=InputSerializer,
        responses={200: OutputSerializer, **CHANGING},
    )
    def put(self, request: ApiRequest, workspace_id: str) -> Response:
        """Choose models. Work that was waiting for them resumes."""
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        changes = dict(given.validated_data)
        now = language_model_queries.model_state(workspace=workspace).choice
        language_model_services.model_settings_save(
            workspace=workspace, choice=replace(now, **changes)
        )
        return Response(self._shown(workspace))

    def _shown(self, workspace: Workspace) -> dict[str, Any]:
        state = language_model_queries.model_state(workspace=workspace)
        embedding = language_model_queries.embedding_state(workspace=workspace)
        names = self.OutputSerializer().fields.keys() - {"embedding"}
        answer = {name: getattr(state, name) for name in names if hasattr(state, name)}
        answer |= {"choice": state.choice, "embedding": embedding}
        return dict(self.OutputSerializer(answer).data)


@method_decorator(transaction.non_atomic_requests, name="dispatch")
class ModelTestApi(APIView):
    """Testing the models with one real call of each kind."""

    has_own_transactions = True

    class OutputSerializer(serializers.Serializer[Any]):
        class LineSerializer(serializers.Serializer[Any]):
            what = serializers.CharField()
            is_good = serializers.BooleanField()
            sentence = serializers.CharField()

        results = LineSerializer(many=True)

    @extend_schema(
        operation_id="models_test",
        request=None,
        responses={200: OutputSerializer, **CHANGING, 503: ProblemSerializer},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Call the endpoint as configured, and report what it supports."""
        # Keep no transaction open while the endpoint answers.
        with transaction.atomic():
            workspace = access.workspace_for_administering(
                user=request.user, workspace_id=workspace_id
            )
        lines = testing.model_test(workspace=workspace)
        return Response(self.OutputSerializer({"results": lines}).data)


class UsageLineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField(help_text="Of a document; '' where it is gone.")
    calls = serializers.IntegerField(help_text="Those answered from the cache included.")
    cached = serializers.IntegerField()
    failed = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(**MONEY)


class CallSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    stage = serializers.CharField()
    role = serializers.CharField()
    model = serializers.CharField()
    prompt = serializers.CharField()
    document_id = serializers.UUIDField(allow_null=True)
    question_id = serializers.UUIDField(allow_null=True)
    state = serializers.CharField()
    code = serializers.CharField()
    prompt_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(**MONEY)
    seconds = serializers.FloatField()


class BudgetSerializer(serializers.Serializer[Any]):
    cap = serializers.DecimalField(**MONEY, allow_null=True)
    spent = serializers.DecimalField(**MONEY, help_text="Calls under way at the most they cost.")
    left = serializers.DecimalField(**MONEY, allow_null=True)
    lost = serializers.IntegerField(
        help_text="Calls that a crash left open. They count at the most they may cost for a day."
    )
    lost_cost = serializers.DecimalField(**MONEY)


class UsageApi(APIView):
    """Usage and cost of a workspace's models."""

    class OutputSerializer(serializers.Serializer[Any]):
        total = UsageLineSerializer()
        budget = BudgetSerializer()
        unpriced = serializers.ListField(
            child=serializers.CharField(), help_text="Models in use whose calls count as free."
        )
        by_stage = UsageLineSerializer(many=True)
        by_role = UsageLineSerializer(many=True)
        by_model = UsageLineSerializer(many=True)
        by_document = UsageLineSerializer(many=True)
        by_day = UsageLineSerializer(many=True)
        calls = CallSerializer(many=True)

    @extend_schema(operation_id="usage", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """Return calls, tokens and costs, grouped by purpose."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        models = language_model_queries.model_state(workspace=workspace).models
        answer: dict[str, Any] = {
            "total": usage_queries.usage_total(workspace=workspace),
            "budget": usage_queries.spending_of(workspace=workspace),
            "unpriced": usage_queries.unpriced(workspace=workspace, models=models),
            "calls": usage_queries.last_calls(workspace=workspace),
        }
        for by in usage_queries.USAGE_KINDS:
            answer[f"by_{by}"] = usage_queries.usage_by(workspace=workspace, by=by)
        return Response(self.OutputSerializer(answer).data)


class BudgetApi(APIView):
    """The model budget of a workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        cap = serializers.DecimalField(
            max_digits=14,
            decimal_places=6,
            min_value=0,
            allow_null=True,
            help_text="What was spent before included; null for no limit.",
        )

    @extend_schema(operation_id="budget", responses={200: BudgetSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """View the budget."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        return Response(BudgetSerializer(usage_queries.spending_of(workspace=workspace)).data)

    @extend_schema(
        operation_id="budget_set",
        request=InputSerializer,
        responses={200: BudgetSerializer, **CHANGING},
    )
    def put(self, request: ApiRequest, workspace_id: str) -> Response:
        """Set the budget. Work that was waiting for it resumes."""
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        language_model_services.budget_set(workspace=workspace, cap=given.validated_data["cap"])
        return Response(BudgetSerializer(usage_queries.spending_of(workspace=workspace)).data)


class PricesApi(APIView):
    """Model prices, per million tokens."""

    class PriceSerializer(serializers.Serializer[Any]):
        model = serializers.CharField(max_length=choice.LONGEST_MODEL)
        prompt = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)
        cached_prompt = serializers.DecimalField(
            max_digits=12,
            decimal_places=4,
            min_value=0,
            required=False,
            help_text="Of tokens in the provider's cache; that of 'prompt' when left out.",
        )
        completion = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)

    @extend_schema(
        operation_id="prices", responses={200: PriceSerializer(many=True), **READING}, filters=False
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List the prices."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        prices = usage_queries.prices_in(workspace=workspace)
        return Response(self.PriceSerializer(prices, many=True).data)

    @extend_schema(
        operation_id="prices_set",
        request=PriceSerializer(many=True),
        responses={200: PriceSerializer(many=True), **CHANGING},
    )
    def put(self, request: ApiRequest, workspace_id: str) -> Response:
        """Replace all prices. They apply from the next call."""
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        given = self.PriceSerializer(data=request.data, many=True)
        given.is_valid(raise_exception=True)
        prices = [language_model_services.PriceGiven(**price) for price in given.validated_data]
        language_model_services.prices_set(workspace=workspace, prices=prices)
        kept = usage_queries.prices_in(workspace=workspace)
        return Response(self.PriceSerializer(kept, many=True).data)
