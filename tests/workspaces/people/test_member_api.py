"""Members, invitations and profiles over REST, for owner, reader and outsider."""

from __future__ import annotations

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access
from workspaces.models import Membership, User

pytestmark = pytest.mark.django_db

OPEN, ACCEPT, DECLINE = (f"/api/v1/invitations/{one}" for one in ("", "accept/", "decline/"))


def members(cast: rows.Cast, path: str = "") -> str:
    return address(cast.workspace, f"members/{path}")


def invitations(cast: rows.Cast, path: str = "") -> str:
    return address(cast.workspace, f"invitations/{path}")


def member_id(cast: rows.Cast, person: User) -> str:
    with access.in_workspace(cast.workspace.pk):
        return str(Membership.objects.in_workspace(cast.workspace).get(user=person).pk)


def roles(cast: rows.Cast) -> dict[str, str]:
    found = client(cast.alice).get(members(cast)).json()["results"]
    return {row["name"]: row["role"] for row in found}


def parts(text: str) -> dict[str, str]:
    """What accepts the invitation of a link."""
    found = re.search(r"/invitations/([\w-]+)/([\w-]+)/", text)
    assert found
    return {"workspace": found[1], "token": found[2]}


# --- members --------------------------------------------------------------------------------------
def test_admins_see_addresses_and_readers_names():
    cast = rows.make_cast()

    seen = {
        person.name: [row["email"] for row in client(person).get(members(cast)).json()["results"]]
        for person in (cast.alice, cast.bob)
    }

    assert seen == {"Alice": ["alice@example.com", "bob@example.com"], "Bob": ["", ""]}


def test_an_owner_changes_a_role_and_removes():
    cast = rows.make_cast()
    bob = members(cast, f"{member_id(cast, cast.bob)}/")

    changed = client(cast.alice).patch(bob, {"role": "editor"})
    removed = client(cast.alice).delete(bob)

    assert (changed.json()["name"], changed.json()["role"]) == ("Bob", "editor")
    assert removed.status_code == 204
    assert roles(cast) == {"Alice": "owner"}


@pytest.mark.parametrize("role", ["", "king", None])
def test_a_role_that_is_none_is_refused(role: str | None):
    cast = rows.make_cast()
    bob = members(cast, f"{member_id(cast, cast.bob)}/")

    assert_problem(client(cast.alice).patch(bob, {"role": role}), 400, "invalid_input")


def test_the_last_owner_stays():
    cast = rows.make_cast()
    alice = client(cast.alice)
    own = members(cast, f"{member_id(cast, cast.alice)}/")

    assert_problem(alice.patch(own, {"role": "viewer"}), 409, "last_owner")
    assert_problem(alice.delete(own), 409, "last_owner")
    assert_problem(alice.delete(address(cast.workspace, "members/me/")), 409, "last_owner")


def test_a_reader_leaves_and_changes_no_one():
    cast = rows.make_cast()
    alice = members(cast, f"{member_id(cast, cast.alice)}/")

    assert_problem(client(cast.bob).patch(alice, {"role": "viewer"}), 403, "forbidden")
    assert_problem(client(cast.bob).delete(alice), 403, "forbidden")
    assert_problem(client(cast.bob).post(f"{alice}owner/"), 403, "forbidden")
    assert client(cast.bob).delete(address(cast.workspace, "members/me/")).status_code == 204
    assert roles(cast) == {"Alice": "owner"}


def test_ownership_is_transferred():
    cast = rows.make_cast()

    client(cast.alice).post(members(cast, f"{member_id(cast, cast.bob)}/owner/"))

    assert roles(cast) == {"Alice": "admin", "Bob": "owner"}


def test_an_outsider_finds_neither_members_nor_invitations():
    cast = rows.make_cast()
    bob = member_id(cast, cast.bob)
    outsider = client(cast.charlie)

    assert_nothing_there(outsider.get(members(cast)))
    assert_nothing_there(outsider.patch(members(cast, f"{bob}/"), {"role": "owner"}))
    assert_nothing_there(outsider.delete(address(cast.workspace, "members/me/")))
    assert_nothing_there(outsider.post(invitations(cast), {"role": "viewer"}))
    assert_nothing_there(outsider.get(invitations(cast)))


