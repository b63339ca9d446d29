from __future__ import annotations

import pytest

from kb_project.errors import NotFoundError
from tests import rows
from workspaces import access
from workspaces.models import Role
from workspaces.people import queries as people_queries, services as people_services

pytestmark = pytest.mark.django_db


def test_a_person_has_the_workspaces_they_are_a_member_of_by_name():
    cast = rows.make_cast("Zoo")
    rows.make_workspace("Attic", owner=cast.bob)
    rows.make_workspace("Elsewhere", owner=cast.charlie)

    found = people_queries.workspaces_of(user=cast.bob)

    assert [workspace.name for workspace in found] == ["Attic", "Zoo"]
    assert [workspace.membership.role for workspace in found if workspace.membership] == [
        Role.OWNER,
        Role.VIEWER,
    ]


def test_a_person_without_workspaces_has_none():
    assert people_queries.workspaces_of(user=rows.make_user("Charlie")) == []


def test_looking_at_ones_workspaces_opens_none_of_them():
    cast = rows.make_cast()

    people_queries.workspaces_of(user=cast.alice)

    assert people_queries.members_of(workspace=cast.workspace) == []


def test_members_are_listed_by_name():
    cast = rows.make_cast()
    people_services.member_add(
        workspace=cast.workspace, user=rows.make_user("Aaron"), role=Role.EDITOR
    )

    with access.in_workspace(cast.workspace.pk):
        found = people_queries.members_of(workspace=cast.workspace)

    assert [row.user.name for row in found] == ["Aaron", "Alice", "Bob"]


def test_a_command_finds_any_workspace_by_its_address():
    workspace = rows.make_workspace("Harbour")

    assert people_queries.workspace_at(slug="harbour") == workspace


def test_an_address_that_leads_nowhere_is_named_with_what_to_do():
    with pytest.raises(NotFoundError) as missing:
        people_queries.workspace_at(slug="nowhere")

    assert "'nowhere'" in missing.value.happened
    assert "createworkspace" in missing.value.next_step


@pytest.mark.parametrize("email", ["alice@example.com", " Alice@Example.com "])
def test_a_person_is_found_by_address(email: str):
    alice = rows.make_user("Alice")

    assert people_queries.person(email=email) == alice


def test_an_unknown_address_is_named():
    with pytest.raises(NotFoundError, match=r"nobody@example\.com"):
        people_queries.person(email="nobody@example.com")


def test_the_only_account_is_the_one_that_counts():
    assert people_queries.only_person() is None

    alice = rows.make_user("Alice")
    closed = rows.make_user("Zoe")
    closed.is_active = False
    closed.save()
    only = people_queries.only_person()
    rows.make_user("Bob")

    assert (only, people_queries.only_person()) == (alice, None)
