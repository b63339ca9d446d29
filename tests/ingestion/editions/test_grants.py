"""Restricting a collection and granting access to it, on the page and over the API."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from ingestion.editions import grants
from ingestion.models import Collection, CollectionGrant
from kb_project.errors import ConflictError, InputError, NotFoundError
from tests import rows
from tests.ingestion.editions.conftest import Team
from tests.patience import PATIENCE
from workspaces import access
from workspaces.models import AuditEvent, Group
from workspaces.people import members

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Team:
    """Without documents: who may see a collection does not depend on what is in it."""
    cast = rows.make_cast()
    court = rows.make_collection(cast.workspace, "Court")
    return Team(cast.workspace, cast.alice, cast.bob, court, {})


@pytest.fixture
def api(client: Client, team: Team) -> Any:
    client.force_login(team.alice)

    def call(method: str, name: str, *ids: object, **body: object) -> Any:
        address = reverse(f"ingestion_api:{name}", args=[team.workspace.slug, team.court.pk, *ids])
        return getattr(client, method)(address, body, content_type="application/json")

    return call


def on_court(team: Team) -> dict[str, Any]:
    return {"workspace": team.workspace, "user": team.alice, "collection_id": team.court.pk}


def page(team: Team) -> str:
    return reverse("ingestion:collection_access", args=[team.workspace.slug, team.court.pk])


def actions(team: Team) -> list[str]:
    with access.in_workspace(team.workspace.pk):
        events = AuditEvent.objects.in_workspace(team.workspace).order_by("created_at")
        return list(events.values_list("action", flat=True))


def test_an_owner_restricts_a_collection_grants_access_and_takes_it_back(api, team: Team):
    assert api("patch", "collection_access", is_restricted=True).json() == {
        "is_restricted": True,
        "grants": [],
    }
    bob = team.membership(team.bob)
    given = api("post", "grant_list", member=str(bob.pk), may_edit=True)
    assert given.status_code == 201
    shown = api("get", "collection_access").json()["grants"]
    assert [(one["name"], one["kind"], one["may_edit"]) for one in shown] == [
        ("Bob", "member", True)
    ]
    assert api("delete", "grant", given.json()["id"]).status_code == 204
    assert api("delete", "grant", given.json()["id"]).status_code == 404
    assert actions(team)[-3:] == ["collection_restricted", "grant_given", "grant_taken"]


def test_granting_twice_changes_what_was_granted(team: Team):
    bob = team.membership(team.bob)
    given: dict[str, Any] = {
        "workspace": team.workspace,
        "user": team.alice,
        "collection_id": team.court.pk,
    }

    grants.grant_give(**given, membership_id=bob.pk)
    grants.grant_give(**given, membership_id=bob.pk, may_edit=True)

    with access.in_workspace(team.workspace.pk):
        [row] = CollectionGrant.objects.in_workspace(team.workspace)
    assert row.may_edit


def test_a_grant_to_nobody_is_refused(team: Team):
    given: dict[str, Any] = {
        "workspace": team.workspace,
        "user": team.alice,
        "collection_id": team.court.pk,
    }
    with pytest.raises(InputError, match="one group or one member"):
        grants.grant_give(**given)
    stranger = rows.make_cast("Elsewhere")
    with access.in_workspace(stranger.workspace.pk):
        other = Group.objects.create(workspace=stranger.workspace, name="Crew")
    with pytest.raises(NotFoundError):
        grants.grant_give(**given, group_id=other.pk)


def test_two_restricted_collections_of_one_name_are_refused(team: Team):
    with access.in_workspace(team.workspace.pk):
        other = Collection.objects.create(
            workspace=team.workspace, name="Court", is_restricted=True
        )
    with pytest.raises(ConflictError, match="called 'Court' too"):
        grants.collection_restrict(
            workspace=team.workspace,
            user=team.alice,
            collection_id=team.court.pk,
            is_restricted=True,
        )
    assert other.is_restricted


@pytest.mark.parametrize("who", ["bob", "charlie", None])
def test_only_admins_see_and_change_who_has_access(team: Team, client: Client, who: str | None):
    if who:
        client.force_login(rows.make_user(who.title()))
    expected = {"bob": 403, "charlie": 404, None: 302}[who]

    assert client.get(page(team)).status_code == expected
    assert client.post(page(team), {"restrict": "on"}).status_code == expected

    with access.in_workspace(team.workspace.pk):
        assert not Collection.objects.in_workspace(team.workspace).get().is_restricted


def test_the_page_says_who_has_access_and_changes_it(team: Team, client: Client):
    client.force_login(team.alice)
    group = members.group_create(workspace=team.workspace, user=team.alice, name="Lawyers")

    client.post(page(team), {"restrict": "on"})
    client.post(page(team), {"to": f"group:{group.pk}", "may_edit": "on"})
    shown = client.get(page(team)).content.decode()
    assert "Only the people below" in shown
    assert "can view and change documents" in shown

    with access.in_workspace(team.workspace.pk):
        [grant] = CollectionGrant.objects.in_workspace(team.workspace)
    client.post(page(team), {"take": str(grant.pk)})
    assert "Only admins and owners so far" in client.get(page(team)).content.decode()
    refused = client.post(page(team), {"to": "group:nobody"})
    assert "Choose one from the list" in refused.content.decode()


def test_two_people_who_edit_the_same_grants_learn_on_the_page_what_the_other_did(
    team: Team, client: Client
):
    team.restrict(team.court)
    team.grant(team.bob, team.court)
    client.force_login(team.alice)
    shown = client.get(page(team))
    [grant] = shown.context["grants"]
    member = team.membership(team.bob)
    client.post(page(team), {"take": str(grant.id)})
    members.member_remove(workspace=team.workspace, user=team.alice, member_id=member.pk)

    taken = client.post(page(team), {"take": str(grant.id)})
    given = client.post(page(team), {"to": f"member:{member.pk}"})

    assert "This access was removed already." in taken.content.decode()
    assert "There is no such member" in given.content.decode()
    for answer in (taken, given):
        assert "Only admins and owners so far." in answer.content.decode()


def test_two_people_who_edit_the_same_grants_at_once_leave_what_one_of_them_wanted(team: Team):
    bob = team.membership(team.bob)
    meet = threading.Barrier(4)
    problems: list[Exception] = []

    def give(may_edit: bool) -> None:
        try:
            meet.wait(PATIENCE)
            grants.grant_give(**on_court(team), membership_id=bob.pk, may_edit=may_edit)
        except Exception as error:  # noqa: BLE001  whatever a person would see
            problems.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=give, args=(n % 2 == 0,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert problems == []
    with access.in_workspace(team.workspace.pk):
        [row] = CollectionGrant.objects.in_workspace(team.workspace)
        events = AuditEvent.objects.in_workspace(team.workspace).order_by("created_at")
        told = list(events.filter(action="grant_given").values_list("after", flat=True))
    assert len(told) == 4
    assert told[-1]["may_edit"] == row.may_edit


def test_a_grant_taken_back_twice_at_once_is_taken_once(team: Team):
    team.grant(team.bob, team.court)
    with access.in_workspace(team.workspace.pk):
        [row] = CollectionGrant.objects.in_workspace(team.workspace)
    meet = threading.Barrier(2)
    outcomes: list[str] = []

    def take() -> None:
        try:
            meet.wait(PATIENCE)
            grants.grant_take(**on_court(team), grant_id=row.pk)
            outcomes.append("taken")
        except NotFoundError:
            outcomes.append("gone")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert sorted(outcomes) == ["gone", "taken"]
    assert actions(team).count("grant_taken") == 1


def test_a_grant_to_a_member_who_has_left_is_refused(team: Team):
    bob = team.membership(team.bob)
    with access.in_workspace(team.workspace.pk):
        team.membership(team.bob).delete()

    with pytest.raises(NotFoundError):
        grants.grant_give(**on_court(team), membership_id=bob.pk)
    assert "grant_given" not in actions(team)
