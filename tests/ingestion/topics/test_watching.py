"""Watching a topic: what documents change in it, visit by visit, and where it goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestion.documents import lifecycle, versions
from ingestion.history.recording import ChangeContext
from ingestion.knowledge import watches
from ingestion.knowledge.watches import ChangeList
from ingestion.models import (
    Community,
    CommunityMember,
    Document,
    TopicWatch,
)
from ingestion.topics import services
from kb_project.errors import ConflictError, NotFoundError
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion import state
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.pages import address as page_address, client_of, page_of
from workspaces import access
from workspaces.models import User, Workspace
from workspaces.people import members

pytestmark = pytest.mark.django_db

DIARY = "Dora Quist met Ada Lind in Skarrow. Dora Quist keeps a diary in Skarrow."
LATER = timedelta(days=1)


def make_read() -> rows.Cast:
    cast = rows.make_cast()
    state.read(cast.workspace)
    return cast


read_once = once_a_module(make_read)


@pytest.fixture
def cast(read_once: Once[rows.Cast], media: Path, fake_embedder: None) -> rows.Cast:
    return read_once.for_a_test(media)


def topic_of(workspace: Workspace, name: str):
    """The root topic that has the entity."""
    with access.in_workspace(workspace.pk):
        return Community.objects.in_workspace(workspace).get(
            level=0, members__entity__name=name, members__workspace=workspace
        )


def passed(workspace: Workspace, user: User) -> Workspace:
    return access.workspace_for_reading(user=user, workspace_id=workspace.slug)


@transaction.atomic
def watch(workspace: Workspace, user: User, topic, **wanted) -> None:
    services.topic_watch(workspace=passed(workspace, user), community_id=topic.pk, **wanted)


@transaction.atomic
def visit(workspace: Workspace, user: User, topic, now: datetime | None = None) -> ChangeList:
    opened = passed(workspace, user)
    watched = services.watch_get(workspace=opened, community_id=topic.pk)
    return services.topic_visit(workspace=opened, watched=watched, now=now)


@transaction.atomic
def counts(workspace: Workspace, user: User) -> list[int]:
    return [one.changes.count for one in watches.watched(passed(workspace, user))]


def document(workspace: Workspace, title: str) -> Document:
    with access.in_workspace(workspace.pk):
        return Document.objects.in_workspace(workspace).get(title=title)


def test_an_added_document_is_seen_with_its_facts_and_entities_then_no_more(cast: rows.Cast):
    topic = topic_of(cast.workspace, "Ada Lind")
    watch(cast.workspace, cast.bob, topic)
    assert counts(cast.workspace, cast.bob) == [0]

    state.read(cast.workspace, {"Diary": DIARY})

    [number] = counts(cast.workspace, cast.bob)
    tomorrow = timezone.now() + LATER
    changed = visit(cast.workspace, cast.bob, topic, tomorrow)
    assert number == changed.changes.count > 0
    assert [one.name for one in changed.joined] == ["Dora Quist"]
    assert [(new.version.document.title, new.is_revision) for new in changed.documents] == [
        ("Diary", False)
    ]
    assert {one.span.document.title for one in changed.facts if one.span} == {"Diary"}
    assert changed.changes.is_retitled
    # The same visit lists the same; the next one has nothing new.
    again = visit(cast.workspace, cast.bob, topic, tomorrow + timedelta(minutes=1))
    assert again.changes == changed.changes
    assert counts(cast.workspace, cast.bob) == [0]
    later = visit(cast.workspace, cast.bob, topic, tomorrow + LATER)
    assert later.changes.count == 0
    assert later.since == tomorrow + timedelta(minutes=1)


def test_a_replaced_document_is_a_new_version_and_a_trashed_one_takes_its_entities(
    cast: rows.Cast,
):
    state.read(cast.workspace, {"Diary": DIARY})
    topic = topic_of(cast.workspace, "Ada Lind")
    watch(cast.workspace, cast.bob, topic)
    change, diary = ChangeContext(cast.workspace, cast.alice), document(cast.workspace, "Diary")
    with access.in_workspace(cast.workspace.pk):
        text = f"{DIARY} Ada Lind wrote to Dora Quist about Skarrow.".encode()
        versions.document_replace(
            change=change, document=diary, file=BytesIO(text), name="Diary.txt"
        )
    state.settled(cast.workspace)

    changed = visit(cast.workspace, cast.bob, topic, timezone.now() + LATER)
    assert [(new.version.number, new.is_revision) for new in changed.documents] == [(2, True)]
    assert not changed.changes.joined

    lifecycle.documents_trash(change=change, documents=[document(cast.workspace, "Diary")])
    state.settled(cast.workspace)

    changed = visit(cast.workspace, cast.bob, topic, timezone.now() + 2 * LATER)
    assert (len(changed.changes.left), changed.gone, changed.left) == (1, 1, ())
    assert not changed.documents


def test_members_watch_for_themselves_and_a_removed_member_watches_nothing(cast: rows.Cast):
    topic = topic_of(cast.workspace, "Ada Lind")
    watch(cast.workspace, cast.bob, topic)

    assert counts(cast.workspace, cast.alice) == []
    with pytest.raises(NotFoundError):
        visit(cast.workspace, cast.alice, topic)
    with transaction.atomic():
        opened = access.workspace_for_administering(
            user=cast.alice, workspace_id=cast.workspace.slug
        )
        bob = members.Membership.objects.in_workspace(opened).get(user=cast.bob)
        members.member_remove(workspace=opened, user=cast.alice, member_id=bob.pk)

    with access.in_workspace(cast.workspace.pk):
        assert not TopicWatch.objects.in_workspace(cast.workspace).exists()


def test_a_topic_that_is_gone_is_followed_to_where_its_entities_are(cast: rows.Cast):
    gone, kept = topic_of(cast.workspace, "Ada Lind"), topic_of(cast.workspace, "Bo Strand")
    watch(cast.workspace, cast.bob, gone)
    with access.in_workspace(cast.workspace.pk):
        members_of = CommunityMember.objects.in_workspace(cast.workspace)
        CommunityMember.objects.bulk_create(
            CommunityMember(workspace=cast.workspace, community=kept, entity_id=one)
            for one in members_of.filter(community=gone).values_list("entity_id", flat=True)
        )
        Community.objects.in_workspace(cast.workspace).filter(pk=gone.pk).delete()

    response = client_of(cast.bob).get(page_address("community_detail", cast, gone.pk))

    there = page_address("community_detail", cast, kept.pk)
    assert (response.status_code, response.headers["Location"]) == (302, there)
    assert (
        "has most entities of a topic that is gone"
        in client_of(cast.bob).get(f"/w/{cast.workspace.slug}/").content.decode()
    )
    page = page_of(cast.bob, "community_detail", cast, kept.pk)
    assert "The topic you watched is gone." in page
    with access.in_workspace(cast.workspace.pk):
        [row] = TopicWatch.objects.in_workspace(cast.workspace)
    assert row.topic == kept.pk


def test_a_topic_without_any_of_its_entities_can_be_let_go(cast: rows.Cast):
    topic = topic_of(cast.workspace, "Ada Lind")
    watch(cast.workspace, cast.bob, topic)
    with access.in_workspace(cast.workspace.pk):
        Community.objects.in_workspace(cast.workspace).all().delete()

    home = client_of(cast.bob).get(f"/w/{cast.workspace.slug}/").content.decode()

    assert "A topic you watched is gone, and so are its entities." in home
    path = page_address("topic_watch", cast, topic.pk)
    response = client_of(cast.bob).post(path, {"watch": "off"})
    assert response.headers["Location"] == page_address("community_list", cast)
    assert counts(cast.workspace, cast.bob) == []


def test_a_member_watches_a_limited_number_of_topics(cast: rows.Cast, monkeypatch):
    monkeypatch.setattr(services, "MOST_WATCHED", 1)
    watch(cast.workspace, cast.bob, topic_of(cast.workspace, "Ada Lind"))
    watch(cast.workspace, cast.bob, topic_of(cast.workspace, "Ada Lind"))

    with pytest.raises(ConflictError, match="the most possible"):
        watch(cast.workspace, cast.bob, topic_of(cast.workspace, "Bo Strand"))


def test_watched_topics_cost_the_same_however_many_there_are(cast: rows.Cast):
    def cost() -> int:
        with transaction.atomic():
            opened = passed(cast.workspace, cast.bob)
            with CaptureQueriesContext(connection) as asked:
                watches.watched(opened)
        return len(asked)

    watch(cast.workspace, cast.bob, topic_of(cast.workspace, "Ada Lind"))
    one = cost()
    watch(cast.workspace, cast.bob, topic_of(cast.workspace, "Bo Strand"))

    assert cost() == one


# --- pages and REST -------------------------------------------------------------------------------
def test_a_page_shows_changes_and_the_home_page_counts_them(cast: rows.Cast):
    topic = topic_of(cast.workspace, "Ada Lind")
    response = client_of(cast.bob).post(
        page_address("topic_watch", cast, topic.pk), {"watch": "on"}
    )
    assert response.headers["Location"] == page_address("community_detail", cast, topic.pk)
    assert "No changes since your last visit" in page_of(
        cast.bob, "community_detail", cast, topic.pk
    )

    state.read(cast.workspace, {"Diary": DIARY})

    home = client_of(cast.bob).get(f"/w/{cast.workspace.slug}/").content.decode()
    assert "Watched topics" in home
    assert "changes</span>" in " ".join(home.split())
    # A browser that fetches a page in advance has not shown it to anyone.
    ahead = page_address("community_detail", cast, topic.pk)
    client_of(cast.bob).get(ahead, headers={"Sec-Purpose": "prefetch"})
    assert counts(cast.workspace, cast.bob) != [0]
    page = page_of(cast.bob, "community_detail", cast, topic.pk)
    assert "Since your last visit on" in page
    assert "1 new document" in " ".join(page.split())
    assert counts(cast.workspace, cast.bob) == [0]
    assert "Since your last visit" not in page_of(cast.alice, "community_detail", cast, topic.pk)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_watch_over_rest(cast: rows.Cast, who: str):
    topic, user = topic_of(cast.workspace, "Ada Lind"), getattr(cast, who)
    path = address(cast.workspace, f"communities/{topic.pk}/watch/")
    assert_problem(client(user).get(path), 404, "not_watched")

    made = client(user).put(path, {"mails": False}, format="json").json()
    assert (made["community"], made["mails"], made["changes"]) == (str(topic.pk), False, 0)
    state.read(cast.workspace, {"Diary": DIARY})

    [listed] = client(user).get(address(cast.workspace, "communities/watched/")).json()["results"]
    assert listed["changes"] > 0
    seen = client(user).get(path).json()
    assert (seen["counts"]["joined"], seen["counts"]["documents"]) == (1, 1)
    assert [one["title"] for one in seen["documents"]] == ["Diary"]
    assert [one["name"] for one in seen["joined"]] == ["Dora Quist"]
    assert client(user).post(f"{path}seen/").json()["counts"] == seen["counts"]
    [listed] = client(user).get(address(cast.workspace, "communities/watched/")).json()["results"]
    assert listed["changes"] == 0
    assert client(user).delete(path).status_code == 204
    assert client(user).get(address(cast.workspace, "communities/watched/")).json()["total"] == 0


def test_strangers_watch_nothing(cast: rows.Cast):
    topic = topic_of(cast.workspace, "Ada Lind")
    path = address(cast.workspace, f"communities/{topic.pk}/watch/")

    for response in (
        client(cast.charlie).put(path),
        client(cast.charlie).get(path),
        client(cast.charlie).delete(path),
        client(cast.charlie).post(f"{path}seen/"),
        client(cast.charlie).get(address(cast.workspace, "communities/watched/")),
    ):
        assert_nothing_there(response)
    page = page_address("topic_watch", cast, topic.pk)
    assert client_of(cast.charlie).post(page, {"watch": "on"}).status_code == 404
