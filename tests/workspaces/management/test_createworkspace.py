from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests import rows
from workspaces.models import Role, Workspace
from workspaces.people import queries as people_queries

pytestmark = pytest.mark.django_db


def call(*arguments: str) -> str:
    out = StringIO()
    call_command("createworkspace", *arguments, stdout=out)
    return out.getvalue()


def test_a_workspace_is_made_at_the_address_asked_for():
    said = call("My papers", "--slug", "papers")

    assert Workspace.objects.get(slug="papers").name == "My papers"
    assert said.startswith("The workspace 'My papers' is at /w/papers/.")


def test_without_an_address_the_name_makes_one():
    call("Tide tables of Skarrow")

    assert Workspace.objects.get().slug == "tide-tables-of-skarrow"


def test_the_owner_named_is_its_owner():
    rows.make_cast()

    call("My papers", "--slug", "papers", "--owner", "Bob@example.com")

    [membership] = [
        row.membership
        for row in people_queries.workspaces_of(user=rows.make_user("Bob"))
        if row.slug == "papers"
    ]
    assert membership.role == Role.OWNER


def test_the_only_account_owns_what_commands_make():
    alice = rows.make_user("Alice")

    said = call("My papers")

    assert [row.name for row in people_queries.workspaces_of(user=alice)] == ["My papers"]
    assert "It belongs to alice@example.com." in said


def test_with_several_accounts_and_none_named_it_has_no_members():
    rows.make_user("Alice")
    rows.make_user("Bob")

    assert "It has no members" in call("My papers")


def test_programs_read_one_object():
    rows.make_user("Alice")

    answer = json.loads(call("Papiere", "--slug", "papiere", "--json"))

    assert answer == {
        "workspace": str(Workspace.objects.get().pk),
        "slug": "papiere",
        "name": "Papiere",
        "owner": "alice@example.com",
    }


def test_a_taken_address_is_said_in_one_sentence():
    call("My papers", "--slug", "papers")

    with pytest.raises(CommandError, match="The address 'papers' is taken"):
        call("Others", "--slug", "papers")


def test_an_owner_who_does_not_exist_is_named():
    with pytest.raises(CommandError, match=r"There is no account for nobody@example\.com"):
        call("My papers", "--owner", "nobody@example.com")

    assert not Workspace.objects.exists()
