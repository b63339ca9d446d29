from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ingestion.models import (
    DocumentState,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.pipeline import leases, transitions
from kb_project.errors import ParseError, Problem
from tests import rows
from tests.ingestion.jobs import add, document_of, fresh, run_of, states
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

PROBLEM = Problem(
    code="unreadable", happened="It is torn.", kept="The file is kept.", next_step="Mend it."
)


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def job(media: Path, workspace: Workspace) -> IngestionJob:
    return add(workspace)


def finish_all(job: IngestionJob, *, but: tuple[str, ...] = ()) -> None:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        runs.exclude(stage__in=but).update(state=RunState.DONE)


def make_refresh(workspace: Workspace, state: RunState) -> IngestionJob:
    with access.in_workspace(workspace.pk):
        return IngestionJob.objects.create(workspace=workspace, kind=JobKind.WORKSPACE, state=state)


def warnings_of(job: IngestionJob) -> list[str]:
    with access.in_workspace(job.workspace_id):
        return list(
            DocumentVersion.objects.in_workspace(job.workspace_id).get(pk=job.version_id).warnings
        )


# --- beginning ------------------------------------------------------------------------------------
def test_a_job_that_begins_makes_its_document_work(job: IngestionJob):
    assert transitions.begin([job])

    assert fresh(job).state == RunState.RUNNING
    assert document_of(job).state == DocumentState.WORKING


def test_a_job_may_begin_in_both_lanes(job: IngestionJob):
    assert transitions.begin([job])
    assert transitions.begin([job])


@pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED, RunState.CANCELLED])
def test_a_job_that_has_ended_does_not_begin_again(job: IngestionJob, state: RunState):
    with access.in_workspace(job.workspace_id):
        IngestionJob.objects.in_workspace(job.workspace_id).filter(pk=job.pk).update(state=state)

    assert not transitions.begin([job])
    assert fresh(job).state == state


def test_one_refresh_runs_at_a_time(workspace: Workspace):
    running = make_refresh(workspace, RunState.RUNNING)
    waiting = make_refresh(workspace, RunState.PENDING)

    assert not transitions.begin([waiting])
    assert transitions.begin([running])


def test_refreshes_of_two_workspaces_run_side_by_side(workspace: Workspace):
    make_refresh(workspace, RunState.RUNNING)
    other = make_refresh(rows.make_workspace("Other"), RunState.PENDING)

    assert transitions.begin([other])


# --- ending ---------------------------------------------------------------------------------------
def test_a_stage_that_ends_well_is_done_with_all_its_units(job: IngestionJob):
    run = run_of(job, "parse")
    leases.claim([run])
    leases.progress_of([run])(2, 5)

    with access.in_workspace(job.workspace_id):
        transitions.end([run], RunState.DONE, seconds=1.5)

    ended = run_of(job, "parse")
    assert (ended.state, ended.units_done, ended.seconds) == (RunState.DONE, 5, 1.5)
    assert ended.leased_until is None
    assert ended.finished_at is not None


def test_the_time_of_all_attempts_is_added_up(job: IngestionJob):
    run = run_of(job, "parse")
    leases.claim([run])
    transitions.fail(run, job, PROBLEM, seconds=1)
    with access.in_workspace(job.workspace_id):
        transitions.reopen(job)
    leases.claim([run])

    with access.in_workspace(job.workspace_id):
        transitions.end([run], RunState.DONE, seconds=2)

    assert run_of(job, "parse").seconds == 3


def test_who_lost_the_lease_may_not_write_the_end(job: IngestionJob):
    run = run_of(job, "parse")

    with access.in_workspace(job.workspace_id):
        ended = transitions.end([run], RunState.DONE, seconds=1)
    transitions.fail(run, job, PROBLEM, seconds=1)

    assert ended == set()
    assert (states(job)["parse"], fresh(job).state) == ("pending", "pending")


def test_a_failure_stands_on_the_stage_the_job_and_the_document(job: IngestionJob):
    run = run_of(job, "parse")
    leases.claim([run])

    transitions.fail(run, job, PROBLEM, seconds=1)

    expected = {
        "code": "unreadable",
        "happened": "It is torn.",
        "kept": "The file is kept.",
        "next_step": "Mend it.",
    }
    assert (run_of(job, "parse").problem, fresh(job).problem) == (expected, expected)
    assert (run_of(job, "parse").state, fresh(job).state) == (RunState.FAILED, RunState.FAILED)
    assert document_of(job).state == DocumentState.ATTENTION
    assert fresh(job).finished_at is not None


