"""The REST operations on a workspace's models and reranker. No response ever contains a key."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from rest_framework import serializers
from rest_framework.response import Response

from kb_project.llm.ports import Role
from workspaces import quotas
from workspaces.api import WaitingAPIView, WorkspaceAPIView, administering, reading
from workspaces.language_models import (
    choice,
    queries,
    services,
    testing,
)
from workspaces.models import RerankerKind
from workspaces.usage import caps, queries as usage_queries

setting: Final = partial(administering, errors=(400, 409))
MONEY: dict[str, Any] = {"max_digits": 18, "decimal_places": 10}


class RoleModelSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=[role.value for role in Role])
    model = serializers.CharField()
    max_output = serializers.IntegerField(help_text="Maximum tokens in a reply.")
    timeout = serializers.IntegerField(help_text="Seconds.")
    parameters = serializers.DictField(help_text="What its requests say besides.")


class EmbeddingSerializer(serializers.Serializer[Any]):
    model = serializers.CharField()
    dimension = serializers.IntegerField()
    is_local = serializers.BooleanField()
    is_changing = serializers.SerializerMethodField()

    def get_is_changing(self, state: queries.EmbeddingState) -> bool:
        return state.building is not None


class ModelsApi(WorkspaceAPIView):
    """The models a workspace uses."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        endpoint = serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=choice.LONGEST_ENDPOINT,
            help_text="Base URL of an OpenAI-compatible server; '' for none.",
        )
        key = serializers.CharField(
            required=False,
            allow_blank=True,
            write_only=True,
            max_length=choice.LONGEST_KEY,
            help_text="Stored encrypted and never returned. Kept if omitted; '' removes it.",
        )
        is_local = serializers.BooleanField(
            required=False, help_text="Use the local tier even if the installation has a model."
        )
        model = serializers.CharField(
            required=False, allow_blank=True, max_length=choice.LONGEST_MODEL
        )
        role_models = serializers.DictField(
            child=serializers.CharField(allow_blank=True, max_length=choice.LONGEST_MODEL),
            required=False,
            help_text="Models for individual roles, by role.",
        )
        limits = serializers.DictField(
            child=serializers.DictField(child=serializers.IntegerField(min_value=1)),
            required=False,
            help_text="By role: max_output in tokens, timeout in seconds.",
        )
        parameters = serializers.DictField(
            child=serializers.DictField(),
            required=False,
            help_text="By role: what its requests say besides, such as reasoning_effort. Not sent"
            " to the installation's model.",
        )
        concurrency = serializers.IntegerField(required=False)
        context_window = serializers.IntegerField(required=False)
        gleanings = serializers.IntegerField(required=False)
        wants_claims = serializers.BooleanField(required=False)
        allows_general = serializers.BooleanField(
            required=False, help_text="Answers may add general knowledge, marked as such."
        )
        wants_judge = serializers.BooleanField(
            required=False,
            help_text="A model compares each sentence of an answer with what it cites.",
        )
        local_extraction = serializers.BooleanField(
            required=False,
            help_text="Read passages as on the local tier; the model writes reports, summaries and"
            " answers only.",
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
        local_extraction = serializers.BooleanField(source="choice.local_extraction")
        entity_types = serializers.ListField(
            child=serializers.CharField(), source="choice.entity_types"
        )
        support = serializers.DictField(
            child=serializers.BooleanField(), help_text="Features that the endpoint supports."
        )
        tuning = serializers.DictField(help_text="Prompt details learned from the documents.")
        embedding = EmbeddingSerializer()

    @reading("models", at_source=True, gives=OutputSerializer)
    def get(self) -> object:
        """View a workspace's models."""
        return self._state()

    @setting("models_set", takes=InputSerializer, gives=OutputSerializer)
    def put(self) -> object:
        """Choose models. Work that was waiting for them resumes."""
        changes = self.body()
        now = queries.model_state(workspace=self.workspace).choice
        services.model_settings_save(
            workspace=self.workspace, choice=replace(now, **changes), user=self.request.user
        )
        return self._state()

    def _state(self) -> dict[str, Any]:
        state = queries.model_state(workspace=self.workspace)
        embedding = queries.embedding_state(workspace=self.workspace)
        names = self.OutputSerializer().fields.keys() - {"embedding"}
        answer = {name: getattr(state, name) for name in names if hasattr(state, name)}
        return answer | {"choice": state.choice, "embedding": embedding}


class ModelTestApi(WaitingAPIView):
    """Test the models with one real call of each kind."""

    class OutputSerializer(serializers.Serializer[Any]):
        class LineSerializer(serializers.Serializer[Any]):
            what = serializers.CharField()
            is_good = serializers.BooleanField()
            sentence = serializers.CharField()

        results = LineSerializer(many=True)

    @administering("models_test", gives=OutputSerializer, errors=(400, 409, 429, 503))
    def post(self) -> object:
        """Call the endpoint as configured, and report what it supports."""
        lines = testing.model_test(workspace=self.workspace, user=self.request.user)
        return {"results": lines}


class RerankerApi(WorkspaceAPIView):
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
            help_text="Stored encrypted and never returned. Kept if omitted; '' removes it.",
        )
        model = serializers.CharField(
            required=False, allow_blank=True, max_length=choice.LONGEST_MODEL
        )

    class OutputSerializer(serializers.Serializer[Any]):
        kind = serializers.ChoiceField(choices=RerankerKind.choices, source="choice.kind")
        endpoint = serializers.CharField(source="choice.endpoint")
        model = serializers.CharField(help_text="The model in use; '' if nothing is reranked.")
        has_key = serializers.BooleanField()
        key_hint = serializers.CharField(help_text="The last characters of the key.")

    @reading("reranker", at_source=True, gives=OutputSerializer)
    def get(self) -> object:
        """View a workspace's reranker."""
        return queries.reranker_state(workspace=self.workspace)

    @setting("reranker_set", takes=InputSerializer, gives=OutputSerializer)
    def put(self) -> object:
        """Choose a reranker. It applies from the next question."""
        now = queries.reranker_state(workspace=self.workspace).choice
        wanted = replace(now, **self.body())
        services.reranker_set(workspace=self.workspace, choice=wanted, user=self.request.user)
        return queries.reranker_state(workspace=self.workspace)


