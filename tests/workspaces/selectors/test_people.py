from __future__ import annotations

import pytest

from kb_project.errors import NotFoundError
from tests import rows
from workspaces import access, selectors, services
from workspaces.models import Role

pytestmark = pytest.mark.django_db


def test_a_person_has_the_workspaces_they_are_a_member_of_by_name():
    cast = rows.make_cast("Zoo")
    rows.make_workspace("Attic", owner=cast.bob)
    rows.make_workspace("Elsewhere", owner=cast.charlie)

    found = selectors.workspaces_of(user=cast.bob)

    assert [workspace.name for workspace in found] == ["Attic", "Zoo"]
    assert [workspace.membership.role for workspace in found if workspace.membership] == [
        Role.OWNER,
        Role.VIEWER,
    ]


def test_a_person_without_workspaces_has_none():
    assert selectors.workspaces_of(user=rows.make_user("Charlie")) == []


def test_looking_at_ones_workspaces_opens_none_of_them():
    cast = rows.make_cast()

    selectors.workspaces_of(user=cast.alice)

    assert selectors.members_of(workspace=cast.workspace) == []


def test_members_are_listed_by_name():
    cast = rows.make_cast()
    services.member_add(workspace=cast.workspace, user=rows.make_user("Aaron"), role=Role.EDITOR)

    with access.in_workspace(cast.workspace.pk):
        found = selectors.members_of(workspace=cast.workspace)

    assert [row.user.name for row in found] == ["Aaron", "Alice", "Bob"]


def test_a_command_finds_any_workspace_by_its_address():
    workspace = rows.make_workspace("Harbour")

    assert selectors.workspace_at(slug="harbour") == workspace


def test_an_address_that_leads_nowhere_is_named_with_what_to_do():
    with pytest.raises(NotFoundError) as missing:
        selectors.workspace_at(slug="nowhere")

    assert "'nowhere'" in missing.value.happened
    assert "createworkspace" in missing.value.next_step


@pytest.mark.parametrize("email", ["alice@example.com", " Alice@Example.com "])
def test_a_person_is_found_by_address(email: str):
    alice = rows.make_user("Alice")

    assert selectors.person(email=email) == alice


def test_an_unknown_address_is_named():
    with pytest.raises(NotFoundError, match=r"nobody@example\.com"):
        selectors.person(email="nobody@example.com")


def test_the_only_account_is_the_one_that_counts():
    assert selectors.only_person() is None

    alice = rows.make_user("Alice")
    closed = rows.make_user("Zoe")
    closed.is_active = False
    closed.save()
    only = selectors.only_person()
    rows.make_user("Bob")

    assert (only, selectors.only_person()) == (alice, None)
