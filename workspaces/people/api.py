"""The REST operations on workspaces, members, groups and profiles."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.errors import ForbiddenError
from kb_project.http.api import ProblemSerializer
from workspaces import access
from workspaces.api import ApiRequest, WorkspaceAPIView, administering, checked, owning, reading
from workspaces.models import Capability, Membership, Role, Workspace
from workspaces.people import (
    members,
    profiles,
    queries as people_queries,
    services,
)
from workspaces.people.members import (
    GROUP_NAME_LENGTH,
    GroupView,
    group_change,
    group_create,
    group_delete,
    group_view,
    groups_of,
)

ROLES: Final = Role.choices


class WorkspaceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    slug = serializers.CharField(help_text="Can be used instead of the id in URLs.")
    is_demo = serializers.BooleanField()
    role = serializers.CharField(source="membership.role")
    capabilities = serializers.ListField(
        child=serializers.CharField(), source="membership.capabilities"
    )
    created_at = serializers.DateTimeField()
    purge_at = serializers.DateTimeField(
        allow_null=True,
        help_text="For a deleted workspace of yours: until when it can be restored.",
    )


class WorkspaceListApi(APIView):
    """The workspaces you are a member of."""

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=services.NAME_LENGTH)
        slug = serializers.SlugField(
            max_length=services.SLUG_LENGTH,
            required=False,
            default="",
            help_text="Left out, it is made from the name. One that is taken is refused (409).",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = WorkspaceSerializer(many=True)

    @extend_schema(
        operation_id="workspace_list",
        responses={200: OutputSerializer, **dict.fromkeys((401, 404, 429), ProblemSerializer)},
    )
    def get(self, request: ApiRequest) -> Response:
        """List your workspaces, with deleted ones that you own and can restore."""
        workspaces = people_queries.workspaces_of(user=request.user)
        answer = {"total": len(workspaces), "results": workspaces}
        return Response(self.OutputSerializer(answer).data)

    @extend_schema(
        operation_id="workspace_create",
        request=InputSerializer,
        responses={
            201: WorkspaceSerializer,
            **dict.fromkeys((400, 401, 403, 409, 415, 429), ProblemSerializer),
        },
    )
    def post(self, request: ApiRequest) -> Response:
        """Create a workspace; you become its owner."""
        given = checked(self.InputSerializer, request.data)
        made = services.workspace_create(owner=request.user, **given)
        workspace = access.workspace_for_reading(user=request.user, workspace_id=made.pk)
        return Response(WorkspaceSerializer(workspace).data, status=201)


# --- members --------------------------------------------------------------------------------------
class MemberSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(source="user")
    email = serializers.SerializerMethodField()
    role = serializers.ChoiceField(choices=ROLES)
    joined_at = serializers.DateTimeField(source="created_at")

    @extend_schema_field(serializers.CharField(help_text="Empty unless you are an admin."))
    def get_email(self, member: Membership) -> str:
        workspace: Workspace | None = self.context.get("workspace")
        is_shown = workspace is not None and workspace.may(Capability.ADMINISTER)
        return member.user.email if is_shown else ""


class MemberListSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    results = MemberSerializer(many=True)


class MemberListApi(WorkspaceAPIView):
    """The members of a workspace."""

    @reading("member_list", at_source=True, gives=MemberListSerializer)
    def get(self) -> object:
        """List the members by name."""
        found = people_queries.members_of(workspace=self.workspace)
        return {"total": len(found), "results": found}


class MemberApi(WorkspaceAPIView):
    """One member."""

    class InputSerializer(serializers.Serializer[Any]):
        role = serializers.ChoiceField(choices=ROLES, help_text="At most your own.")

    @administering("member_edit", takes=InputSerializer, gives=MemberSerializer, errors=(409,))
    def patch(self, member_id: UUID) -> object:
        """Change a member's role. The last owner keeps theirs (409)."""
        role = Role(self.body()["role"])
        return members.role_set(
            workspace=self.workspace, user=self.request.user, member_id=member_id, role=role
        )

    @administering("member_remove", status=204, errors=(409,))
    def delete(self, member_id: UUID) -> object:
        """Remove a member. What they made stays; their access ends at once."""
        members.member_remove(workspace=self.workspace, user=self.request.user, member_id=member_id)
        return None