class RerankerTestApi(WaitingAPIView):
    """Test the reranker with one real call."""

    @administering(
        "reranker_test", gives=ModelTestApi.OutputSerializer, errors=(400, 409, 429, 503)
    )
    def post(self) -> object:
        """Have the reranker order three sentences, and report the result."""
        lines = testing.reranker_test(workspace=self.workspace, user=self.request.user)
        return {"results": lines}


class UsageLineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField(help_text="For a document that still exists; otherwise ''.")
    calls = serializers.IntegerField(help_text="Includes those answered from the cache.")
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
    spent = serializers.DecimalField(
        **MONEY, help_text="Includes calls in progress, at their maximum cost."
    )
    left = serializers.DecimalField(**MONEY, allow_null=True)
    lost = serializers.IntegerField(
        help_text="Calls left open by a crash. For a day they count at their maximum cost."
    )
    lost_cost = serializers.DecimalField(**MONEY)


class QuotaSerializer(serializers.Serializer[Any]):
    """What the installation allows a workspace, or you in it."""

    name = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="Null: there is none.")


class CapSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=[kind.value for kind in caps.CapKind])
    cap = serializers.DecimalField(**MONEY)
    spent = serializers.DecimalField(
        **MONEY,
        allow_null=True,
        help_text="This month, calls in progress included; null if it includes other people's.",
    )
    is_reached = serializers.BooleanField()


