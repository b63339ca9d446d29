"""Having reports written again, from the service down to the stage."""

from __future__ import annotations

import pytest

from ingestion.knowledge import topics
from ingestion.models import Finding, IngestionJob, JobKind, RunState
from ingestion.models.communities import SMALLEST_WRITTEN
from ingestion.topics import services as topic_services
from kb_project.errors import ConflictError
from kb_project.llm.fake import FakeChat
from tests.ingestion.stages.reports.carol import (
    Carol,
    findings_of,
    make_community,
    marked,
    report_of,
    run,
    told,
)
from workspaces import access
from workspaces.models import ModelSettings

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> Carol:
    return Carol()


def waiting(carol: Carol) -> int:
    with access.in_workspace(carol.workspace.pk):
        jobs = IngestionJob.objects.in_workspace(carol.workspace)
        return jobs.filter(kind=JobKind.WORKSPACE, state=RunState.PENDING).count()


def set_up_a_model(carol: Carol) -> None:
    with access.in_workspace(carol.workspace.pk):
        ModelSettings.objects.create(
            workspace=carol.workspace, endpoint="http://localhost:1/v1", model="some-model"
        )


def test_a_report_that_failed_is_written_at_the_next_refresh(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    other = make_community(carol.workspace, [carol.tim])
    run(carol.workspace, FakeChat(lambda r: "no" if "E2" in r.prompt.user else told(r)))
    untouched = report_of(other).created_at

    with access.in_workspace(carol.workspace.pk):
        topic_services.report_retry(workspace=carol.workspace, community=community)
    assert (marked(carol.workspace), waiting(carol)) == (1, 1)
    chat = FakeChat(told)
    run(carol.workspace, chat)

    assert len(chat.requests) == 1
    assert report_of(community).problem is None
    assert findings_of(community, Finding.Part.FINDING)[0].references
    assert report_of(other).created_at == untouched


def test_asking_twice_asks_for_one_refresh(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    run(carol.workspace, FakeChat(lambda _: "no"))

    with access.in_workspace(carol.workspace.pk):
        for _ in range(2):
            topic_services.report_retry(workspace=carol.workspace, community=community)

    assert waiting(carol) == 1


def test_what_a_model_wrote_is_not_asked_for_again(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    run(carol.workspace, FakeChat(told))

    with access.in_workspace(carol.workspace.pk):
        with pytest.raises(ConflictError, match="nothing for a model to rewrite"):
            topic_services.report_retry(workspace=carol.workspace, community=community)
        with pytest.raises(ConflictError, match="No report is waiting"):
            topic_services.reports_retry(workspace=carol.workspace)

    assert (marked(carol.workspace), waiting(carol)) == (0, 0)


def test_a_new_model_may_write_every_report_there_was_before(carol: Carol):
    make_community(carol.workspace, carol.everybody)
    make_community(carol.workspace, carol.everybody[: SMALLEST_WRITTEN - 1])
    make_community(carol.workspace, [])
    run(carol.workspace, None)
    with access.in_workspace(carol.workspace.pk):
        assert not topics.unwritten_reports(workspace=carol.workspace).exists()
    set_up_a_model(carol)

    with access.in_workspace(carol.workspace.pk):
        assert topic_services.reports_retry(workspace=carol.workspace) == 1

    chat = FakeChat(told)
    run(carol.workspace, chat)
    assert len(chat.requests) == 1