# --- invitations ----------------------------------------------------------------------------------
def test_a_link_is_made_opened_and_accepted():
    cast = rows.make_cast()
    charlie = client(cast.charlie)
    made = client(cast.alice).post(invitations(cast), {"role": "editor"})

    link = parts(made.json()["link"])
    seen = charlie.post(OPEN, link).json()
    joined = charlie.post(ACCEPT, link).json()

    assert made.status_code == 201
    assert (seen["workspace"], seen["role"], seen["invited_by"]) == ("Harbour", "editor", "Alice")
    assert joined == {"id": str(cast.workspace.pk), "name": "Harbour"}
    assert roles(cast)["Charlie"] == "editor"


def test_an_invitation_by_e_mail_shows_no_link_and_needs_the_address():
    cast = rows.make_cast()
    made = client(cast.alice).post(
        invitations(cast), {"role": "editor", "email": "charlie@example.com"}
    )
    link = parts(str(mail.outbox[0].body))

    assert (made.json()["link"], made.json()["is_sent"]) == ("", True)
    assert_problem(client(cast.charlie).post(ACCEPT, link), 403, "other_address")

    EmailAddress.objects.create(user=cast.charlie, email="charlie@example.com", verified=True)
    assert client(cast.charlie).post(ACCEPT, link).status_code == 200


def test_open_invitations_are_listed_renewed_and_revoked():
    cast = rows.make_cast()
    alice = client(cast.alice)
    first = alice.post(invitations(cast), {"role": "viewer", "is_reusable": True}).json()
    [listed] = alice.get(invitations(cast)).json()["results"]
    own = invitations(cast, f"{listed['id']}/")

    second = alice.post(f"{own}renew/").json()
    revoked = alice.delete(own)

    assert (listed["email"], listed["created_by"], listed["is_reusable"]) == ("", "Alice", True)
    assert "token" not in str(listed)
    assert second["link"] != first["link"]
    assert revoked.status_code == 204
    assert alice.get(invitations(cast)).json()["total"] == 0
    assert_problem(client(cast.charlie).post(ACCEPT, parts(first["link"])), 404, "no_invitation")
    assert_problem(
        client(cast.charlie).post(ACCEPT, parts(second["link"])), 409, "invitation_revoked"
    )


def test_a_declined_invitation_is_over():
    cast = rows.make_cast()
    made = client(cast.alice).post(invitations(cast), {"role": "viewer"}).json()
    link = parts(made["link"])

    declined = client(cast.charlie).post(DECLINE, link)

    assert declined.status_code == 200
    assert_problem(client(cast.charlie).post(ACCEPT, link), 409, "invitation_declined")


def test_a_reader_neither_sees_nor_makes_invitations():
    cast = rows.make_cast()

    assert_problem(client(cast.bob).get(invitations(cast)), 403, "forbidden")
    assert_problem(client(cast.bob).post(invitations(cast), {"role": "viewer"}), 403, "forbidden")


@pytest.mark.parametrize("path", [OPEN, ACCEPT, DECLINE])
def test_answering_needs_a_sign_in_and_a_real_link(path: str):
    cast = rows.make_cast()
    link = {"workspace": str(cast.workspace.pk), "token": "x"}

    assert_problem(client().post(path, link), 401, "not_authenticated")
    assert_problem(client(cast.charlie).post(path, link), 404, "no_invitation")
    assert_problem(client(cast.charlie).post(path, {"token": "x"}), 400, "invalid_input")


# --- profile --------------------------------------------------------------------------------------
def test_a_person_reads_and_changes_their_profile():
    alice = client(rows.make_user("Alice"))

    changed = alice.patch("/api/v1/profile/", {"name": "Al", "time_zone": "Europe/Oslo"}).json()

    assert changed == alice.get("/api/v1/profile/").json()
    assert changed == {
        "email": "alice@example.com",
        "name": "Al",
        "shown_as": "Al",
        "language": "en",
        "time_zone": "Europe/Oslo",
    }


@pytest.mark.parametrize(
    "given", [{"time_zone": "Mars"}, {"language": "tlh"}, {"name": "x://y"}, {"name": "a\x07b"}]
)
def test_a_profile_that_cannot_be_is_refused(given: dict[str, str]):
    alice = rows.make_user("Alice")

    response = client(alice).patch("/api/v1/profile/", given)

    alice.refresh_from_db()
    assert response.status_code == 400
    assert (alice.name, alice.time_zone) == ("Alice", "")


def test_no_one_has_a_profile_without_signing_in():
    assert_problem(client().get("/api/v1/profile/"), 401, "not_authenticated")
