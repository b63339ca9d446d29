from __future__ import annotations

from pathlib import Path

import pytest
from django.db import OperationalError
from django_q.exceptions import TimeoutException
from django_q.models import OrmQ

from ingestion.models import DocumentState, IngestionJob, RunState, StageRun
from ingestion.pipeline import leases, runner, transitions
from ingestion.stage import REFRESH_STATISTICS, Progress, StageOutcome
from kb_project.database import outages
from kb_project.errors import ParseError
from kb_project.logs import current_job
from kb_project.ports import Ports
from kb_project.sql import run_sql
from tests import rows
from tests.ingestion.jobs import (
    add,
    document_of,
    fresh,
    pretended,
    refreshes,
    run_of,
    states,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "fake_embedder")]

MAIN, EMBEDDING, REFRESHING = runner.LANES


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def job(media: Path, workspace: Workspace) -> IngestionJob:
    return add(workspace)


def calls(lane: str) -> int:
    return OrmQ.objects.filter(key=lane).count()


def stop(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    raise ParseError("It is torn.", code="torn")


# --- the order ------------------------------------------------------------------------------------
def test_every_stage_belongs_to_one_lane():
    listed = [stage for lane in runner.LANES.values() for stage in lane]

    assert sorted(listed) == sorted(runner.STAGES)


def test_a_stage_has_one_name_everywhere():
    for name, run in runner.STAGES.items():
        module = run.__module__ if hasattr(run, "__module__") else ""
        assert module == f"ingestion.stages.{name}"


def test_the_plan_of_a_job_is_the_order_of_the_stages(job: IngestionJob):
    assert list(states(job)) == ["parse", "chunk", "situate", "embed", "extract", "resolve"]
    assert set(states(job).values()) == {"pending"}


# --- a lane ---------------------------------------------------------------------------------------
def test_the_main_lane_runs_its_stages_in_order(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch) as ran:
        assert runner.run_lane(job, MAIN)

    assert ran == ["parse", "chunk", "situate", "extract", "resolve"]
    assert {stage for stage, state in states(job).items() if state == "pending"} == {"embed"}


def test_the_embedding_lane_waits_for_its_turn(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch) as ran:
        runner.run_lane(job, EMBEDDING)

    assert ran == []
    assert states(job)["embed"] == "pending"


def test_the_embedding_lane_is_called_when_the_chunks_are_situated(job: IngestionJob, monkeypatch):
    before = calls(EMBEDDING)

    with pretended(monkeypatch):
        runner.run_lane(job, MAIN)

    assert (before, calls(EMBEDDING)) == (0, 1)


def test_the_document_is_ready_when_both_lanes_are_done(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch):
        runner.run_lane(job, MAIN)
        halfway = document_of(job).state
        runner.run_lane(job, EMBEDDING)

    assert halfway == DocumentState.WORKING
    assert document_of(job).state == DocumentState.READY
    assert fresh(job).state == RunState.DONE


def test_the_lanes_may_end_in_either_order(job: IngestionJob, monkeypatch):
    def embed_first(other: IngestionJob, ports: Ports, _progress: Progress) -> StageOutcome:
        runner.run_lane(other, EMBEDDING, ports)
        return StageOutcome()

    with pretended(monkeypatch, extract=embed_first):
        runner.run_lane(job, MAIN)

    assert document_of(job).state == DocumentState.READY


def test_a_finished_job_is_not_run_again(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch) as ran:
        for lane in (MAIN, EMBEDDING, MAIN, EMBEDDING):
            runner.run_lane(job, lane)

    assert len(ran) == len(set(ran))


def test_a_log_line_of_a_stage_knows_its_job(job: IngestionJob, monkeypatch):
    known: list[str] = []

    def note(*_arguments: object) -> StageOutcome:
        known.append(current_job.get())
        return StageOutcome()

    with pretended(monkeypatch, parse=note):
        runner.run_lane(job, MAIN)

    assert known == [str(job.pk)]
    assert current_job.get() == ""


def test_the_warnings_of_a_stage_stand_on_the_document(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch, parse=lambda *_: StageOutcome(warnings=("It is faint.",))):
        runner.run_lane(job, MAIN)

    with access.in_workspace(job.workspace_id):
        [version] = document_of(job).versions.filter(workspace=job.workspace_id)
    assert version.warnings == ["It is faint."]


@pytest.mark.django_db(transaction=True)
def test_the_planner_is_told_of_tables_that_have_grown(workspace: Workspace):
    chunks = [[workspace.pk, f"light {number}", f"{number}"] for number in range(3000)]
    with access.in_workspace(workspace.pk):
        for one in chunks:
            run_sql(
                """INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type,
                       description, description_sources, mention_count, chunk_count, degree, rank,
                       is_changed, created_at)
                   VALUES (%s, gen_random_uuid(), %s, 0, %s, 'x', '', '[]', 0, 0, 0, 0, false,
                       now())""",
                one,
            )
    run_sql("SELECT pg_stat_force_next_flush()")

    looked_at = run_sql(REFRESH_STATISTICS)[0][0]
    [(estimated,)] = run_sql(
        "SELECT reltuples FROM pg_class WHERE oid = 'ingestion_entity'::regclass"
    )

    assert looked_at >= 1
    assert estimated >= 3000


# --- failures -------------------------------------------------------------------------------------
def test_what_a_stage_stops_with_stands_on_the_document(job: IngestionJob, monkeypatch):
    with pretended(monkeypatch, chunk=stop) as ran:
        assert not runner.run_lane(job, MAIN)

    assert ran == ["parse", "chunk"]
    assert states(job)["chunk"] == "failed"
    problem = fresh(job).problem
    assert problem is not None
    assert (problem["code"], document_of(job).state) == ("torn", DocumentState.ATTENTION)


@pytest.mark.parametrize("error", [ValueError("x"), MemoryError(), TimeoutException("x")])
def test_whatever_a_stage_dies_of_is_recorded(job: IngestionJob, monkeypatch, error: BaseException):
    def die(*_arguments: object) -> StageOutcome:
        raise error

    with pretended(monkeypatch, parse=die):
        runner.run_lane(job, MAIN)

    problem = fresh(job).problem
    assert problem is not None
    assert problem["code"] == "unexpected"


def test_a_stage_that_was_asked_to_stop_is_cancelled(job: IngestionJob, monkeypatch):
    def work(running: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
        with access.in_workspace(running.workspace_id):
            jobs = IngestionJob.objects.in_workspace(running.workspace_id)
            jobs.filter(pk=running.pk).update(cancel_requested=True)
        progress(1, 2)
        raise AssertionError("it went on")

    with pretended(monkeypatch, extract=work):
        runner.run_lane(job, MAIN)

    assert (states(job)["extract"], fresh(job).state) == ("cancelled", "cancelled")


def test_a_stage_that_lost_its_lease_writes_nothing(job: IngestionJob, monkeypatch):
    def lose(running: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
        with access.in_workspace(running.workspace_id):
            runs = StageRun.objects.in_workspace(running.workspace_id)
            runs.filter(job=running, stage="parse").update(leased_by="elsewhere:1:2")
        progress(1, 2)
        return StageOutcome()

    with pretended(monkeypatch, parse=lose):
        runner.run_lane(job, MAIN)

    run = run_of(job, "parse")
    assert (run.state, run.leased_by, fresh(job).problem) == ("running", "elsewhere:1:2", None)


def test_a_stage_that_crashes_its_worker_again_and_again_is_given_up(
    job: IngestionJob, monkeypatch
):
    for _ in range(runner.MAX_ATTEMPTS):
        leases.claim([run_of(job, "parse")])

    with pretended(monkeypatch) as ran:
        runner.run_lane(job, MAIN)

    problem = fresh(job).problem
    assert problem is not None
    assert (ran, problem["code"]) == ([], "stage_crashed")
    assert f"{runner.MAX_ATTEMPTS} times" in problem["happened"]


@pytest.mark.django_db(transaction=True)
def test_work_goes_on_where_it_stopped_when_the_database_comes_back(job: IngestionJob, monkeypatch):
    monkeypatch.setattr(outages, "PAUSES", ())
    monkeypatch.setattr(outages.through_outages, "__kwdefaults__", {"pauses": (0.0, 0.0)})
    outage = [OperationalError("gone")]

    def work(*_arguments: object) -> StageOutcome:
        if outage:
            raise outage.pop()
        return StageOutcome()

    with pretended(monkeypatch, extract=work) as ran:
        assert runner.run_lane(job, MAIN)

    assert ran == ["parse", "chunk", "situate", "extract", "extract", "resolve"]
    assert run_of(job, "extract").state == RunState.DONE


# --- the refresh of a workspace -------------------------------------------------------------------
def test_the_last_document_of_a_burst_asks_for_a_refresh(workspace: Workspace, monkeypatch):
    first, second = add(workspace, "a.txt", "One."), add(workspace, "b.txt", "Two.")

    with pretended(monkeypatch):
        runner.run_lane(first, MAIN)
        between = len(refreshes(workspace))
        runner.run_lane(second, MAIN)

    assert (between, len(refreshes(workspace))) == (0, 1)


def test_a_burst_that_ends_with_an_unreadable_document_asks_too(workspace: Workspace, monkeypatch):
    first, second = add(workspace, "a.txt", "One."), add(workspace, "b.txt", "Two.")
    with pretended(monkeypatch):
        runner.run_lane(first, MAIN)

    with pretended(monkeypatch, parse=stop):
        runner.run_lane(second, MAIN)

    assert len(refreshes(workspace)) == 1


def test_documents_that_only_wait_for_vectors_hold_nothing_up(workspace: Workspace, monkeypatch):
    first = add(workspace)

    with pretended(monkeypatch):
        runner.run_lane(first, MAIN)

    assert states(first)["embed"] == "pending"
    assert not runner.main_lane_is_busy(workspace.pk)
    assert len(refreshes(workspace)) == 1


def test_vectors_ask_for_no_refresh(job: IngestionJob, workspace: Workspace, monkeypatch):
    with pretended(monkeypatch):
        runner.run_lane(job, MAIN)
        runner.run_lane(job, EMBEDDING)

    assert len(refreshes(workspace)) == 1


def test_one_waiting_refresh_serves_all_who_ask(workspace: Workspace):
    for _ in range(3):
        runner.request_refresh(workspace.pk)

    [refresh] = refreshes(workspace)
    assert list(states(refresh)) == [
        "describe",
        "conflicts",
        "graph",
        "communities",
        "layout",
        "structure",
        "reports",
        "tree",
        "cells",
        "snapshot",
        "suggest",
        "questions",
    ]
    assert calls(REFRESHING) == 1


def test_a_refresh_asked_for_while_one_runs_comes_after_it(workspace: Workspace, monkeypatch):
    runner.request_refresh(workspace.pk)
    [first] = refreshes(workspace)

    def ask_again(*_arguments: object) -> StageOutcome:
        runner.request_refresh(workspace.pk)
        [*_, waiting] = refreshes(workspace)
        assert not transitions.begin([waiting])
        return StageOutcome()

    before = calls(REFRESHING)
    with pretended(monkeypatch, describe=ask_again):
        runner.run_lane(first, REFRESHING)
        first_state = fresh(first).state
        [_, second] = refreshes(workspace)
        runner.run_lane(second, REFRESHING)

    assert (first_state, fresh(second).state) == (RunState.DONE, RunState.DONE)
    # Once when it was asked for, once more when the first one had ended.
    assert calls(REFRESHING) - before >= 2


def test_an_unfinished_document_gets_a_snapshot_now_and_then(workspace: Workspace, monkeypatch):
    first, _second = add(workspace, "a.txt", "One."), add(workspace, "b.txt", "Two.")
    renewed: list[object] = []

    with pretended(monkeypatch, renew=renewed.append):
        runner.run_lane(first, MAIN)

    assert renewed == [workspace.pk]


# --- the real thing -------------------------------------------------------------------------------
def test_a_document_passes_through_every_real_stage(job: IngestionJob, workspace: Workspace):
    for lane in (MAIN, EMBEDDING):
        runner.run_lane(job, lane)
    [refresh] = refreshes(workspace)
    runner.run_lane(refresh, REFRESHING)

    assert document_of(job).state == DocumentState.READY
    assert set(states(job).values()) == set(states(refresh).values()) == {"done"}