def test_a_cancelled_job_says_how_to_go_on(job: IngestionJob):
    run = run_of(job, "parse")
    leases.claim([run])

    transitions.cancel(run, job, seconds=1)

    assert (run_of(job, "parse").state, fresh(job).state) == ("cancelled", "cancelled")
    problem = fresh(job).problem
    assert problem is not None
    assert problem["next_step"] == "Retry to continue where it stopped."


def test_a_job_closes_when_its_last_stage_is_done(job: IngestionJob):
    finish_all(job)

    transitions.close([job])

    assert fresh(job).state == RunState.DONE
    assert document_of(job).state == DocumentState.READY


def test_a_job_with_a_stage_before_it_stays_open(job: IngestionJob):
    finish_all(job, but=("embed",))

    transitions.close([job])

    assert fresh(job).state == RunState.PENDING
    assert document_of(job).state == DocumentState.QUEUED


# --- taking up again ------------------------------------------------------------------------------
def test_a_retry_keeps_what_is_done(job: IngestionJob):
    finish_all(job, but=("extract", "resolve"))
    run = run_of(job, "extract")
    leases.claim([run])
    transitions.fail(run, job, PROBLEM, seconds=1)

    with access.in_workspace(job.workspace_id):
        transitions.reopen(job)

    assert {stage for stage, state in states(job).items() if state == "pending"} == {
        "extract",
        "resolve",
    }
    again = run_of(job, "extract")
    assert (again.attempts, again.problem, again.leased_by) == (0, None, "")
    assert (fresh(job).state, fresh(job).problem) == (RunState.PENDING, None)
    assert document_of(job).state == DocumentState.QUEUED


# --- what people are told -------------------------------------------------------------------------
def test_an_error_of_ours_tells_its_own_story():
    error = ParseError("It is torn.", code="torn", kept="The file is kept.", next_step="Mend it.")

    assert transitions.problem_of(error) == {
        "code": "torn",
        "happened": "It is torn.",
        "kept": "The file is kept.",
        "next_step": "Mend it.",
    }


def test_any_other_error_is_logged_and_never_shown(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR):
        problem = transitions.problem_of(ValueError("secret words of a document"))

    assert problem == transitions.UNEXPECTED
    assert "secret" not in "".join(str(part) for part in problem.values())
    assert caplog.records[0].exc_info is not None


def test_a_stage_that_crashes_its_worker_says_how_often(job: IngestionJob):
    run = run_of(job, "parse")
    run.attempts = 5

    problem = transitions.worn_out(run)

    assert problem["happened"] == "The worker crashed 4 times in the step 'parse'."


def test_a_warning_is_said_once(job: IngestionJob):
    with access.in_workspace(job.workspace_id):
        transitions.add_warnings(job, ["It is faint.", "It is torn.", "It is faint."])
        transitions.add_warnings(job, ["It is torn.", "It is old."])

    assert warnings_of(job) == ["It is faint.", "It is torn.", "It is old."]


def test_a_refresh_has_no_document_to_warn_about(workspace: Workspace):
    refresh = make_refresh(workspace, RunState.RUNNING)

    transitions.add_warnings(refresh, ["Nobody reads this."])

    assert fresh(refresh).problem is None


def test_stages_that_are_repeated_wait_again_and_the_others_stay(media: Path):
    job = add(rows.make_workspace())
    with access.in_workspace(job.workspace_id):
        StageRun.objects.in_workspace(job.workspace_id).filter(job=job).update(
            state=RunState.DONE, attempts=3, units_done=5
        )

        transitions.repeat(job, ("extract", "resolve"))

    assert {name for name, state in states(job).items() if state == "pending"} == {
        "extract",
        "resolve",
    }
    assert (run_of(job, "extract").attempts, run_of(job, "extract").units_done) == (0, 0)
    assert (run_of(job, "parse").attempts, run_of(job, "parse").units_done) == (3, 5)
    assert fresh(job).state == RunState.PENDING
