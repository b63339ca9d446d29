from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.models import CorpusVersion, Entity, IngestionJob, RunState, StageRun
from ingestion.pipeline import needs, recovery, runner
from tests import rows
from tests.ingestion.jobs import add, pretended, refreshes, run_of, states
from tests.ingestion.pipeline.test_leases import dead_worker, hold
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

MAIN, EMBEDDING = runner.MAIN, runner.EMBEDDING


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def job(media: Path, workspace: Workspace) -> IngestionJob:
    return add(workspace)


def finish(job: IngestionJob, *stages: str) -> None:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        runs.filter(stage__in=stages).update(state=RunState.DONE)


def end(job: IngestionJob) -> None:
    with access.in_workspace(job.workspace_id):
        jobs = IngestionJob.objects.in_workspace(job.workspace_id)
        jobs.filter(pk=job.pk).update(state=RunState.DONE)
        StageRun.objects.in_workspace(job.workspace_id).filter(job=job).update(state=RunState.DONE)


def calls(lane: str) -> list[tuple[str, ...]]:
    """What waits in a lane's queue: (workspace, job, lane)."""
    return [row.task["args"] for row in OrmQ.objects.filter(key=lane)]


def empty_queue() -> None:
    OrmQ.objects.all().delete()


# --- a worker starts ------------------------------------------------------------------------------
def test_a_starting_worker_calls_itself_to_every_job_of_its_lane(
    job: IngestionJob, workspace: Workspace
):
    other = add(rows.make_workspace("Other"))
    empty_queue()

    assert recovery.start_lane(MAIN) == 2

    assert set(calls(MAIN)) == {(str(one.workspace_id), str(one.pk), MAIN) for one in (job, other)}
    assert calls(EMBEDDING) == []


def test_entries_that_a_dead_worker_locked_do_not_delay_a_start(job: IngestionJob):
    OrmQ.objects.update(lock=timezone.now() + timedelta(hours=7))

    recovery.start_lane(MAIN)

    [entry] = OrmQ.objects.filter(key=MAIN)
    assert entry.lock <= timezone.now()


def test_the_other_lanes_queue_is_left_alone(job: IngestionJob):
    finish(job, "parse", "chunk", "situate")

    recovery.start_lane(EMBEDDING)

    assert len(calls(MAIN)) == len(calls(EMBEDDING)) == 1


def test_the_embedding_lane_is_not_called_before_its_turn(job: IngestionJob):
    assert recovery.start_lane(EMBEDDING) == 0


def test_finished_jobs_are_not_taken_up(job: IngestionJob):
    end(job)

    assert recovery.start_lane(MAIN) == 0


# --- the sweep ------------------------------------------------------------------------------------
def test_a_dead_workers_job_is_called_for_in_both_lanes(job: IngestionJob, workspace: Workspace):
    finish(job, "parse", "chunk", "situate")
    hold(run_of(job, "extract"), dead_worker())
    empty_queue()

    assert recovery.recover(workspace.pk) == 1

    assert len(calls(MAIN)) == len(calls(EMBEDDING)) == 1
    assert run_of(job, "extract").state == RunState.PENDING


def test_nothing_is_called_for_while_everybody_lives(job: IngestionJob, workspace: Workspace):
    empty_queue()

    assert recovery.recover(workspace.pk) == 0
    assert calls(MAIN) == []


def test_a_job_whose_call_was_lost_is_called_for_once_the_lane_is_idle(job: IngestionJob):
    empty_queue()

    tasks.sweep()

    assert len(calls(MAIN)) == 1


def test_a_lane_with_calls_waiting_is_not_idle(job: IngestionJob):
    tasks.sweep()

    assert not recovery.is_idle(MAIN)
    assert recovery.is_idle(EMBEDDING)
    assert len(calls(MAIN)) == 1


