"""The REST operations on groups of members."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from workspaces.api import WorkspaceAPIView, administering
from workspaces.people import groups
from workspaces.people.groups import NAME_LENGTH, GroupView


class GroupMemberSerializer(serializers.Serializer[Any]):
    """A member: ``id`` is the membership's."""

    id = serializers.UUIDField(source="pk")
    name = serializers.CharField(source="user")


class GroupSerializer(serializers.Serializer[Any]):
    """A group with its members."""

    id = serializers.UUIDField(source="group.pk")
    name = serializers.CharField(source="group.name")
    members = GroupMemberSerializer(many=True)


class GroupListApi(WorkspaceAPIView):
    """The groups of a workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=NAME_LENGTH)

    @administering("groups", gives=GroupSerializer(many=True))
    def get(self) -> object:
        """List groups by name."""
        views = groups.groups_of(workspace=self.workspace)
        return Response(GroupSerializer(views, many=True).data)

    @administering(
        "group_create",
        takes=InputSerializer,
        gives=GroupSerializer,
        status=201,
        errors=(409,),
        is_once=True,
    )
    def post(self) -> object:
        """Create a group without members."""
        group = groups.group_create(
            workspace=self.workspace, user=self.request.user, name=self.body()["name"]
        )
        return GroupView(group, ())


class GroupApi(WorkspaceAPIView):
    """One group."""

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=NAME_LENGTH, required=False)
        members = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=1000,
            help_text="Ids of memberships; they replace the present members.",
        )

    @administering("group", gives=GroupSerializer)
    def get(self, group_id: UUID) -> object:
        """View a group."""
        return groups.group_view(workspace=self.workspace, group_id=group_id)

    @administering("group_change", takes=InputSerializer, gives=GroupSerializer, errors=(409,))
    def patch(self, group_id: UUID) -> object:
        """Rename a group or replace its members. They see other collections from then on."""
        return groups.group_change(
            workspace=self.workspace, user=self.request.user, group_id=group_id, **self.body()
        )

    @administering("group_delete", status=204)
    def delete(self, group_id: UUID) -> object:
        """Delete a group and what was granted to it. Its members stay."""
        groups.group_delete(workspace=self.workspace, user=self.request.user, group_id=group_id)
        return None
