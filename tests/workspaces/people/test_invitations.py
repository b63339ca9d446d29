"""Sending, opening, accepting and declining invitations, and every way they end."""

from __future__ import annotations

import re
import smtplib
import threading
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connections, transaction
from django.utils import timezone

from kb_project.errors import ConflictError, ForbiddenError, InputError, KBError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.administration import services as settings_services
from workspaces.models import Invitation, InvitationState, Membership, Role, User, Workspace
from workspaces.people import invitations, inviting, members, services as people_services
from workspaces.people.inviting import Issued, Wanted

pytestmark = pytest.mark.django_db

HOST = "http://kb.example.com"
LINK = re.compile(rf"{HOST}/invitations/([0-9a-f-]+)/([\w-]+)/")


def invite(workspace: Workspace, user: User, role: Role = Role.EDITOR, **wanted) -> Issued:
    with transaction.atomic():
        passed = access.workspace_for_reading(user=user, workspace_id=workspace.pk)
    return inviting.invite(workspace=passed, user=user, wanted=Wanted(role, **wanted), host=HOST)


def opened(link: str) -> Invitation:
    """What the link leads to."""
    found = LINK.search(link)
    assert found
    return invitations.invitation_at(UUID(found[1]), found[2])


def mailed() -> str:
    """The text of the last e-mail."""
    return str(mail.outbox[-1].body)


def verify(user: User, email: str = "", *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=email or user.email, verified=verified)


def role_of(workspace: Workspace, user: User) -> str | None:
    with access.in_workspace(workspace.pk):
        found = Membership.objects.in_workspace(workspace).filter(user=user).first()
    return found and found.role


def change(invitation: Invitation, **values: object) -> None:
    with access.in_workspace(invitation.workspace_id):
        Invitation.objects.in_workspace(invitation.workspace_id).filter(pk=invitation.pk).update(
            **values
        )


# --- by e-mail ------------------------------------------------------------------------------------
def test_an_invitation_by_e_mail_holds_the_only_copy_of_its_link():
    cast = rows.make_cast()

    issued = invite(cast.workspace, cast.alice, email=" Charlie@Example.com ")

    assert (issued.link, issued.is_sent) == ("", True)
    assert mail.outbox[-1].to == ["charlie@example.com"]
    assert mail.outbox[-1].subject == "Alice invites you to Harbour"
    assert opened(mailed()).pk == issued.invitation.pk
    assert "within 7 days" in mailed()
    assert "alice@example.com" not in mailed()


def test_the_token_is_stored_as_its_hash_only():
    cast = rows.make_cast()

    invite(cast.workspace, cast.alice, email="charlie@example.com")

    token = LINK.search(mailed())[2]
    with access.in_workspace(cast.workspace.pk):
        row = Invitation.objects.in_workspace(cast.workspace).get()
    assert row.token_hash == invitations.hash_of(token)
    assert token not in str(vars(row))


def test_the_verified_owner_of_the_address_joins_in_the_role_chosen():
    cast = rows.make_cast()
    verify(cast.charlie)
    invite(cast.workspace, cast.alice, Role.CURATOR, email="charlie@example.com")

    invitations.invitation_accept(invitation=opened(mailed()), user=cast.charlie)

    assert role_of(cast.workspace, cast.charlie) == "curator"
    assert opened(mailed()).state == InvitationState.ACCEPTED


@pytest.mark.parametrize(
    ("addresses", "code"),
    [
        ({}, "other_address"),
        ({"dora@example.com": True}, "other_address"),
        ({"charlie@example.com": False}, "address_unverified"),
    ],
)
def test_no_one_else_accepts_an_invitation_by_e_mail(addresses: dict[str, bool], code: str):
    cast = rows.make_cast()
    for address, is_verified in addresses.items():
        verify(cast.charlie, address, verified=is_verified)
    invite(cast.workspace, cast.alice, email="charlie@example.com")

    with pytest.raises(ForbiddenError) as refused:
        invitations.invitation_accept(invitation=opened(mailed()), user=cast.charlie)

    assert refused.value.code == code
    assert role_of(cast.workspace, cast.charlie) is None


