"""A report is written again where what it was made from is another thing, and only there."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import pytest

from ingestion.models import (
    Chunk,
    Community,
    CommunityReport,
    EventKind,
    HistoryEvent,
    IngestionJob,
    JobKind,
    Relationship,
)
from ingestion.stage import NO_PROGRESS
from ingestion.stages import reports
from ingestion.stages.reports import extractive, naming, rows, saving
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import Ports
from tests.ingestion.stages.reports.carol import Carol, make_community, mark, marked, report_of
from tests.memory_graph import MemoryGraphStore
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> Carol:
    return Carol()


def run(workspace: Workspace) -> int:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    ports = Ports(embedder=FakeEmbedder(), graph=MemoryGraphStore())
    return reports.run(job, ports, NO_PROGRESS).written


def written_at(community: Community) -> datetime:
    return report_of(community).created_at


def do_something(workspace: Workspace, kind: str = EventKind.ENTITY_EDITED) -> None:
    with access.in_workspace(workspace.pk):
        HistoryEvent.objects.create(workspace=workspace, sequence=1, kind=kind)


def test_a_report_of_the_same_is_kept(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    assert run(carol.workspace) == 1
    before = written_at(community)

    mark(carol.workspace, community)

    assert run(carol.workspace) == 0
    assert written_at(community) == before
    assert not marked(carol.workspace)


def test_a_report_of_something_else_is_written_again(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    run(carol.workspace)
    with access.in_workspace(carol.workspace.pk):
        Relationship.objects.in_workspace(carol.workspace).update(weight=9)

    mark(carol.workspace, community)

    assert run(carol.workspace) == 1


def test_a_report_that_lost_a_place_is_written_again(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    run(carol.workspace)
    with access.in_workspace(carol.workspace.pk):
        digest = report_of(community).digest
        places = int(digest.split()[1])
        CommunityReport.objects.in_workspace(carol.workspace).update(
            digest=f"{digest.split()[0]} {places + 1}"
        )

    mark(carol.workspace, community)

    assert run(carol.workspace) == 1


def test_what_somebody_changed_while_it_was_written_is_looked_at_again(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        finished = finished_of(carol.workspace, community.pk)
        do_something(carol.workspace)
        assert saving.replace_reports(carol.workspace.pk, finished, seen=0) == 1

    assert marked(carol.workspace) == 1
    assert run(carol.workspace) == 0
    assert not marked(carol.workspace)


def test_a_document_that_is_added_changes_nothing(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        finished = finished_of(carol.workspace, community.pk)
        do_something(carol.workspace, EventKind.DOCUMENT_ADDED)
        saving.replace_reports(carol.workspace.pk, finished, seen=0)

    assert not marked(carol.workspace)


def test_what_rests_on_passages_that_went_away_meanwhile_is_not_written(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        finished = finished_of(carol.workspace, community.pk)
        Chunk.objects.in_workspace(carol.workspace).delete()
        assert saving.replace_reports(carol.workspace.pk, finished, seen=0) == 0
        assert not CommunityReport.objects.in_workspace(carol.workspace).exists()

    assert marked(carol.workspace) == 1


def finished_of(workspace: Workspace, community: UUID) -> dict[UUID, saving.StoredReport]:
    naming.renew_titles(workspace.pk)
    topics = rows.topics(workspace.pk, [community])
    return {
        id_: saving.quoted(extractive.write(topic), saving.digest_of_topic(topic))
        for id_, topic in topics.items()
    }
