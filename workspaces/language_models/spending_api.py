"""The REST operations on what a workspace's models cost: usage, budget and prices."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers

from workspaces import limits
from workspaces.api import WorkspaceAPIView, reading, refuse_unknown_fields
from workspaces.language_models import choice, queries, services
from workspaces.language_models.api import PRICE, setting
from workspaces.usage import caps, queries as usage_queries

MONEY: Final[dict[str, Any]] = {"max_digits": 18, "decimal_places": 10}


class UsageLineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField(help_text="For a document that still exists; otherwise ''.")
    calls = serializers.IntegerField(help_text="Includes those answered from the cache.")
    cached = serializers.IntegerField()
    failed = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(
        help_text="Of `prompt_tokens`, those that the provider had in a cache of its own."
    )
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
            "quotas": limits.quotas_of(workspace=self.workspace, user=self.request.user),
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
        prompt = serializers.DecimalField(**PRICE, min_value=0)
        cached_prompt = serializers.DecimalField(
            **PRICE,
            min_value=0,
            required=False,
            help_text="For tokens in the provider's cache; the 'prompt' price if omitted.",
        )
        completion = serializers.DecimalField(**PRICE, min_value=0)

    @reading("prices", at_source=True, gives=PriceSerializer(many=True))
    def get(self) -> object:
        """List the prices."""
        return usage_queries.prices_in(workspace=self.workspace)

    @setting("prices_set", takes=PriceSerializer(many=True), gives=PriceSerializer(many=True))
    def put(self) -> object:
        """Replace all prices. They apply from the next call."""
        given = self.PriceSerializer(data=self.request.data, many=True)
        refuse_unknown_fields(given, self.request.data)
        given.is_valid(raise_exception=True)
        prices = [services.PriceGiven(**price) for price in given.validated_data]
        services.prices_set(workspace=self.workspace, prices=prices, user=self.request.user)
        return usage_queries.prices_in(workspace=self.workspace)