class UsageApi(WorkspaceAPIView):
    """Usage and cost of a workspace's models."""

    class OutputSerializer(serializers.Serializer[Any]):
        total = UsageLineSerializer()
        budget = BudgetSerializer()
        caps = CapSerializer(
            many=True, help_text="The operator's monthly limits on the installation's model."
        )
        unpriced = serializers.ListField(
            child=serializers.CharField(),
            help_text="Models in use without a price. Their calls count as free.",
        )
        by_stage = UsageLineSerializer(many=True)
        by_role = UsageLineSerializer(many=True)
        by_model = UsageLineSerializer(many=True)
        by_document = UsageLineSerializer(many=True)
        by_day = UsageLineSerializer(many=True)
        calls = CallSerializer(many=True)
        quotas = QuotaSerializer(
            many=True, help_text="`storage` in bytes; the trash and earlier versions count."
        )

    @reading("usage", at_source=True, gives=OutputSerializer)
    def get(self) -> object:
        """Return calls, tokens and costs: in total, and by stage, role, model, document and day.

        Also what the workspace may store and ask.
        """
        state = queries.model_state(workspace=self.workspace)
        models = state.models
        is_installation = state.tier == "installation"
        answer: dict[str, Any] = {
            "caps": caps.caps_of(workspace=self.workspace, viewer=self.request.user)
            if is_installation
            else [],
            "total": usage_queries.usage_total(workspace=self.workspace),
            "budget": usage_queries.spending_of(workspace=self.workspace),
            "unpriced": usage_queries.unpriced(
                workspace=self.workspace, models=models, is_installation=is_installation
            ),
            "calls": usage_queries.last_calls(workspace=self.workspace),
            "quotas": quotas.quotas_of(workspace=self.workspace, user=self.request.user),
        }
        for by in usage_queries.USAGE_KINDS:
            answer[f"by_{by}"] = usage_queries.usage_by(workspace=self.workspace, by=by)
        return answer


class BudgetApi(WorkspaceAPIView):
    """The model budget of a workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        cap = serializers.DecimalField(
            max_digits=14,
            decimal_places=6,
            min_value=0,
            allow_null=True,
            help_text="Includes what has been spent already; null for no limit.",
        )

    @reading("budget", at_source=True, gives=BudgetSerializer)
    def get(self) -> object:
        """View the budget."""
        return usage_queries.spending_of(workspace=self.workspace)

    @setting("budget_set", takes=InputSerializer, gives=BudgetSerializer)
    def put(self) -> object:
        """Set the budget. Work that was waiting for it resumes."""
        services.budget_set(
            workspace=self.workspace, cap=self.body()["cap"], user=self.request.user
        )
        return usage_queries.spending_of(workspace=self.workspace)


class PricesApi(WorkspaceAPIView):
    """Model prices, per million tokens."""

    class PriceSerializer(serializers.Serializer[Any]):
        model = serializers.CharField(max_length=choice.LONGEST_MODEL)
        prompt = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)
        cached_prompt = serializers.DecimalField(
            max_digits=12,
            decimal_places=4,
            min_value=0,
            required=False,
            help_text="For tokens in the provider's cache; the 'prompt' price if omitted.",
        )
        completion = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)

    @reading("prices", at_source=True, gives=PriceSerializer(many=True))
    def get(self) -> object:
        """List the prices."""
        prices = usage_queries.prices_in(workspace=self.workspace)
        return Response(self.PriceSerializer(prices, many=True).data)

    @setting("prices_set", takes=PriceSerializer(many=True), gives=PriceSerializer(many=True))
    def put(self) -> object:
        """Replace all prices. They apply from the next call."""
        given = self.PriceSerializer(data=self.request.data, many=True)
        given.is_valid(raise_exception=True)
        prices = [services.PriceGiven(**price) for price in given.validated_data]
        services.prices_set(workspace=self.workspace, prices=prices, user=self.request.user)
        kept = usage_queries.prices_in(workspace=self.workspace)
        return Response(self.PriceSerializer(kept, many=True).data)
