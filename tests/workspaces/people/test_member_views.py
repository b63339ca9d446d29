"""The pages of members, invitations and profiles, for owner, reader and outsider."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests import rows
from tests.workspaces.pages import address, signed_in
from workspaces import access
from workspaces.limits import Rate
from workspaces.models import Membership, Role, User
from workspaces.people import inviting, services as people_services

pytestmark = pytest.mark.django_db

OPENED = "/invitations/"


def at(name: str, *rest: object) -> str:
    return reverse(f"workspaces:{name}", args=["harbour", *rest])


def member_of(cast: rows.Cast, person: User) -> Membership | None:
    with access.in_workspace(cast.workspace.pk):
        return Membership.objects.in_workspace(cast.workspace).filter(user=person).first()


def link_in(text: str) -> str:
    found = re.search(r"http://testserver(/invitations/[\w-]+/[\w-]+/)", text)
    assert found
    return found[1]


def new_link(cast: rows.Cast, **fields: str) -> str:
    page = signed_in(cast.alice).post(at("member_invite"), {"role": "editor", **fields})
    return link_in(page.content.decode())


# --- members --------------------------------------------------------------------------------------
def test_an_owner_sees_addresses_roles_to_choose_and_how_to_invite():
    cast = rows.make_cast()

    page = signed_in(cast.alice).get(address("member_list")).content.decode()

    assert "bob@example.com" in page
    assert "Role of Bob" in page
    assert "Send invitation" in page
    assert "Transfer ownership" in page


def test_a_reader_sees_names_and_no_addresses_but_their_own():
    cast = rows.make_cast()

    page = signed_in(cast.bob).get(address("member_list")).content.decode()

    assert "Alice" in page
    assert "alice@example.com" not in page
    assert "bob@example.com" in page
    assert "Send invitation" not in page
    assert "Role of Alice" not in page


def test_an_owner_changes_a_role():
    cast = rows.make_cast()
    bob = member_of(cast, cast.bob)

    page = signed_in(cast.alice).post(at("role_set", bob.pk), {"role": "curator"}, follow=True)

    assert "Bob is a curator now." in page.content.decode()
    assert member_of(cast, cast.bob).role == Role.CURATOR


@pytest.mark.parametrize("role", ["", "king"])
def test_a_role_that_is_none_changes_nothing(role: str):
    cast = rows.make_cast()
    bob = member_of(cast, cast.bob)

    page = signed_in(cast.alice).post(at("role_set", bob.pk), {"role": role})

    assert "Choose one of the roles." in page.content.decode()
    assert member_of(cast, cast.bob).role == Role.VIEWER


def test_the_last_owner_learns_why_they_cannot_step_down():
    cast = rows.make_cast()
    alice = member_of(cast, cast.alice)

    page = signed_in(cast.alice).post(at("role_set", alice.pk), {"role": "viewer"})

    assert "Alice is the only owner" in page.content.decode()


def test_removal_is_explained_and_then_done():
    cast = rows.make_cast()
    bob = member_of(cast, cast.bob)
    client = signed_in(cast.alice)

    asked = client.get(at("member_remove", bob.pk)).content.decode()
    after_asking = member_of(cast, cast.bob)
    client.post(at("member_remove", bob.pk))

    assert "Remove Bob?" in asked
    assert after_asking is not None
    assert member_of(cast, cast.bob) is None
    assert signed_in(cast.bob).get(address("member_list")).status_code == 404


def test_removing_oneself_is_leaving():
    cast = rows.make_cast()
    alice = member_of(cast, cast.alice)

    response = signed_in(cast.alice).get(at("member_remove", alice.pk))

    assert response["Location"] == at("member_leave")


def test_a_reader_leaves():
    cast = rows.make_cast()

    page = signed_in(cast.bob).post(at("member_leave"), follow=True)

    assert "You left Harbour." in page.content.decode()
    assert member_of(cast, cast.bob) is None


def test_ownership_is_handed_over():
    cast = rows.make_cast()
    bob = member_of(cast, cast.bob)

    signed_in(cast.alice).post(at("ownership_transfer", bob.pk))

    assert member_of(cast, cast.bob).role == Role.OWNER
    assert member_of(cast, cast.alice).role == Role.ADMIN


@pytest.mark.parametrize("name", ["role_set", "member_remove", "ownership_transfer"])
@pytest.mark.parametrize(("person", "status"), [("Bob", 403), ("Charlie", 404)])
def test_readers_and_outsiders_change_no_member(name: str, person: str, status: int):
    cast = rows.make_cast()
    bob = member_of(cast, cast.bob)

    response = signed_in(rows.make_user(person)).post(at(name, bob.pk), {"role": "admin"})

    assert response.status_code == status
    assert member_of(cast, cast.bob).role == Role.VIEWER


# --- inviting -------------------------------------------------------------------------------------
def test_an_invitation_is_sent_and_listed():
    cast = rows.make_cast()

    page = signed_in(cast.alice).post(
        at("member_invite"), {"email": "dora@example.com", "role": "editor"}
    )

    text = page.content.decode()
    assert "The invitation was sent to <strong>dora@example.com</strong>" in text
    assert "Open invitations" in text
    assert link_in(str(mail.outbox[0].body)) not in text


def test_a_new_link_is_shown_once():
    cast = rows.make_cast()
    client = signed_in(cast.alice)

    page = client.post(at("member_invite"), {"role": "viewer", "is_reusable": "on"})
    later = client.get(address("member_list")).content.decode()

    assert link_in(page.content.decode())
    assert page["Cache-Control"] == "no-store"
    assert "/invitations/" in later  # to revoke it
    assert "http://testserver/invitations/" not in later


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"email": "no address", "role": "editor"}, "Enter a valid email address"),
        ({"email": "bob@example.com", "role": "editor"}, "Bob is already a member"),
        ({"role": "admin", "is_reusable": "on"}, "at most the role Curator"),
    ],
)
def test_what_cannot_be_sent_is_explained_on_the_page(fields: dict[str, str], says: str):
    cast = rows.make_cast()

    page = signed_in(cast.alice).post(at("member_invite"), fields).content.decode()

    assert says in page


def test_an_invitation_is_revoked_and_renewed_from_the_list():
    cast = rows.make_cast()
    link = new_link(cast)
    client = signed_in(cast.alice)
    listed = client.get(address("member_list")).content.decode()
    [renew] = re.findall(r'action="([^"]+/renew/)"', listed)

    renewed = client.post(renew).content.decode()
    client.post(renew.replace("renew", "revoke"))

    assert link_in(renewed) != link
    assert Client().get(link).status_code == 404
    assert Client().get(link_in(renewed), follow=True).status_code == 200
    assert "was withdrawn" in Client().get(link_in(renewed), follow=True).content.decode()


@pytest.mark.parametrize(("person", "status"), [("Bob", 403), ("Charlie", 404)])
def test_readers_and_outsiders_invite_no_one(person: str, status: int):
    rows.make_cast()

    response = signed_in(rows.make_user(person)).post(
        at("member_invite"), {"email": "dora@example.com", "role": "viewer"}
    )

    assert response.status_code == status
    assert mail.outbox == []


# --- opening --------------------------------------------------------------------------------------
def test_a_visitor_sees_the_invitation_without_its_token_and_comes_back_to_it():
    cast = rows.make_cast()
    visitor, link = Client(), new_link(cast)

    opened = visitor.get(link)
    page = visitor.get(OPENED).content.decode()

    assert opened["Location"] == OPENED
    assert opened["Referrer-Policy"] == "no-referrer"
    assert "Join Harbour" in page
    assert f"{reverse('account_signup')}?next=/invitations/" in page
    assert link.split("/")[3] not in page


def test_a_visitor_signs_up_and_accepts():
    cast = rows.make_cast()
    visitor = Client()
    visitor.get(new_link(cast))
    account = {"email": "dora@example.com", "password1": rows.PASSWORD, "password2": rows.PASSWORD}

    page = visitor.post(f"{reverse('account_signup')}?next={OPENED}", account, follow=True)
    welcome = visitor.post(OPENED, follow=True)

    assert "You are signed in as dora@example.com" in page.content.decode()
    assert "Welcome to Harbour." in welcome.content.decode()
    assert member_of(cast, User.objects.get(email="dora@example.com")).role == Role.EDITOR


def test_a_visitor_who_answers_without_an_account_is_sent_to_sign_in():
    cast = rows.make_cast()
    visitor = Client()
    visitor.get(new_link(cast))

    response = visitor.post(OPENED)

    assert response["Location"] == f"{reverse('account_login')}?next={OPENED}"


def test_the_list_of_workspaces_reminds_of_an_open_invitation():
    cast = rows.make_cast()
    client = signed_in(cast.charlie)
    client.get(new_link(cast))

    assert "You have an invitation to Harbour" in client.get("/").content.decode()

    client.post(OPENED, {"decline": "yes"})
    assert "You have an invitation" not in client.get("/").content.decode()
    assert member_of(cast, cast.charlie) is None


def test_an_address_that_is_not_confirmed_yet_leads_to_its_confirmation():
    cast = rows.make_cast()
    EmailAddress.objects.create(user=cast.charlie, email="charlie@example.com", verified=False)
    signed_in(cast.alice).post(
        at("member_invite"), {"email": "charlie@example.com", "role": "editor"}
    )
    client = signed_in(cast.charlie)

    page = client.get(link_in(str(mail.outbox[0].body)), follow=True).content.decode()
    refused = client.post(OPENED)

    assert "Confirm that charlie@example.com is your address first." in page
    assert refused.status_code == 409
    assert member_of(cast, cast.charlie) is None


def test_a_member_who_opens_an_invitation_is_led_to_the_workspace():
    cast = rows.make_cast()

    page = signed_in(cast.bob).get(new_link(cast), follow=True).content.decode()

    assert "You are already a member of Harbour." in page
    assert "Open the workspace" in page


@pytest.mark.parametrize("path", [OPENED, f"{OPENED}{'0' * 8}-0000-4000-8000-{'0' * 12}/x/"])
def test_a_browser_without_an_invitation_finds_none(path: str):
    assert Client().get(path).status_code == 404


# --- profile --------------------------------------------------------------------------------------
def test_a_person_chooses_a_name_and_a_time_zone():
    alice = rows.make_user("Alice")
    client = signed_in(alice)

    page = client.post(
        reverse("workspaces:profile"),
        {"name": " Alice  Harper ", "language": "en", "time_zone": "Asia/Tokyo"},
        follow=True,
    )

    alice.refresh_from_db()
    assert (str(alice), alice.time_zone) == ("Alice Harper", "Asia/Tokyo")
    assert "Profile saved." in page.content.decode()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "http://example.com"}, "is not a web address"),
        ({"time_zone": "Mars/Olympus"}, "Select a valid choice"),
        ({"language": "tlh"}, "Select a valid choice"),
    ],
)
def test_a_profile_that_cannot_be_is_explained(fields: dict[str, str], says: str):
    alice = rows.make_user("Alice")
    given = {"name": "A", "language": "en", "time_zone": "", **fields}

    page = signed_in(alice).post(reverse("workspaces:profile"), given).content.decode()

    alice.refresh_from_db()
    assert says in page
    assert alice.name == "Alice"


def test_times_on_pages_are_those_of_the_persons_zone():
    alice = rows.make_user("Alice")
    alice.time_zone = "Asia/Tokyo"
    alice.save()
    workspace = rows.make_workspace(owner=alice)
    workspace.purge_at = datetime(2030, 1, 1, 20, 0, tzinfo=UTC)
    workspace.save()

    page = signed_in(alice).get("/").content.decode()

    assert "2 Jan 2030, 05:00" in page
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_zone_that_was_dropped_since_is_the_servers_own():
    alice = rows.make_user("Alice")
    alice.time_zone = "Europe/Atlantis"
    alice.save()

    assert signed_in(alice).get("/").status_code == 200


def test_the_profile_needs_a_sign_in():
    assert Client().get(reverse("workspaces:profile")).status_code == 302


# --- many workspaces ------------------------------------------------------------------------------
def test_the_switcher_lists_every_workspace_and_marks_this_one():
    alice = rows.make_user("Alice")
    for number in range(30):
        people_services.workspace_create(name=f"Space {number:02}", owner=alice)

    page = signed_in(alice).get("/w/space-07/members/").content.decode()

    assert page.count('class="dropdown-item"\n                 href="/w/space-') == 30
    assert page.count('aria-current="true"') == 1


def test_invitations_without_end_are_answered_like_any_other_limit(monkeypatch):
    cast = rows.make_cast()
    monkeypatch.setattr(inviting, "INVITATIONS", Rate(1, 3600))
    client = signed_in(cast.alice)
    client.post(at("member_invite"), {"role": "viewer"})

    page = client.post(at("member_invite"), {"role": "viewer"})
    program = client.post(
        f"/api/v1/workspaces/{cast.workspace.pk}/invitations/",
        {"role": "viewer"},
        content_type="application/json",
    )

    assert (page.status_code, program.status_code) == (429, 429)
    assert 0 < int(page["Retry-After"]) <= 3600
    assert 0 < int(program["Retry-After"]) <= 3600
