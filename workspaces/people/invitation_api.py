"""The REST operations on invitations: to send them, and to answer them."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.http.api import ProblemSerializer
from workspaces import access
from workspaces.api import ApiRequest, WaitingAPIView, WorkspaceAPIView, checked, reading
from workspaces.models import INVITE, Invitation, Role
from workspaces.people import invitations, inviting
from workspaces.people.api import ROLES, check_no_token
from workspaces.people.inviting import Issued, Wanted


class InvitationSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.CharField(help_text="Empty for a link.")
    role = serializers.ChoiceField(choices=ROLES)
    is_reusable = serializers.BooleanField()
    is_expired = serializers.BooleanField()
    uses = serializers.IntegerField(help_text="How many people joined with it.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class IssuedSerializer(serializers.Serializer[Any]):
    invitation = InvitationSerializer()
    link = serializers.CharField(
        help_text="Shown once. Empty for an e-mail address, which alone gets the link, unless this"
        " server has no mail: then pass it on."
    )
    is_sent = serializers.BooleanField(help_text="Whether an e-mail left.")


class InvitationListApi(WaitingAPIView):
    """The open invitations of a workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        role = serializers.ChoiceField(choices=ROLES, help_text="At most your own.")
        email = serializers.EmailField(
            required=False, default="", allow_blank=True, help_text="Leave out for a link."
        )
        is_reusable = serializers.BooleanField(
            required=False, default=False, help_text="For a link: several people can use it."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = InvitationSerializer(many=True)

    @reading("invitation_list", at_source=True, gives=OutputSerializer, errors=(403,))
    def get(self) -> object:
        """List the open invitations, newest first, for members who may invite."""
        with access.in_workspace(self.workspace.pk):
            access.check_right(self.workspace, INVITE)
            found = inviting.open_invitations(workspace=self.workspace)
        return {"total": len(found), "results": found}

    @reading(
        "invitation_create",
        at_source=True,
        takes=InputSerializer,
        gives=IssuedSerializer,
        status=201,
        errors=(403, 409),
    )
    def post(self) -> object:
        """Invite by e-mail, or create a link. Valid for seven days."""
        given = self.body()
        given["role"] = Role(given["role"])
        return inviting.invite(
            workspace=self.workspace,
            user=self.request.user,
            wanted=Wanted(**given),
            host=inviting.host_of(self.request),
        )


class InvitationApi(WorkspaceAPIView):
    """One open invitation."""

    @reading("invitation_revoke", at_source=True, status=204, errors=(403,))
    def delete(self, invitation_id: UUID) -> object:
        """Revoke an invitation. Its link stops working."""
        inviting.invitation_revoke(
            workspace=self.workspace, user=self.request.user, invitation_id=invitation_id
        )
        return None


class InvitationRenewApi(WaitingAPIView):
    """Send an invitation again."""

    @reading("invitation_renew", at_source=True, gives=IssuedSerializer, errors=(403, 409))
    def post(self, invitation_id: UUID) -> Issued:
        """Give an invitation a new link and seven more days. The former link stops working."""
        return inviting.invitation_renew(
            workspace=self.workspace,
            user=self.request.user,
            invitation_id=invitation_id,
            host=inviting.host_of(self.request),
        )


# --- what an invited person does ------------------------------------------------------------------
class InvitationLinkSerializer(serializers.Serializer[Any]):
    workspace = serializers.UUIDField(help_text="The first part of the link's path.")
    token = serializers.CharField(max_length=200, help_text="The second part.")


class OpenedInvitationSerializer(serializers.Serializer[Any]):
    workspace = serializers.CharField(source="workspace.name")
    role = serializers.ChoiceField(choices=ROLES)
    email = serializers.CharField()
    invited_by = serializers.CharField(source="created_by")
    expires_at = serializers.DateTimeField()


class JoinedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


ANSWER_ERRORS: Final = (400, 401, 403, 404, 409, 415, 429)


def _answering(operation_id: str, act: Any, gives: Any, description: str) -> type[APIView]:
    class InvitationAnswerApi(APIView):
        @extend_schema(
            operation_id=operation_id,
            description=description,
            request=InvitationLinkSerializer,
            responses={200: gives, **dict.fromkeys(ANSWER_ERRORS, ProblemSerializer)},
        )
        def post(self, request: ApiRequest) -> Response:
            check_no_token(request)
            given = checked(InvitationLinkSerializer, request.data)
            found = invitations.invitation_at(given["workspace"], given["token"])
            return Response(gives(act(found, request)).data)

    return InvitationAnswerApi


def _opened(found: Invitation, request: ApiRequest) -> Invitation:
    if problem := invitations.problem_for(found, request.user):
        raise problem
    return found


InvitationOpenApi = _answering(
    "invitation_open", _opened, OpenedInvitationSerializer, "Look at an invitation."
)
InvitationAcceptApi = _answering(
    "invitation_accept",
    lambda found, request: invitations.invitation_accept(invitation=found, user=request.user),
    JoinedSerializer,
    "Accept an invitation. One by e-mail needs an account with that confirmed address.",
)
InvitationDeclineApi = _answering(
    "invitation_decline",
    lambda found, request: invitations.invitation_decline(invitation=found, user=request.user),
    JoinedSerializer,
    "Decline an invitation.",
)