def test_a_second_verified_address_counts_in_any_spelling():
    cast = rows.make_cast()
    verify(cast.charlie)
    verify(cast.charlie, "Charles@Example.com")
    invite(cast.workspace, cast.alice, email="charles@example.com")

    invitations.invitation_accept(invitation=opened(mailed()), user=cast.charlie)

    assert role_of(cast.workspace, cast.charlie) == "editor"


def test_a_mail_server_that_fails_is_said_and_the_invitation_kept(
    monkeypatch: pytest.MonkeyPatch,
):
    cast = rows.make_cast()

    def fail(*_args: object) -> None:
        raise smtplib.SMTPServerDisconnected

    monkeypatch.setattr(inviting, "send_mail", fail)
    issued = invite(cast.workspace, cast.alice, email="charlie@example.com")

    assert (issued.link, issued.is_sent) == ("", False)
    assert issued.invitation.state == InvitationState.OPEN


# --- by a link ------------------------------------------------------------------------------------
def test_a_link_lets_one_person_join():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice).link

    invitations.invitation_accept(invitation=opened(link), user=cast.charlie)

    assert role_of(cast.workspace, cast.charlie) == "editor"
    with pytest.raises(ConflictError, match="was used already"):
        invitations.invitation_accept(invitation=opened(link), user=rows.make_user("Dora"))


def test_a_link_for_several_people_counts_them():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice, is_reusable=True).link

    for person in (cast.charlie, rows.make_user("Dora")):
        invitations.invitation_accept(invitation=opened(link), user=person)

    assert (opened(link).uses, opened(link).state) == (2, InvitationState.OPEN)


@pytest.mark.parametrize("wanted", [{"role": Role.ADMIN}, {"email": "charlie@example.com"}])
def test_a_link_for_several_people_makes_no_admins_and_has_no_address(wanted: dict[str, object]):
    cast = rows.make_cast()

    with pytest.raises(InputError, match="for several people"):
        invite(cast.workspace, cast.alice, is_reusable=True, **wanted)


def test_the_public_address_begins_the_link_if_there_is_one(settings):
    settings.PUBLIC_ADDRESS = "https://docs.example.org"
    cast = rows.make_cast()

    assert invite(cast.workspace, cast.alice).link.startswith("https://docs.example.org/invit")


@pytest.mark.django_db(transaction=True)
def test_two_people_who_accept_one_link_at_once_do_not_both_join():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice).link
    people = [cast.charlie, rows.make_user("Dora")]
    found, meet = opened(link), threading.Barrier(2)

    def accept(person: User) -> None:
        try:
            meet.wait(10)
            invitations.invitation_accept(invitation=found, user=person)
        except ConflictError:
            pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=accept, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    joined = [person for person in people if role_of(cast.workspace, person)]
    assert len(joined) == 1


# --- how invitations end --------------------------------------------------------------------------
def test_an_expired_invitation_is_of_no_use_until_it_is_renewed():
    cast = rows.make_cast()
    issued = invite(cast.workspace, cast.alice)
    change(issued.invitation, expires_at=timezone.now() - timedelta(seconds=1))

    with pytest.raises(ConflictError, match="has expired"):
        invitations.invitation_accept(invitation=opened(issued.link), user=cast.charlie)
    renewed = inviting.invitation_renew(
        workspace=cast.workspace,
        user=cast.alice,
        invitation_id=issued.invitation.pk,
        host=HOST,
    )
    invitations.invitation_accept(invitation=opened(renewed.link), user=cast.charlie)

    assert role_of(cast.workspace, cast.charlie) == "editor"


def test_renewing_replaces_the_link_and_sends_an_e_mail_again():
    cast = rows.make_cast()
    issued = invite(cast.workspace, cast.alice, email="charlie@example.com")
    before = mailed()

    inviting.invitation_renew(
        workspace=cast.workspace, user=cast.alice, invitation_id=issued.invitation.pk, host=HOST
    )

    assert len(mail.outbox) == 2
    assert opened(mailed()).pk == issued.invitation.pk
    with pytest.raises(NotFoundError):
        opened(before)


