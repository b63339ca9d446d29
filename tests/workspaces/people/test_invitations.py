"""Sending, opening, accepting and declining invitations, and every way they end."""

from __future__ import annotations

import smtplib
import threading
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from kb_project.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from tests import rows
from tests.patience import PATIENCE
from tests.workspaces.people.invited import HOST, change, invite, mailed, opened, role_of, token_in
from workspaces import access
from workspaces.models import Invitation, InvitationState, Membership, Role, User
from workspaces.people import invitations, inviting, members, services as people_services

pytestmark = pytest.mark.django_db


def verify(user: User, email: str = "", *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=email or user.email, verified=verified)


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

    token = token_in(mailed())
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


def test_without_mail_the_sender_gets_the_link_and_who_has_it_need_not_confirm_the_address(
    settings: Settings,
):
    settings.EMAIL_BACKEND = settings.CONSOLE_MAIL
    cast = rows.make_cast()
    verify(cast.charlie, verified=False)

    issued = invite(cast.workspace, cast.alice, email="charlie@example.com")

    assert not issued.is_sent
    with pytest.raises(ForbiddenError, match="another e-mail address"):
        invitations.invitation_accept(invitation=opened(issued.link), user=rows.make_user("Dora"))
    invitations.invitation_accept(invitation=opened(issued.link), user=cast.charlie)
    assert role_of(cast.workspace, cast.charlie) == "editor"


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
def test_a_link_for_several_people_makes_no_admins_and_has_no_address(wanted: dict[str, Any]):
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
            meet.wait(PATIENCE)
            invitations.invitation_accept(invitation=found, user=person)
        except ConflictError:
            pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=accept, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

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
