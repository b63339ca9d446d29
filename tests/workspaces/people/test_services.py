from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth import authenticate

from kb_project.errors import ConflictError, InputError
from tests import rows
from workspaces import access
from workspaces.models import Capability, Membership, Role, User, Workspace
from workspaces.people import queries as people_queries, services as people_services

pytestmark = pytest.mark.django_db


# --- workspaces -----------------------------------------------------------------------------------
def test_whoever_makes_a_workspace_owns_it():
    alice = rows.make_user("Alice")

    made = people_services.workspace_create(name="Harbour", owner=alice)

    [workspace] = people_queries.workspaces_of(user=alice)
    assert workspace == made
    assert workspace.membership is not None
    assert workspace.membership.may(Capability.OWN)
    assert made.created_by == alice


@pytest.mark.parametrize(
    ("name", "slug", "expected"),
    [
        ("Tide tables", "", "tide-tables"),
        ("Tide tables", "Tides & Moon", "tides-moon"),
        ("海图", "", "workspace"),
        ("x" * 120, "", "x" * 60),
    ],
)
def test_an_address_is_made_of_what_is_given(name: str, slug: str, expected: str):
    assert people_services.workspace_create(name=name, owner=None, slug=slug).slug == expected


def test_spaces_in_a_name_are_tidied():
    assert (
        people_services.workspace_create(name="  Tide \n tables ", owner=None).name == "Tide tables"
    )


@pytest.mark.parametrize("name", ["", "   ", "x" * 121])
def test_a_name_that_cannot_be_is_refused(name: str):
    with pytest.raises(InputError, match="1 to 120"):
        people_services.workspace_create(name=name, owner=None)


def test_a_taken_address_gets_the_next_number_that_is_free():
    made = [people_services.workspace_create(name="Harbour", owner=None) for _ in range(3)]

    assert [workspace.slug for workspace in made] == ["harbour", "harbour-2", "harbour-3"]


def test_a_number_makes_a_long_address_no_longer():
    people_services.workspace_create(name="x" * 60, owner=None)

    assert people_services.workspace_create(name="x" * 60, owner=None).slug == "x" * 58 + "-2"


def test_an_exact_address_is_given_once():
    people_services.workspace_create(name="Harbour", owner=None)

    with pytest.raises(ConflictError) as refused:
        people_services.workspace_create(name="Another", slug="harbour", owner=None)

    assert refused.value.code == "slug_taken"
    assert Workspace.objects.count() == 1


def test_a_workspace_may_begin_without_members():
    workspace = people_services.workspace_create(name="Harbour", owner=None)

    assert people_queries.members_of(workspace=workspace) == []


# --- members --------------------------------------------------------------------------------------
def members(workspace: Workspace) -> dict[str, str]:
    with access.in_workspace(workspace.pk):
        return {row.user.name: row.role for row in people_queries.members_of(workspace=workspace)}


def test_a_new_member_gets_the_capabilities_of_the_role():
    cast = rows.make_cast()

    membership = people_services.member_add(
        workspace=cast.workspace, user=cast.charlie, role=Role.CURATOR
    )

    assert membership.capabilities == ["read", "edit", "curate"]
    assert members(cast.workspace) == {"Alice": "owner", "Bob": "viewer", "Charlie": "curator"}


def test_a_member_who_is_added_again_has_the_new_role_only():
    cast = rows.make_cast()

    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.ADMIN)
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.EDITOR)

    assert members(cast.workspace) == {"Alice": "owner", "Bob": "editor"}


@pytest.mark.parametrize(
    ("role", "most"),
    [
        (Role.VIEWER, Capability.READ),
        (Role.EDITOR, Capability.EDIT),
        (Role.CURATOR, Capability.CURATE),
        (Role.ADMIN, Capability.ADMINISTER),
        (Role.OWNER, Capability.OWN),
    ],
)
def test_each_role_adds_one_capability_to_the_role_before_it(role: Role, most: Capability):
    membership = Membership(role=role, capabilities=role.capabilities)

    may = [capability for capability in Capability if membership.may(capability)]
    assert may == list(Capability)[: list(Capability).index(most) + 1]


# --- people ---------------------------------------------------------------------------------------
def test_a_person_added_can_sign_in_at_once():
    person = people_services.person_add(email="Ada@Example.com", password=rows.PASSWORD, name="Ada")

    assert authenticate(None, username="ada@example.com", password=rows.PASSWORD) == person
    assert EmailAddress.objects.get(user=person).verified


def test_an_address_belongs_to_one_person():
    rows.make_user("Alice")

    with pytest.raises(ConflictError) as refused:
        people_services.person_add(email="ALICE@example.com", password=rows.PASSWORD)

    assert refused.value.code == "email_taken"
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "full", "short"), [("Ada Lind", "Ada Lind", "Ada"), ("", "ada", "ada")]
)
def test_a_person_without_a_name_goes_by_part_of_the_address(name: str, full: str, short: str):
    person = User(email="ada@example.com", name=name)

    assert (str(person), person.get_full_name(), person.get_short_name()) == (full, full, short)


def test_an_administrator_of_the_server_is_made_by_the_usual_command():
    with rows.as_owner():
        person = User.objects.create_superuser("Root@Example.com", "x")

    assert (person.email, person.is_staff, person.is_superuser) == ("root@example.com", True, True)
