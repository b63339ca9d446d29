"""Groups of members, on pages and over the API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from kb_project.errors import ConflictError, InputError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.models import AuditEvent, Membership
from workspaces.people import members

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def membership(cast: rows.Cast, name: str) -> Membership:
    with access.in_workspace(cast.workspace.pk):
        return Membership.objects.in_workspace(cast.workspace).get(user__name=name)


def names(cast: rows.Cast) -> dict[str, list[str]]:
    return {
        view.group.name: [str(one.user) for one in view.members]
        for view in members.groups_of(workspace=cast.workspace)
    }


def test_a_group_is_created_changed_and_deleted(cast: rows.Cast):
    given: dict[str, Any] = {"workspace": cast.workspace, "user": cast.alice}
    group = members.group_create(**given, name="  The  crew ")
    bob = membership(cast, "Bob")

    members.group_change(**given, group_id=group.pk, members=[bob.pk])
    assert names(cast) == {"The crew": ["Bob"]}
    members.group_change(**given, group_id=group.pk, name="Crew", members=[])
    assert names(cast) == {"Crew": []}
    members.group_delete(**given, group_id=group.pk)
    assert names(cast) == {}

    with access.in_workspace(cast.workspace.pk):
        events = AuditEvent.objects.in_workspace(cast.workspace).filter(object_kind="group")
        assert sorted(events.values_list("action", flat=True)) == [
            "group_changed",
            "group_changed",
            "group_created",
            "group_deleted",
        ]


def test_names_and_members_are_checked(cast: rows.Cast):
    given: dict[str, Any] = {"workspace": cast.workspace, "user": cast.alice}
    group = members.group_create(**given, name="Crew")

    with pytest.raises(ConflictError, match="already"):
        members.group_create(**given, name="crew")
    with pytest.raises(InputError, match="name"):
        members.group_create(**given, name=" ")
    with pytest.raises(InputError, match="no longer a member"):
        members.group_change(**given, group_id=group.pk, members=[uuid4()])
    with pytest.raises(NotFoundError):
        members.group_delete(**given, group_id=uuid4())
    assert names(cast) == {"Crew": []}


def test_who_leaves_the_workspace_leaves_its_groups(cast: rows.Cast):
    given: dict[str, Any] = {"workspace": cast.workspace, "user": cast.alice}
    group = members.group_create(**given, name="Crew")
    bob = membership(cast, "Bob")
    members.group_change(**given, group_id=group.pk, members=[bob.pk])

    with access.in_workspace(cast.workspace.pk):
        Membership.objects.in_workspace(cast.workspace).filter(pk=bob.pk).delete()

    assert names(cast) == {"Crew": []}


def test_an_owner_manages_groups_on_pages(cast: rows.Cast, client: Client):
    client.force_login(cast.alice)
    slug = cast.workspace.slug

    made = client.post(reverse("workspaces:group_list", args=[slug]), {"name": "Crew"})
    assert made.status_code == 302
    bob = membership(cast, "Bob")
    client.post(made["Location"], {"name": "Crew", "members": [str(bob.pk)]})
    assert "Bob" in client.get(reverse("workspaces:group_list", args=[slug])).content.decode()
    again = client.post(reverse("workspaces:group_list", args=[slug]), {"name": "crew"})
    assert "already" in again.content.decode()
    client.post(f"{made['Location']}delete/")
    assert names(cast) == {}


def test_an_owner_manages_groups_over_the_api(cast: rows.Cast, client: Client):
    client.force_login(cast.alice)
    address = reverse("workspaces_api:groups", args=[cast.workspace.slug])

    made = client.post(address, {"name": "Crew"}, content_type="application/json").json()
    bob = membership(cast, "Bob")
    one = f"{address}{made['id']}/"
    changed = client.patch(one, {"members": [str(bob.pk)]}, content_type="application/json")
    assert changed.json()["members"] == [{"id": str(bob.pk), "name": "Bob"}]
    assert client.get(one).json() == changed.json()
    assert client.get(address).json() == [changed.json()]
    assert client.delete(one).status_code == 204


@pytest.mark.parametrize(("who", "status"), [("Bob", 403), ("Charlie", 404)])
def test_nobody_else_sees_or_changes_groups(cast: rows.Cast, client: Client, who: str, status: int):
    client.force_login(rows.make_user(who))

    for name in ("workspaces:group_list", "workspaces_api:groups"):
        address = reverse(name, args=[cast.workspace.slug])
        assert client.get(address).status_code == status
        assert client.post(address, {"name": "Crew"}).status_code == status
    assert names(cast) == {}
