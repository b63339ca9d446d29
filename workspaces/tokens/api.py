"""The REST operations on API tokens."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from workspaces import access
from workspaces.api import WorkspaceAPIView, reading
from workspaces.models import Capability
from workspaces.models.tokens import LONGEST_NAME
from workspaces.tokens import services


class TokenSerializer(serializers.Serializer[Any]):
    """A token, without its secret."""

    id = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    masked = serializers.CharField(help_text="The part of its text that is shown.")
    member = serializers.CharField(source="membership.user.email")
    capabilities = serializers.ListField(child=serializers.ChoiceField(choices=Capability.values))
    is_live = serializers.BooleanField(help_text="False once it has expired or was revoked.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: it does not expire.")
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="Exact to a minute.")
    revoked_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class TokenListApi(WorkspaceAPIView):
    """The API tokens of a workspace."""

    class QuerySerializer(serializers.Serializer[Any]):
        all = serializers.BooleanField(
            default=False, help_text="Tokens of all members; only for admins."
        )

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=LONGEST_NAME)
        capabilities = serializers.ListField(
            child=serializers.ChoiceField(choices=Capability.values),
            default=list,
            help_text="What it may do besides reading, among your own capabilities.",
        )
        expires_in_days = serializers.IntegerField(
            min_value=1,
            max_value=services.MOST_DAYS,
            allow_null=True,
            default=services.DEFAULT_DAYS,
            help_text="Null: it does not expire.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = TokenSerializer(many=True)

    class CreatedSerializer(TokenSerializer):
        """A new token with its text, which is not shown again."""

        token = serializers.CharField()

    @reading(
        "token_list", at_source=True, query=QuerySerializer, gives=OutputSerializer, errors=(403,)
    )
    def get(self) -> object:
        """List your API tokens, newest first, ended ones too."""
        user, workspace = self.request.user, self.workspace
        if self.query()["all"]:
            access.workspace_for_administering(user=user, workspace_id=workspace.pk)
            tokens = services.tokens_in(workspace=workspace)
        else:
            tokens = services.tokens_of(workspace=workspace, user=user)
        return {"total": len(tokens), "results": tokens}

    @reading(
        "token_create",
        at_source=True,
        takes=InputSerializer,
        gives=CreatedSerializer,
        status=201,
        errors=(403, 409),
    )
    def post(self) -> object:
        """Create an API token. Only people can: sign in with a session, not with a token."""
        wanted = self.body()
        token, text = services.token_create(
            workspace=self.workspace,
            member=self.request.user,
            name=wanted["name"],
            capabilities=wanted["capabilities"],
            days=wanted["expires_in_days"],
            by=self.request.user,
        )
        body = {**TokenSerializer(token).data, "token": text}
        return Response(body, 201, headers={"Cache-Control": "no-store"})


class TokenApi(WorkspaceAPIView):
    """One API token."""

    @reading("token_revoke", at_source=True, gives=TokenSerializer, errors=(403,))
    def delete(self, token_id: UUID) -> object:
        """Revoke a token: yours, or as an admin anyone's. It stays in the list."""
        return services.token_revoke(
            workspace=self.workspace, user=self.request.user, token_id=token_id
        )
