"""The REST operations on a workspace's models, reranker and embedding model.

No response ever contains a key.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from rest_framework import serializers

from kb_project.llm.ports import Role
from workspaces import access
from workspaces.api import WaitingAPIView, WorkspaceAPIView, administering, reading
from workspaces.language_models import choice, embedding, queries, services, testing
from workspaces.language_models.providers import PROVIDERS
from workspaces.models import RerankerKind
from workspaces.ports import LOCAL

setting: Final = partial(administering, errors=(400, 409))
PRICE: Final[dict[str, Any]] = {"max_digits": 12, "decimal_places": 4}


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
            required=False,
            help_text="Use the local tier even if the installation has a model; true drops the"
            " workspace's own.",
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
        instructions = serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=choice.LONGEST_INSTRUCTIONS,
            help_text="For every answer: form, tone, language, emphasis.",
        )
        entity_types = serializers.ListField(
            child=serializers.CharField(max_length=choice.LONGEST_TYPE),
            required=False,
            max_length=choice.MOST_TYPES,
        )

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            if not attrs.get("is_local"):
                return attrs
            if attrs.get("endpoint"):
                raise serializers.ValidationError(
                    {"is_local": ["The local tier has no endpoint: send only one of the two."]}
                )
            return {**services.NO_MODEL, **attrs}

    class OutputSerializer(serializers.Serializer[Any]):
        tier = serializers.ChoiceField(choices=["own", "installation", "local"])
        only_answers = serializers.BooleanField(
            help_text="The model writes answers and does nothing else."
        )
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
        instructions = serializers.CharField(source="choice.instructions")
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


class TestSerializer(serializers.Serializer[Any]):
    class LineSerializer(serializers.Serializer[Any]):
        what = serializers.CharField()
        is_good = serializers.BooleanField()
        sentence = serializers.CharField()

    results = LineSerializer(many=True)
    works = serializers.BooleanField(help_text="Whether every model answers as it should.")


class ModelTestApi(WaitingAPIView):
    """Test models with one real call of each kind, before or after they are saved."""

    @administering(
        "models_test",
        takes=ModelsApi.InputSerializer,
        gives=TestSerializer,
        errors=(400, 409, 503),
    )
    def post(self) -> object:
        """Call the endpoint, and report what it supports.

        The settings of the body are tested in place of the saved ones. They are not saved.
        """
        changes = self.body()
        with access.in_workspace(self.workspace.pk):
            now = queries.model_state(workspace=self.workspace).choice
        tested = testing.model_test(
            workspace=self.workspace,
            choice=replace(now, **changes) if changes else None,
            user=self.request.user,
        )
        return {"results": tested.lines, "works": tested.works}


class ProvidersApi(WorkspaceAPIView):
    """Providers to choose from."""

    class OutputSerializer(serializers.Serializer[Any]):
        class OfferedModelSerializer(serializers.Serializer[Any]):
            class ListPriceSerializer(serializers.Serializer[Any]):
                prompt = serializers.DecimalField(**PRICE)
                cached_prompt = serializers.DecimalField(**PRICE)
                completion = serializers.DecimalField(**PRICE)
                as_of = serializers.CharField(help_text="The month in which it was looked up.")
                note = serializers.CharField(help_text="What it is limited to.")

            name = serializers.CharField()
            purpose = serializers.ChoiceField(choices=["chat", "embedding", "reranking"])
            context_window = serializers.IntegerField(
                help_text="In tokens; 0 if it depends on how the server was started."
            )
            price = ListPriceSerializer(
                allow_null=True,
                help_text="US dollars per million tokens; null if it is not known. Prices change:"
                " compare your provider's list.",
            )

        slug = serializers.CharField()
        name = serializers.CharField()
        endpoint = serializers.CharField()
        needs = serializers.CharField(help_text="What to know before choosing it.")
        needs_key = serializers.BooleanField()
        is_private = serializers.BooleanField(
            help_text="Its address is on a private network, which the operator has to allow."
        )
        models = OfferedModelSerializer(many=True, help_text="Some of its models.")

    @reading("model_providers", at_source=True, gives=OutputSerializer(many=True))
    def get(self) -> object:
        """List common providers with their addresses, some models and published prices."""
        return PROVIDERS


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
    """Test a reranker with one real call, before or after it is saved."""

    @administering(
        "reranker_test",
        takes=RerankerApi.InputSerializer,
        gives=TestSerializer,
        errors=(400, 409, 503),
    )
    def post(self) -> object:
        """Have the reranker order three sentences, and report the result.

        The choice in the body is tested in place of the saved one. It is not saved.
        """
        changes = self.body()
        with access.in_workspace(self.workspace.pk):
            now = queries.reranker_state(workspace=self.workspace).choice
        tested = testing.reranker_test(
            workspace=self.workspace,
            choice=replace(now, **changes) if changes else None,
            user=self.request.user,
        )
        return {"results": tested.lines, "works": tested.works}


# --- kept replies and the embedding model ---------------------------------------------------------
class ModelCacheApi(WorkspaceAPIView):
    """The kept replies of a workspace's models."""

    class QuerySerializer(serializers.Serializer[Any]):
        role = serializers.ChoiceField(
            choices=[role.value for role in Role],
            required=False,
            help_text="Only replies to this role; all if omitted.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        replies = serializers.IntegerField(help_text="Number of replies forgotten.")

    @administering(
        "model_cache_clear", query=QuerySerializer, gives=OutputSerializer, errors=(409,)
    )
    def delete(self) -> object:
        """Forget replies: the same prompts are then sent and paid for again."""
        role = self.query().get("role", "")
        return {"replies": services.cache_clear(workspace=self.workspace, role=role)}


class EmbeddingApi(WaitingAPIView):
    """The embedding model of a workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        provider = serializers.ChoiceField(
            choices=[embedding.ENDPOINT, LOCAL],
            default=embedding.ENDPOINT,
            help_text="endpoint: a model of the chat models' endpoint; local: the built-in one.",
        )
        model = serializers.CharField(
            required=False, allow_blank=True, default="", max_length=choice.LONGEST_MODEL
        )

    class OutputSerializer(serializers.Serializer[Any]):
        model = serializers.CharField(help_text="Makes the vectors that are searched.")
        dimension = serializers.IntegerField()
        is_local = serializers.BooleanField()
        building = serializers.SerializerMethodField(
            help_text="The model of the index that will replace it; null if none is being built."
        )

        def get_building(self, state: queries.EmbeddingState) -> str | None:
            return (state.building.model or state.own_local) if state.building else None

    @reading("embedding", at_source=True, gives=OutputSerializer)
    def get(self) -> object:
        """View the embedding model."""
        return self._state()

    @administering(
        "embedding_change",
        takes=InputSerializer,
        gives=OutputSerializer,
        status=202,
        errors=(400, 409, 503),
    )
    def put(self) -> object:
        """Build a second index with another model, which replaces the one in use when complete.

        The model is called once first; then every passage is embedded again.
        """
        wanted = self.body()
        testing.check_rate(workspace=self.workspace, user=self.request.user)
        embedding.embedding_change(workspace=self.workspace, user=self.request.user, **wanted)
        return self._state()

    @administering("embedding_give_up", gives=OutputSerializer, errors=(409,))
    def delete(self) -> object:
        """Abandon the index being built; the one in use stays."""
        embedding.embedding_give_up(workspace=self.workspace)
        return self._state()

    def _state(self) -> queries.EmbeddingState:
        with access.in_workspace(self.workspace.pk):
            return queries.embedding_state(workspace=self.workspace)
