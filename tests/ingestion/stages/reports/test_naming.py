"""Topics keep their titles until one beside them changes, or one above them is renamed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.models import Community, Document
from ingestion.stages.reports import naming
from kb_project.sql import bulk_plans
from tests.ingestion.stages.reports.carol import (
    Carol,
    make_community,
    mark,
    marked,
    report_of,
    run,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> Carol:
    return Carol()


def titles_in(workspace: Workspace) -> dict[str, str]:
    with access.in_workspace(workspace.pk):
        rows = Community.objects.in_workspace(workspace)
        return {str(pk): title for pk, title in rows.values_list("pk", "title")}


def retitle(community: Community, title: str) -> None:
    with access.in_workspace(community.workspace_id):
        rows = Community.objects.in_workspace(community.workspace_id)
        rows.filter(pk=community.pk).update(title=title)


def renew(workspace: Workspace) -> int:
    with access.in_workspace(workspace.pk), bulk_plans():
        return naming.renew_titles(workspace.pk)


def test_topics_are_titled_with_those_beside_them_and_no_others(carol: Carol):
    homes = [
        make_community(carol.workspace, [carol.bob, carol.tim]),
        make_community(carol.workspace, [carol.scrooge, carol.marley, carol.fred]),
    ]
    rooms = [
        make_community(carol.workspace, [carol.bob, carol.tim], parent=homes[0]),
        make_community(carol.workspace, [carol.scrooge, carol.marley], parent=homes[1]),
        make_community(carol.workspace, [carol.fred], parent=homes[1]),
    ]
    run(carol.workspace, None)
    before = titles_in(carol.workspace)
    for room in rooms:
        retitle(room, "Another title")
    mark(carol.workspace, rooms[1])

    assert renew(carol.workspace) == 2
    assert titles_in(carol.workspace) == before | {str(rooms[0].pk): "Another title"}


def test_of_very_many_beside_each_other_only_those_that_changed_are_titled(carol, monkeypatch):
    rooms = [
        make_community(carol.workspace, [carol.bob, carol.tim]),
        make_community(carol.workspace, [carol.scrooge, carol.marley]),
        make_community(carol.workspace, [carol.fred]),
    ]
    run(carol.workspace, None)
    for room in rooms:
        retitle(room, "Another title")
    mark(carol.workspace, rooms[1])
    monkeypatch.setattr(naming, "MOST_TOGETHER", 2)

    assert renew(carol.workspace) == 1
    now = titles_in(carol.workspace)
    assert now.pop(str(rooms[1].pk)) != "Another title"
    assert set(now.values()) == {"Another title"}


def test_a_document_called_after_its_file_gives_a_title_in_words(carol: Carol):
    topic = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        Document.objects.in_workspace(carol.workspace).update(title="a-christmas-carol")
    run(carol.workspace, None)

    assert titles_in(carol.workspace)[str(topic.pk)] == "A christmas carol"


def test_what_is_below_a_renamed_topic_is_titled_too(carol: Carol):
    home = make_community(carol.workspace, carol.everybody)
    room = make_community(carol.workspace, [carol.bob, carol.tim], parent=home)
    run(carol.workspace, None)
    before = titles_in(carol.workspace)
    retitle(home, "Another title")
    retitle(room, "Another title too")
    mark(carol.workspace, home)

    renew(carol.workspace)

    assert titles_in(carol.workspace) == before


def test_a_report_under_another_title_is_written_again(carol: Carol):
    home = make_community(carol.workspace, carol.everybody)
    room = make_community(carol.workspace, [carol.bob, carol.tim], parent=home)
    run(carol.workspace, None)
    title = report_of(room).title
    with access.in_workspace(carol.workspace.pk):
        report = report_of(room)
        report.title, report.digest = "An old title", ""
        report.save()
    retitle(room, "An old title")
    mark(carol.workspace, home)
    retitle(home, "An old title above")

    run(carol.workspace, None)

    assert report_of(room).title == title
    assert not marked(carol.workspace)


@pytest.mark.parametrize(("hours", "is_titled"), [(1, False), (25, True)])
def test_large_topics_beside_each_other_are_titled_once_a_day(
    carol: Carol, monkeypatch, hours: int, is_titled: bool
):
    homes = [
        make_community(carol.workspace, [carol.bob, carol.tim]),
        make_community(carol.workspace, [carol.scrooge, carol.marley, carol.fred]),
    ]
    room = make_community(carol.workspace, [carol.fred], parent=homes[1])
    monkeypatch.setattr(naming, "LARGE", 5)
    run(carol.workspace, None)
    before = titles_in(carol.workspace)
    with access.in_workspace(carol.workspace.pk):
        topics = Community.objects.in_workspace(carol.workspace)
        assert not topics.get(pk=room.pk).titled_at
        topics.update(title="Another title", is_changed=True)
        topics.filter(level=0).update(titled_at=timezone.now() - timedelta(hours=hours))

    renew(carol.workspace)

    now = titles_in(carol.workspace)
    assert (now[str(homes[0].pk)] == before[str(homes[0].pk)]) == is_titled
    assert now[str(room.pk)] == before[str(room.pk)]


def test_a_new_topic_beside_large_ones_has_another_title_than_these(carol: Carol, monkeypatch):
    homes = [make_community(carol.workspace, carol.everybody)]
    monkeypatch.setattr(naming, "LARGE", 2)
    run(carol.workspace, None)
    before = titles_in(carol.workspace)
    homes.append(make_community(carol.workspace, carol.everybody))

    renew(carol.workspace)

    now = titles_in(carol.workspace)
    assert now.pop(str(homes[1].pk)) not in ("", *before.values())
    assert now == before
