"""The REST operations on who may see a collection."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.documents.collections.queries import collection_get
from ingestion.editions import grants
from workspaces.api import WorkspaceAPIView, administering


class GrantSerializer(serializers.Serializer[Any]):
    """Access of a group or of a member to a restricted collection."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["member", "group"])
    subject = serializers.UUIDField(
        source="subject_id", help_text="The group's id, or the membership's."
    )
    name = serializers.CharField()
    may_edit = serializers.BooleanField(help_text="Whether they may change its documents.")


class AccessSerializer(serializers.Serializer[Any]):
    """Who may see a collection."""

    is_restricted = serializers.BooleanField(
        help_text="If false, all members see it, and grants have no effect."
    )
    grants = GrantSerializer(many=True)


class CollectionAccessApi(WorkspaceAPIView):
    """Who may see a collection. Admins and owners see all collections."""

    class InputSerializer(serializers.Serializer[Any]):
        is_restricted = serializers.BooleanField()

    @administering("collection_access", gives=AccessSerializer)
    def get(self, collection_id: UUID) -> object:
        """View who may see a collection."""
        return self._access(collection_id)

    @administering(
        "collection_restrict", takes=InputSerializer, gives=AccessSerializer, errors=(409,)
    )
    def patch(self, collection_id: UUID) -> object:
        """Restrict a collection to those with a grant, or open it to all members."""
        grants.collection_restrict(
            workspace=self.workspace,
            user=self.request.user,
            collection_id=collection_id,
            **self.body(),
        )
        return self._access(collection_id)

    def _access(self, collection_id: UUID) -> dict[str, object]:
        collection = collection_get(workspace=self.workspace, collection_id=collection_id)
        return {
            "is_restricted": collection.is_restricted,
            "grants": grants.grants_of(workspace=self.workspace, collection=collection),
        }


class GrantListApi(WorkspaceAPIView):
    """The grants of a collection."""

    class InputSerializer(serializers.Serializer[Any]):
        group = serializers.UUIDField(source="group_id", required=False)
        member = serializers.UUIDField(
            source="membership_id", required=False, help_text="The membership's id."
        )
        may_edit = serializers.BooleanField(default=False)

    @administering(
        "grant_give", takes=InputSerializer, gives=GrantSerializer, status=201, is_once=True
    )
    def post(self, collection_id: UUID) -> object:
        """Grant a group or a member access, or change what they were granted."""
        return grants.grant_give(
            workspace=self.workspace,
            user=self.request.user,
            collection_id=collection_id,
            **self.body(),
        )


class GrantApi(WorkspaceAPIView):
    """One grant."""

    @administering("grant_take", status=204)
    def delete(self, collection_id: UUID, grant_id: UUID) -> object:
        """Remove access."""
        grants.grant_take(
            workspace=self.workspace,
            user=self.request.user,
            collection_id=collection_id,
            grant_id=grant_id,
        )
        return None