def test_a_lane_whose_calls_are_all_taken_is_idle(job: IngestionJob):
    OrmQ.objects.update(lock=timezone.now() + timedelta(hours=7))

    assert recovery.is_idle(MAIN)


# --- a refresh that nobody asked for --------------------------------------------------------------
def change(workspace: Workspace) -> None:
    entity = rows.make_entity(workspace, "Ada Lind")
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(pk=entity.pk).update(is_changed=True)


def test_changes_without_a_refresh_ask_for_one(workspace: Workspace):
    change(workspace)

    recovery.recover(workspace.pk, lanes=[MAIN])

    assert len(refreshes(workspace)) == 1


def test_a_workspace_without_changes_is_left_alone(workspace: Workspace):
    recovery.recover(workspace.pk, lanes=[MAIN])

    assert refreshes(workspace) == []


def test_changes_wait_for_the_documents_under_way(job: IngestionJob, workspace: Workspace):
    change(workspace)

    recovery.recover(workspace.pk, lanes=[MAIN])

    assert refreshes(workspace) == []


@pytest.mark.parametrize(
    ("state", "number"),
    [(RunState.DONE, 2), (RunState.FAILED, 1), (RunState.RUNNING, 1), (RunState.CANCELLED, 1)],
)
def test_a_refresh_that_failed_is_not_repeated_for_ever(
    workspace: Workspace, state: RunState, number: int
):
    change(workspace)
    runner.request_refresh(workspace.pk)
    with access.in_workspace(workspace.pk):
        IngestionJob.objects.in_workspace(workspace).update(state=state)

    recovery.recover(workspace.pk, lanes=[MAIN])

    assert len(refreshes(workspace)) == number


# --- tasks ----------------------------------------------------------------------------------------
def test_a_call_for_a_job_that_is_gone_is_nothing(workspace: Workspace):
    tasks.run_lane(str(workspace.pk), "00000000-0000-0000-0000-000000000000", MAIN)


def test_a_call_runs_the_lane_of_its_job(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch) as ran:
        tasks.run_lane(str(job.workspace_id), str(job.pk), MAIN)
        tasks.run_lane(str(job.workspace_id), str(job.pk), EMBEDDING)

    assert ran == ["parse", "chunk", "situate", "extract", "resolve", "embed"]


def test_one_call_serves_all_that_waits(job: IngestionJob, workspace: Workspace, monkeypatch):
    beside = [add(workspace, f"{number}.txt", f"Text {number}.") for number in range(3)]

    with pretended(monkeypatch):
        tasks.run_lane(str(job.workspace_id), str(job.pk), MAIN)

    assert {states(one)["resolve"] for one in [job, *beside]} == {"done"}


def test_a_call_that_comes_late_does_nothing(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch) as ran:
        for _ in range(3):
            tasks.run_lane(str(job.workspace_id), str(job.pk), MAIN)

    assert ran.count("parse") == 1


# --- which workspaces the sweep visits ------------------------------------------------------------
def test_only_workspaces_that_need_something_are_visited(job: IngestionJob, workspace: Workspace):
    changed, paused, quiet = (rows.make_workspace(name) for name in ("Changed", "Paused", "Quiet"))
    change(changed)
    with access.in_workspace(paused.pk):
        IngestionJob.objects.create(workspace=paused, kind="workspace", state=RunState.PAUSED)

    found = needs.find_needs()

    assert found == {
        needs.Need.WORK: [workspace.pk],
        needs.Need.CHANGED: [changed.pk],
        needs.Need.PAUSED: [paused.pk],
    }
    assert quiet.pk not in needs.of_work(found)


def test_missing_trees_are_looked_for_once_after_work_has_ended(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        CorpusVersion.objects.create(workspace=workspace, number=7)
    before = needs.find_needs()

    recovery.sweep(before)

    assert before == {needs.Need.TREE: [workspace.pk]}
    assert needs.find_needs() == {}
    assert refreshes(workspace) == []
