from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.models import IngestionJob, JobKind, RunState
from ingestion.pipeline import runner
from ingestion.pipeline.workspace_jobs import tuning_begin, tuning_cancel
from kb_project.errors import BudgetError, ConflictError, ReplyError
from kb_project.llm.ports import ChatRequest
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import fresh, states
from tests.ingestion.pages import client_of
from tests.ingestion.scripted import ScriptedChat, named
from workspaces import access
from workspaces.models import ModelSettings, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    made = rows.make_workspace()
    rows.make_document(made, "Log", "Ada Lind keeps the light.")
    return made


def begin(workspace: Workspace) -> IngestionJob:
    return tuning_begin(workspace_id=workspace.pk)


def jobs(workspace: Workspace) -> list[IngestionJob]:
    with access.in_workspace(workspace.pk):
        return list(IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.TUNE))


def script(request: ChatRequest[Any]) -> Any:
    if request.prompt.name == "tune_subject":
        return {"domain": "Lighthouses.", "language": "English"}
    if request.prompt.name == "tune_reports":
        return {"persona": "You are a keeper.", "rating": "Wrecks matter."}
    return {"types": ["person"]} if request.prompt.name == "tune_types" else named("Ada Lind")


def work(job: IngestionJob, answers: Any) -> None:
    ports = replace(build_ports(), chat=ScriptedChat(answers))
    runner.run_lane(fresh(job), runner.MAIN, ports)


def test_the_task_begins_a_job_and_wakes_a_worker(workspace: Workspace):
    tasks.tune(str(workspace.pk))

    [job] = jobs(workspace)
    assert states(job) == {"tune": "pending"}
    assert [row.key for row in OrmQ.objects.all()] == ["main"]


def test_one_job_at_a_time(workspace: Workspace):
    assert begin(workspace).pk == begin(workspace).pk
    assert len(jobs(workspace)) == 1


def test_a_worker_learns_and_the_job_is_done(workspace: Workspace):
    job = begin(workspace)

    work(job, script)

    assert fresh(job).state == RunState.DONE
    with access.in_workspace(workspace.pk):
        assert ModelSettings.objects.in_workspace(workspace).get().entity_types == ["person"]


def test_after_one_is_done_another_may_begin(workspace: Workspace):
    job = begin(workspace)
    work(job, script)

    assert begin(workspace).pk != job.pk


def test_a_job_that_failed_says_why_and_the_next_one_is_new(workspace: Workspace):
    job = begin(workspace)

    work(job, lambda request: ReplyError("It was cut off.", code="reply_truncated"))

    assert fresh(job).state == RunState.FAILED
    assert (fresh(job).problem or {})["code"] == "reply_truncated"
    assert begin(workspace).pk != job.pk


def test_a_job_that_waits_for_money_is_taken_up_again(workspace: Workspace):
    job = begin(workspace)
    work(job, lambda request: BudgetError("All is spent."))
    paused = fresh(job).state

    again = begin(workspace)
    work(again, script)

    assert paused == RunState.PAUSED
    assert again.pk == job.pk
    assert fresh(job).state == RunState.DONE


def test_the_page_says_why_nothing_was_learned(workspace: Workspace):
    cast = rows.make_cast("Beacon")
    rows.make_document(cast.workspace, "Log", "Ada Lind keeps the light.")
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.create(
            workspace=cast.workspace, endpoint="http://model.invalid/v1", model="some-model"
        )

    work(begin(cast.workspace), lambda request: ReplyError("It was cut off."))

    address = reverse("workspaces:model_settings", args=[cast.workspace.slug])
    page = client_of(cast.alice).get(address).content.decode()
    assert "It was cut off." in page


def test_work_that_waits_is_stopped_at_once_and_a_new_one_may_begin(workspace: Workspace):
    job = begin(workspace)

    tuning_cancel(workspace_id=workspace.pk)

    assert fresh(job).state == RunState.CANCELLED
    assert begin(workspace).pk != job.pk


def test_work_that_runs_stops_after_its_next_answer(workspace: Workspace):
    job = begin(workspace)

    def stopped(request: ChatRequest[Any]) -> Any:
        tuning_cancel(workspace_id=workspace.pk)
        return script(request)

    work(job, stopped)

    assert fresh(job).state == RunState.CANCELLED
    with access.in_workspace(workspace.pk):
        assert not ModelSettings.objects.in_workspace(workspace).exists()


def test_nothing_is_stopped_where_nothing_is_learned(workspace: Workspace):
    with pytest.raises(ConflictError, match="Nothing is being learned"):
        tuning_cancel(workspace_id=workspace.pk)
