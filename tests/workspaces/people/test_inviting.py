"""Whom one may invite, and links that lead nowhere."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core import mail
from django.utils import timezone

from kb_project.errors import ConflictError, ForbiddenError, KBError, LimitError
from tests import rows
from tests.workspaces.people.invited import change, invite, mailed, opened, role_of, token_in
from workspaces.administration import services as settings_services
from workspaces.models import Role, Workspace
from workspaces.people import invitations, inviting, services as people_services

pytestmark = pytest.mark.django_db


# --- whom one may invite --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("email", "says"), [("alice@example.com", "You are already"), ("BOB@example.com", "Bob is")]
)
def test_members_and_oneself_need_no_invitation(email: str, says: str):
    cast = rows.make_cast()

    with pytest.raises(ConflictError, match=says) as refused:
        invite(cast.workspace, cast.alice, email=email)

    assert refused.value.code == "already_member"
    assert mail.outbox == []


def test_a_member_opens_an_invitation_in_vain():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice, Role.ADMIN).link

    with pytest.raises(ConflictError, match="already a member"):
        invitations.invitation_accept(invitation=opened(link), user=cast.bob)

    assert role_of(cast.workspace, cast.bob) == "viewer"


def test_an_address_is_invited_once_at_a_time():
    cast = rows.make_cast()
    invite(cast.workspace, cast.alice, email="charlie@example.com")

    with pytest.raises(ConflictError) as refused:
        invite(cast.workspace, cast.alice, email="Charlie@example.com")

    assert refused.value.code == "already_invited"
    assert len(mail.outbox) == 1


def test_an_expired_invitation_makes_room_for_a_new_one():
    cast = rows.make_cast()
    first = invite(cast.workspace, cast.alice, email="charlie@example.com")
    change(first.invitation, expires_at=timezone.now() - timedelta(days=1))

    second = invite(cast.workspace, cast.alice, email="charlie@example.com")

    assert opened(mailed()).pk == second.invitation.pk


@pytest.mark.parametrize("role", list(Role))
def test_no_one_invites_above_their_own_role(role: Role):
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.ADMIN)

    if role == Role.OWNER:
        with pytest.raises(ForbiddenError, match="above your own role"):
            invite(cast.workspace, dora, role)
    else:
        assert invite(cast.workspace, dora, role).link


@pytest.mark.parametrize("is_allowed", [True, False])
def test_editors_invite_if_the_workspace_lets_them(is_allowed: bool):
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.EDITOR)
    settings_services.settings_update(
        workspace=cast.workspace, user=cast.alice, editors_invite=is_allowed
    )

    if is_allowed:
        assert invite(cast.workspace, dora, Role.EDITOR).link
    else:
        with pytest.raises(ForbiddenError, match="may not invite people"):
            invite(cast.workspace, dora, Role.VIEWER)


def test_a_viewer_never_invites():
    cast = rows.make_cast()
    settings_services.settings_update(
        workspace=cast.workspace, user=cast.alice, editors_invite=True
    )

    with pytest.raises(ForbiddenError):
        invite(cast.workspace, cast.bob, Role.VIEWER)


def test_invitations_by_the_dozen_are_slowed_down():
    cast = rows.make_cast()
    for _ in range(inviting.INVITATIONS.count):
        invite(cast.workspace, cast.alice)

    with pytest.raises(LimitError) as refused:
        invite(cast.workspace, cast.alice)

    assert 0 < refused.value.retry_after <= inviting.INVITATIONS.seconds
    assert "min" in refused.value.next_step


# --- links that lead nowhere ----------------------------------------------------------------------
def test_a_token_of_another_workspace_opens_nothing():
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")
    token = token_in(invite(cast.workspace, cast.alice).link)

    assert invitations.open_invitation(cast.workspace.pk, token)
    assert invitations.open_invitation(other.workspace.pk, token) is None
    assert invitations.open_invitation(uuid4(), token) is None


@pytest.mark.parametrize("workspace_id", ["", "nonsense", None])
def test_what_is_no_link_opens_nothing(workspace_id: str | None):
    cast = rows.make_cast()

    assert invitations.open_invitation(workspace_id or cast.workspace.pk, "x" * 43) is None
    assert invitations.invitation_in({}) is None  # type: ignore[arg-type]  # an empty session


def test_an_invitation_that_ended_is_not_open():
    cast = rows.make_cast()
    issued = invite(cast.workspace, cast.alice)
    token = token_in(issued.link)
    change(issued.invitation, expires_at=timezone.now())

    assert invitations.open_invitation(cast.workspace.pk, token) is None


def test_a_deleted_workspace_invites_no_one():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice).link
    Workspace.objects.filter(pk=cast.workspace.pk).update(purge_at=timezone.now())

    with pytest.raises(KBError, match="not an invitation"):
        opened(link)
