"""Watching topics in an edition: hidden documents change nothing, and access may change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import transaction

from ingestion.knowledge import watches
from ingestion.models import Community, TopicWatch
from ingestion.topics import digests, services
from tests.ingestion import state
from tests.ingestion.editions.conftest import Team
from tests.ingestion.pages import client_of
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def topic_in(place: Workspace, name: str) -> UUID:
    with access.in_workspace(place.pk):
        rows = Community.objects.in_workspace(place).filter(level=0)
        return rows.get(members__entity__name=name, members__workspace=place).pk


@transaction.atomic
def watch(team: Team, topic: UUID) -> None:
    place = access.workspace_for_reading(user=team.bob, workspace_id=team.workspace.slug)
    services.topic_watch(workspace=place, community_id=topic)


@transaction.atomic
def watched(team: Team) -> watches.WatchedTopic:
    place = access.workspace_for_reading(user=team.bob, workspace_id=team.workspace.slug)
    [found] = watches.watched(place)
    return found


def page(team: Team, topic: UUID) -> str:
    path = f"/w/{team.workspace.slug}/topics/{topic}/"
    return client_of(team.bob).get(path, follow=True).content.decode()


def add(team: Team, title: str, text: str, *, hidden: bool) -> None:
    team.documents |= state.read(team.workspace, {title: text})
    if hidden:
        team.put(team.court, title)
    team.sync()


def test_hidden_documents_change_no_watched_topic_and_are_in_no_mail(team: Team, settings: Any):
    settings.PUBLIC_ADDRESS = "https://kb.example.com"
    EmailAddress.objects.create(user=team.bob, email=team.bob.email, verified=True, primary=True)
    team.restrict(team.court)
    team.sync()
    watch(team, topic_in(team.read_by(team.bob), "Ada Lind"))

    add(team, "Appeal", "Dora Quist met Ada Lind in Skarrow. Ada Lind fears her.", hidden=True)

    assert watched(team).changes.count == 0
    assert digests.send_all() == 0
    add(team, "Visit", "Mrs Flett met Ada Lind in Skarrow. Mrs Flett left.", hidden=False)
    assert watched(team).changes.count > 0
    assert digests.send_all() == 1
    topic = watched(team).topic
    assert topic is not None
    for seen in (str(mail.outbox[0].body), page(team, topic)):
        assert "Mrs Flett" in seen
        assert "Dora Quist" not in seen
        assert "Appeal" not in seen


def test_a_watch_follows_a_member_whose_access_changes(team: Team):
    topic = topic_in(team.workspace, "Ada Lind")
    watch(team, topic)
    team.restrict(team.court)
    team.sync()

    found = watched(team)

    edition = team.read_by(team.bob)
    assert (found.topic, found.is_elsewhere) == (topic_in(edition, "Ada Lind"), True)
    assert found.changes.count == 0
    seen = page(team, topic)
    assert "Your access to collections has changed" in seen
    assert "Dora Quist" not in seen
    with access.in_workspace(team.workspace.pk):
        [row] = TopicWatch.objects.in_workspace(team.workspace)
    assert (row.place, row.topic) == (edition.pk, found.topic)
    assert not watched(team).is_elsewhere

    team.grant(team.bob, team.court)

    found = watched(team)
    assert (found.topic, found.changes.count) == (topic, 0)