class OwnershipApi(WorkspaceAPIView):
    """The owner of a workspace."""

    @owning("ownership_transfer", gives=MemberSerializer, errors=(409,))
    def post(self, member_id: UUID) -> object:
        """Make this member the owner in your place. You become an admin."""
        return members.ownership_transfer(
            workspace=self.workspace, user=self.request.user, member_id=member_id
        )


class MembershipApi(WorkspaceAPIView):
    """Your own membership."""

    @reading("member_leave", at_source=True, status=204, errors=(403, 409))
    def delete(self) -> object:
        """Leave the workspace. The last owner cannot (409), and an API token is no person (403)."""
        check_no_token(self.request)
        members.member_leave(workspace=self.workspace, user=self.request.user)
        return None


# --- profile --------------------------------------------------------------------------------------
class ProfileApi(APIView):
    """Your profile."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        name = serializers.CharField(
            required=False, allow_blank=True, max_length=profiles.NAME_LENGTH
        )
        language = serializers.ChoiceField(required=False, choices=settings.LANGUAGES)
        time_zone = serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=64,
            help_text="An IANA name, for pages; '' for the server's.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        email = serializers.CharField()
        name = serializers.CharField()
        shown_as = serializers.CharField(source="get_full_name")
        language = serializers.CharField()
        time_zone = serializers.CharField()

    @extend_schema(
        operation_id="profile",
        responses={200: OutputSerializer, **dict.fromkeys((401, 403, 429), ProblemSerializer)},
    )
    def get(self, request: ApiRequest) -> Response:
        """View your profile."""
        return Response(self.OutputSerializer(request.user).data)

    @extend_schema(
        operation_id="profile_edit",
        request=InputSerializer,
        responses={
            200: OutputSerializer,
            **dict.fromkeys((400, 401, 403, 415, 429), ProblemSerializer),
        },
    )
    def patch(self, request: ApiRequest) -> Response:
        """Change your profile."""
        check_no_token(request)
        given = checked(self.InputSerializer, request.data)
        return Response(
            self.OutputSerializer(profiles.profile_update(user=request.user, **given)).data
        )


def check_no_token(request: ApiRequest) -> None:
    """Refuse API tokens: each is for one workspace, not for the person's account."""
    if getattr(request.user, "token", None) is not None:
        raise ForbiddenError(
            "An API token cannot do this.",
            code="person_needed",
            kept="Nothing was changed.",
            next_step="Do it signed in, on the page.",
        )


# --- groups ---------------------------------------------------------------------------------------
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
        name = serializers.CharField(max_length=GROUP_NAME_LENGTH)

    @administering("groups", gives=GroupSerializer(many=True))
    def get(self) -> object:
        """List groups by name."""
        return groups_of(workspace=self.workspace)

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
        group = group_create(
            workspace=self.workspace, user=self.request.user, name=self.body()["name"]
        )
        return GroupView(group, ())


class GroupApi(WorkspaceAPIView):
    """One group."""

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=GROUP_NAME_LENGTH, required=False)
        members = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=1000,
            help_text="Ids of memberships; they replace the present members.",
        )

    @administering("group", gives=GroupSerializer)
    def get(self, group_id: UUID) -> object:
        """View a group."""
        return group_view(workspace=self.workspace, group_id=group_id)

    @administering("group_change", takes=InputSerializer, gives=GroupSerializer, errors=(409,))
    def patch(self, group_id: UUID) -> object:
        """Rename a group or replace its members. They see other collections from then on."""
        return group_change(
            workspace=self.workspace, user=self.request.user, group_id=group_id, **self.body()
        )

    @administering("group_delete", status=204)
    def delete(self, group_id: UUID) -> object:
        """Delete a group and what was granted to it. Its members stay."""
        group_delete(workspace=self.workspace, user=self.request.user, group_id=group_id)
        return None
