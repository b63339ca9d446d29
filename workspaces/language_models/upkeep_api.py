"""The REST operations on what a workspace keeps of its models: replies and the embedding index."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from rest_framework import serializers

from kb_project.llm.ports import Role
from workspaces import access
from workspaces.api import WaitingAPIView, WorkspaceAPIView, administering, reading
from workspaces.language_models import choice, embedding, queries, services, testing
from workspaces.ports import LOCAL

setting: Final = partial(administering, errors=(409,))


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

    @setting("model_cache_clear", query=QuerySerializer, gives=OutputSerializer)
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

    @setting("embedding_give_up", gives=OutputSerializer)
    def delete(self) -> object:
        """Abandon the index being built; the one in use stays."""
        embedding.embedding_give_up(workspace=self.workspace)
        return self._state()

    def _state(self) -> queries.EmbeddingState:
        with access.in_workspace(self.workspace.pk):
            return queries.embedding_state(workspace=self.workspace)
