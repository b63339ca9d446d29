"""Work that waits for a model, a key or a budget, and goes on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.documents import services
from ingestion.models import DocumentState, IngestionJob, RunState, StageRun
from ingestion.pipeline import batching, inline, needs, recovery, runner
from ingestion.stage import Progress, StageOutcome
from kb_project.errors import BudgetError, EndpointError, PauseError, RefusedError
from kb_project.ports import Ports
from tests import rows
from tests.ingestion.jobs import (
    Pretended,
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
BUDGET = BudgetError(
    "The budget is spent.", kept="Everything is kept.", next_step="Raise the budget."
)
DOWN = EndpointError("The model does not answer.")


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def some(workspace: Workspace, number: int) -> list[IngestionJob]:
    return [add(workspace, f"{n:03}.txt", f"Light {n} of Skarrow.") for n in range(number)]


def raising(error: PauseError, asked: list[int] | None = None) -> runner.Stage:
    def ask(jobs: Sequence[IngestionJob], _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        if asked is not None:
            asked.append(len(jobs))
        raise error

    return ask


def paused(workspace: Workspace, monkeypatch, error: PauseError = BUDGET, number: int = 2):
    """Documents that came as far as 'extract'."""
    jobs = some(workspace, number)
    with pretended(monkeypatch, together={"extract": raising(error)}):
        runner.run_group(jobs, MAIN)
    return jobs


def calls(lane: str) -> int:
    return OrmQ.objects.filter(key=lane).count()


def minutes_pass(workspace: Workspace, minutes: float) -> None:
    with access.in_workspace(workspace.pk):
        runs = StageRun.objects.in_workspace(workspace).filter(problem__isnull=False)
        runs.update(finished_at=timezone.now() - timedelta(minutes=minutes))


# --- pausing --------------------------------------------------------------------------------------
def test_a_pause_is_written_on_stage_job_and_document(workspace: Workspace, monkeypatch):
    jobs = paused(workspace, monkeypatch)

    for job in jobs:
        run = run_of(job, "extract")
        assert (run.state, run.leased_by, run.attempts) == (RunState.PENDING, "", 0)
        assert (run.problem or {})["code"] == "budget_spent"
        assert fresh(job).state == RunState.PAUSED
        assert fresh(job).problem == {
            "code": "budget_spent",
            "happened": "The budget is spent.",
            "kept": "Everything is kept.",
            "next_step": "Raise the budget.",
        }
        assert document_of(job).state == DocumentState.PAUSED


def test_what_was_done_before_is_kept(workspace: Workspace, monkeypatch):
    [job, _] = paused(workspace, monkeypatch)

    found = states(job)

    assert [found[stage] for stage in ("parse", "chunk", "situate")] == [RunState.DONE] * 3


def test_pauses_never_wear_a_job_out(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 1)

    with pretended(monkeypatch, together={"extract": raising(DOWN)}):
        for _ in range(runner.MAX_ATTEMPTS + 2):
            runner.run_group(jobs, MAIN)
            recovery.work_resume(workspace.pk)

    assert fresh(jobs[0]).state == RunState.PENDING
    assert run_of(jobs[0], "extract").attempts == 0


def test_a_group_is_not_tried_one_by_one(workspace: Workspace, monkeypatch):
    asked: list[int] = []

    with pretended(monkeypatch, together={"extract": raising(BUDGET, asked)}):
        runner.run_group(some(workspace, 4), MAIN)

    assert asked == [4]


def test_later_documents_wait_at_the_same_stage_without_asking(workspace: Workspace, monkeypatch):
    paused(workspace, monkeypatch)
    asked: list[int] = []
    late = add(workspace, "late.txt", "Bo Strand sells oil.")

    with pretended(monkeypatch, together={"extract": raising(BUDGET, asked)}) as ran:
        runner.run_group([late], MAIN)

    assert (asked, ran) == ([], ["parse", "chunk", "situate"])
    assert document_of(late).state == DocumentState.PAUSED
    assert (fresh(late).problem or {})["code"] == "budget_spent"


def test_another_workspace_does_not_wait(workspace: Workspace, monkeypatch):
    paused(workspace, monkeypatch)
    foreign = add(rows.make_workspace("Other"))

    with pretended(monkeypatch):
        assert runner.run_lane(foreign, MAIN)


def test_ports_that_cannot_be_made_pause_too(workspace: Workspace, monkeypatch):
    [job] = some(workspace, 1)

    def refuse(_workspace: object) -> Ports:
        raise RefusedError("The key cannot be read.")

    monkeypatch.setattr(runner, "ports_for", refuse)
    runner.run_lane(job, MAIN)

    assert (fresh(job).state, (fresh(job).problem or {})["code"]) == (
        RunState.PAUSED,
        "key_refused",
    )


def test_a_refresh_pauses_and_the_newest_one_is_enough(workspace: Workspace, monkeypatch):
    with pretended(monkeypatch, together={"describe": raising(BUDGET)}):
        for _ in range(2):
            runner.request_refresh(workspace.pk)
            runner.run_lane(refreshes(workspace)[-1], REFRESHING)
        recovery.work_resume(workspace.pk)

    assert [job.state for job in refreshes(workspace)] == [RunState.CANCELLED, RunState.PENDING]


def test_a_paused_refresh_gives_way_to_the_one_that_documents_ask_for(
    workspace: Workspace, monkeypatch
):
    jobs = paused(workspace, monkeypatch)
    with pretended(monkeypatch, together={"describe": raising(BUDGET)}):
        runner.run_lane(refreshes(workspace)[-1], REFRESHING)
    recovery.work_resume(workspace.pk)

    with pretended(monkeypatch):
        runner.run_group(jobs, MAIN)
        [old, new] = refreshes(workspace)
        runner.run_lane(new, REFRESHING)

    assert (old.state, fresh(new).state) == (RunState.CANCELLED, RunState.DONE)


# --- going on -------------------------------------------------------------------------------------
def test_everything_goes_on_where_it_stopped(workspace: Workspace, monkeypatch):
    jobs = paused(workspace, monkeypatch)
    before = calls(MAIN)

    assert recovery.work_resume(workspace.pk) == 2

    assert [fresh(job).state for job in jobs] == [RunState.PENDING] * 2
    assert {document_of(job).state for job in jobs} == {DocumentState.QUEUED}
    assert fresh(jobs[0]).problem is run_of(jobs[0], "extract").problem is None
    assert calls(MAIN) == before + 1
    with pretended(monkeypatch) as ran:
        runner.run_group(jobs, MAIN)
    assert ran == ["extract"] * 2 + ["resolve"] * 2


def test_resuming_what_is_not_paused_does_nothing(workspace: Workspace):
    some(workspace, 1)

    assert recovery.work_resume(workspace.pk) == 0


def test_the_queue_can_resume_a_workspace(workspace: Workspace, monkeypatch):
    jobs = paused(workspace, monkeypatch)

    tasks.resume_workspace(str(workspace.pk))

    assert fresh(jobs[0]).state == RunState.PENDING


@pytest.mark.parametrize("code", ["endpoint_down", "endpoint_timeout", "endpoint_busy"])
def test_the_sweep_tries_again_after_two_minutes(workspace: Workspace, monkeypatch, code: str):
    jobs = paused(workspace, monkeypatch, EndpointError("Away.", code=code))

    recovery.sweep(needs.find_needs())
    at_once = fresh(jobs[0]).state
    minutes_pass(workspace, 2.1)
    recovery.sweep(needs.find_needs())

    assert at_once == RunState.PAUSED
    assert [fresh(job).state for job in jobs] == [RunState.PENDING] * 2


@pytest.mark.parametrize(
    "error", [BUDGET, RefusedError("No."), RefusedError("?", code="model_unknown")]
)
def test_the_sweep_leaves_what_waiting_does_not_help(
    workspace: Workspace, monkeypatch, error: PauseError
):
    jobs = paused(workspace, monkeypatch, error)
    minutes_pass(workspace, 60)

    recovery.sweep(needs.find_needs())

    assert fresh(jobs[0]).state == RunState.PAUSED


def test_retrying_one_document_ends_the_pause_for_all(workspace: Workspace, monkeypatch):
    jobs = paused(workspace, monkeypatch)

    with access.in_workspace(workspace.pk):
        services.document_retry(workspace=workspace, document=document_of(jobs[0]))

    assert [fresh(job).state for job in jobs] == [RunState.PENDING] * 2


def test_a_paused_document_can_be_cancelled(workspace: Workspace, monkeypatch):
    jobs = paused(workspace, monkeypatch)

    with access.in_workspace(workspace.pk):
        services.document_cancel(workspace=workspace, document=document_of(jobs[0]))

    assert [fresh(job).state for job in jobs] == [RunState.CANCELLED, RunState.PAUSED]


# --- commands that wait ---------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_waiting_ends_when_all_that_is_left_is_paused(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 2)
    asked: list[int] = []

    with pretended(monkeypatch, together={"extract": raising(BUDGET, asked)}):
        inline.drain(workspace.pk)

    assert asked == [2]
    assert {fresh(job).state for job in jobs} == {RunState.PAUSED}
    assert {run_of(job, "embed").state for job in jobs} <= {RunState.DONE, RunState.PENDING}
    assert batching.next_group(workspace.pk, MAIN) == []


@pytest.mark.django_db(transaction=True)
def test_the_command_says_why_it_waits_and_goes_on_when_it_is_run_again(
    workspace: Workspace, monkeypatch, tmp_path: Path
):
    paper = tmp_path / "note.txt"
    paper.write_text("Ada Lind keeps the light of Skarrow.")

    def ingest(extract: Pretended) -> tuple[int, str]:
        out = io.StringIO()
        code = 0
        with pretended(monkeypatch, extract=extract):
            try:
                call_command(
                    "ingest", str(paper), "--workspace", workspace.slug, "--wait", stdout=out
                )
            except SystemExit as end:
                code = int(end.code or 0)
        return code, out.getvalue()

    def spent(*_arguments: object) -> StageOutcome:
        raise BUDGET

    first, said = ingest(spent)
    second, _ = ingest(lambda *_: StageOutcome())

    assert first == 1
    assert "The budget is spent. Everything is kept. Raise the budget." in said
    assert second == 0


def test_a_limit_of_the_operator_is_tried_again_within_the_hour(workspace: Workspace, monkeypatch):
    error = BudgetError("The installation's monthly limit.", code="cap_reached")
    paused(workspace, monkeypatch, error)

    minutes_pass(workspace, 5)
    early = recovery.resume_what_may_fare_better(workspace.pk)
    minutes_pass(workspace, 61)

    assert (early, recovery.resume_what_may_fare_better(workspace.pk)) == (0, 2)