def test_a_revoked_link_stops_working():
    cast = rows.make_cast()
    issued = invite(cast.workspace, cast.alice)

    inviting.invitation_revoke(
        workspace=cast.workspace, user=cast.alice, invitation_id=issued.invitation.pk
    )

    with pytest.raises(ConflictError, match="was withdrawn"):
        invitations.invitation_accept(invitation=opened(issued.link), user=cast.charlie)
    with pytest.raises(NotFoundError):
        inviting.invitation_revoke(
            workspace=cast.workspace, user=cast.alice, invitation_id=issued.invitation.pk
        )


def test_a_declined_invitation_cannot_be_accepted_later():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice).link

    invitations.invitation_decline(invitation=opened(link), user=cast.charlie)

    with pytest.raises(ConflictError, match="was declined"):
        invitations.invitation_accept(invitation=opened(link), user=cast.charlie)


def test_declining_a_link_for_several_people_leaves_it_to_the_others():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice, is_reusable=True).link

    invitations.invitation_decline(invitation=opened(link), user=cast.charlie)

    invitations.invitation_accept(invitation=opened(link), user=rows.make_user("Dora"))


def test_an_invitation_by_somebody_removed_since_is_void():
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.ADMIN)
    link = invite(cast.workspace, dora).link
    with access.in_workspace(cast.workspace.pk):
        member = Membership.objects.in_workspace(cast.workspace).get(user=dora)

    members.member_remove(workspace=cast.workspace, user=cast.alice, member_id=member.pk)

    with pytest.raises(ConflictError, match="was withdrawn"):
        invitations.invitation_accept(invitation=opened(link), user=cast.charlie)


def test_an_invitation_whose_senders_account_is_gone_is_void():
    cast = rows.make_cast()
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.ADMIN)
    link = invite(cast.workspace, dora).link
    with access.in_workspace(cast.workspace.pk):
        Membership.objects.in_workspace(cast.workspace).filter(user=dora).delete()

    with pytest.raises(ConflictError, match="its sender may not invite people now"):
        invitations.invitation_accept(invitation=opened(link), user=cast.charlie)


def test_a_removed_member_does_not_come_back_through_a_link_they_know():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice, is_reusable=True).link
    invitations.invitation_accept(invitation=opened(link), user=cast.charlie)
    with access.in_workspace(cast.workspace.pk):
        member = Membership.objects.in_workspace(cast.workspace).get(user=cast.charlie)
    members.member_remove(workspace=cast.workspace, user=cast.alice, member_id=member.pk)

    with pytest.raises(ConflictError):
        invitations.invitation_accept(invitation=opened(link), user=cast.charlie)


def test_who_was_removed_can_be_invited_again():
    cast = rows.make_cast()
    verify(cast.bob)
    with access.in_workspace(cast.workspace.pk):
        member = Membership.objects.in_workspace(cast.workspace).get(user=cast.bob)
    members.member_remove(workspace=cast.workspace, user=cast.alice, member_id=member.pk)

    invite(cast.workspace, cast.alice, Role.CURATOR, email="bob@example.com")
    invitations.invitation_accept(invitation=opened(mailed()), user=cast.bob)

    assert role_of(cast.workspace, cast.bob) == "curator"


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

    with pytest.raises(ConflictError) as refused:
        invite(cast.workspace, cast.alice)

    assert refused.value.code == "too_many_invitations"
    assert "min" in refused.value.next_step


# --- links that lead nowhere ----------------------------------------------------------------------
def test_a_token_of_another_workspace_opens_nothing():
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")
    token = LINK.search(invite(cast.workspace, cast.alice).link)[2]

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
    token = LINK.search(issued.link)[2]
    change(issued.invitation, expires_at=timezone.now())

    assert invitations.open_invitation(cast.workspace.pk, token) is None


def test_a_deleted_workspace_invites_no_one():
    cast = rows.make_cast()
    link = invite(cast.workspace, cast.alice).link
    Workspace.objects.filter(pk=cast.workspace.pk).update(purge_at=timezone.now())

    with pytest.raises(KBError, match="not an invitation"):
        opened(link)
