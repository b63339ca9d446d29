from __future__ import annotations

import pytest

from tests import rows
from tests.api import assert_nothing_there, assert_problem, client
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


def test_each_person_lists_the_workspaces_they_are_a_member_of():
    cast = rows.make_cast()
    rows.make_workspace("Elsewhere", owner=cast.charlie)

    seen_by = {
        user.name: [row["name"] for row in client(user).get(LIST).json()["results"]]
        for user in (cast.alice, cast.bob, cast.charlie)
    }

    assert seen_by == {"Alice": ["Harbour"], "Bob": ["Harbour"], "Charlie": ["Elsewhere"]}


def test_a_workspace_says_what_the_person_may_do_in_it():
    cast = rows.make_cast()

    [row] = client(cast.bob).get(LIST).json()["results"]

    assert (row["role"], row["capabilities"]) == ("viewer", ["read"])
    assert row["id"] == str(cast.workspace.pk)
    assert row["slug"] == "harbour"


def test_nobody_lists_anything_without_signing_in():
    body = assert_problem(client().get(LIST), 401, "not_authenticated")

    assert "Authorization: Bearer" in body["next_step"]


def test_whoever_makes_a_workspace_owns_it():
    charlie = rows.make_user("Charlie")

    response = client(charlie).post(LIST, {"name": "Tide tables", "slug": "tides"})

    assert response.status_code == 201
    made = response.json()
    assert (made["name"], made["slug"], made["role"]) == ("Tide tables", "tides", "owner")
    assert Workspace.objects.get(slug="tides").created_by == charlie


def test_a_taken_address_is_refused_unless_the_name_makes_it():
    cast = rows.make_cast()

    named = client(cast.charlie).post(LIST, {"name": "Other", "slug": "harbour"})
    made = client(cast.charlie).post(LIST, {"name": "Harbour"})

    assert_problem(named, 409, "slug_taken")
    assert (made.status_code, made.json()["slug"]) == (201, "harbour-2")


def test_each_unusable_field_is_named():
    response = client(rows.make_user("Charlie")).post(LIST, {"slug": "not an address"})

    body = assert_problem(response, 400, "invalid_input")
    assert set(body["fields"]) == {"name", "slug"}


def test_nobody_makes_a_workspace_without_signing_in():
    assert_problem(client().post(LIST, {"name": "Tide tables"}), 401, "not_authenticated")

    assert not Workspace.objects.exists()


def test_a_member_looks_at_one_workspace_by_id_or_by_slug():
    cast = rows.make_cast()

    by_id = client(cast.alice).get(f"{LIST}{cast.workspace.pk}/")
    by_slug = client(cast.bob).get(f"{LIST}harbour/")

    assert by_id.json()["id"] == by_slug.json()["id"] == str(cast.workspace.pk)
    assert (by_id.json()["role"], by_slug.json()["role"]) == ("owner", "viewer")


@pytest.mark.parametrize("name", ["harbour", "no-such-place"])
def test_a_stranger_cannot_tell_a_workspace_from_none(name: str):
    cast = rows.make_cast()

    assert_nothing_there(client(cast.charlie).get(f"{LIST}{name}/"))


def test_nobody_looks_at_a_workspace_without_signing_in():
    cast = rows.make_cast()

    assert_problem(client().get(f"{LIST}{cast.workspace.pk}/"), 401, "not_authenticated")
