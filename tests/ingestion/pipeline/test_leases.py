from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_django import DjangoAssertNumQueries

from ingestion.models import IngestionJob, RunState, StageRun
from ingestion.pipeline import leases, turns
from kb_project.jobs import claims
from kb_project.sql import run_sql
from tests import rows
from tests.ingestion.jobs import add, fresh, run_of
from workspaces import access

pytestmark = pytest.mark.django_db

OTHER = "elsewhere:12:345"


@pytest.fixture
def job(media: Path) -> IngestionJob:
    return add(rows.make_workspace())


@pytest.fixture
def run(job: IngestionJob) -> StageRun:
    return run_of(job, "parse")


def hold(run: StageRun, worker: str, *, seconds: int = 60) -> None:
    """Give the lease to somebody for so long; a negative number: it ran out."""
    statement = """
        UPDATE ingestion_stagerun SET state = 'running', leased_by = %s, attempts = attempts + 1,
               leased_until = now() + make_interval(secs => %s) WHERE id = %s
    """
    with access.in_workspace(run.workspace_id):
        run_sql(statement, [worker, seconds, run.pk])


def seen(run: StageRun) -> StageRun:
    with access.in_workspace(run.workspace_id):
        return StageRun.objects.in_workspace(run.workspace_id).get(pk=run.pk)


def dead_worker() -> str:
    """The name of a process of this host that has ended."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    name = f"{socket.gethostname()[:40]}:{child.pid}:{claims._started(child.pid)}"
    child.wait()
    return name


# --- taking ---------------------------------------------------------------------------------------
def test_a_waiting_stage_is_taken_once(run: StageRun):
    assert leases.claim([run]).taken

    taken = seen(run)
    assert (taken.state, taken.attempts) == (RunState.RUNNING, 1)
    assert taken.leased_by == claims.worker_name()
    assert taken.leased_until is not None
    assert taken.started_at is not None


def test_a_stage_that_somebody_holds_cannot_be_taken(run: StageRun):
    hold(run, OTHER)

    assert not leases.claim([run]).taken
    assert seen(run).leased_by == OTHER


def test_a_lease_that_ran_out_is_free_to_take(run: StageRun):
    hold(run, OTHER, seconds=-1)

    assert leases.claim([run]).taken
    assert seen(run).leased_by == claims.worker_name()


def test_one_takes_up_again_what_one_holds_oneself(run: StageRun):
    leases.claim([run])

    assert leases.claim([run]).taken
    assert seen(run).attempts == 2


@pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED, RunState.CANCELLED])
def test_what_has_ended_is_not_taken(run: StageRun, state: RunState):
    with access.in_workspace(run.workspace_id):
        StageRun.objects.in_workspace(run.workspace_id).filter(pk=run.pk).update(state=state)

    assert not leases.claim([run]).taken


def test_the_start_of_a_stage_is_its_first_one(run: StageRun):
    leases.claim([run])
    first = seen(run).started_at

    leases.claim([run])

    assert seen(run).started_at == first


# --- reporting ------------------------------------------------------------------------------------
def test_progress_is_written_down_and_renews_the_lease(run: StageRun):
    leases.claim([run])
    with access.in_workspace(run.workspace_id):
        run_sql("UPDATE ingestion_stagerun SET leased_until = now() WHERE id = %s", [run.pk])

    leases.progress_of([run])(3, 8)

    now = seen(run)
    assert (now.units_done, now.units_total) == (3, 8)
    [(is_held,)] = held(run)
    assert is_held


def held(run: StageRun) -> list[tuple[bool]]:
    with access.in_workspace(run.workspace_id):
        statement = (
            "SELECT leased_until > now() + interval '5 s' FROM ingestion_stagerun WHERE id = %s"
        )
        return run_sql(statement, [run.pk])


def test_a_stage_that_is_soon_done_has_nothing_to_report(
    run: StageRun, django_assert_num_queries: DjangoAssertNumQueries
):
    """Its end is recorded next; a small refresh is a dozen of them."""
    leases.claim([run])
    report = leases.progress_of([run])

    with django_assert_num_queries(0):
        report(8, 8)


@pytest.mark.django_db(transaction=True)
def test_a_report_has_the_planner_look_at_tables_that_have_grown(run: StageRun):
    """Or a long stage's foreign keys are checked by plans made when its tables were empty."""
    leases.claim([run])
    with access.in_workspace(run.workspace_id):
        run_sql(
            """INSERT INTO ingestion_graphtombstone (workspace_id, id)
               SELECT %s, gen_random_uuid() FROM generate_series(1, 3000)""",
            [run.workspace_id],
        )
    run_sql("SELECT pg_stat_force_next_flush()")

    leases.progress_of([run])(1, 2)

    statement = "SELECT reltuples FROM pg_class WHERE oid = 'ingestion_graphtombstone'::regclass"
    assert run_sql(statement)[0][0] >= 3000


def test_progress_forgives_earlier_attempts(run: StageRun):
    for _ in range(3):
        leases.claim([run])

    leases.progress_of([run])(1, 8)

    assert seen(run).attempts == 1


def test_going_over_the_same_ground_forgives_nothing(run: StageRun):
    leases.claim([run])
    leases.progress_of([run])(4, 8)
    leases.claim([run])

    leases.progress_of([run])(4, 8)

    assert seen(run).attempts == 2


def test_who_lost_the_lease_learns_it_at_the_next_report(run: StageRun):
    leases.claim([run])
    hold(run, OTHER)

    with pytest.raises(leases.LeaseLostError):
        leases.progress_of([run])(1, 2)


def test_who_was_asked_to_stop_learns_it_at_the_next_report(job: IngestionJob, run: StageRun):
    leases.claim([run])
    with access.in_workspace(job.workspace_id):
        jobs = IngestionJob.objects.in_workspace(job.workspace_id)
        jobs.filter(pk=job.pk).update(cancel_requested=True)

    with pytest.raises(leases.CancelledError):
        leases.progress_of([run])(1, 2)


def test_a_stage_goes_on_for_as_long_as_it_prepared_before_its_turn_ends(
    run: StageRun, monkeypatch: pytest.MonkeyPatch
):
    """Or each turn of a large workspace would end with the preparations of the one before."""
    times = iter([100.0, 130.0, 145.0, 159.0])
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(leases, "_reporter", lambda *_: lambda _done, _total: None)
    monkeypatch.setattr(leases, "is_over", lambda _turns: True)
    leases.claim([run])
    report = leases.progress_of([run], turns=1)

    for done in (1, 2):
        report(done, 9)
    with pytest.raises(turns.TurnOverError):
        report(3, 9)


def test_a_stage_that_was_soon_prepared_ends_its_turn_at_the_first_report(
    run: StageRun, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(leases, "is_over", lambda _turns: True)
    leases.claim([run])

    with pytest.raises(turns.TurnOverError):
        leases.progress_of([run], turns=1)(1, 9)


# --- freeing --------------------------------------------------------------------------------------
def test_what_a_dead_worker_of_this_host_held_is_freed_at_once(run: StageRun):
    hold(run, dead_worker())

    assert leases.STAGES.free(run.workspace_id) == 1
    assert (seen(run).state, seen(run).leased_by) == (RunState.PENDING, "")


def test_what_a_worker_elsewhere_holds_is_left_to_it_until_it_runs_out(run: StageRun):
    hold(run, OTHER)
    kept = leases.STAGES.free(run.workspace_id)
    hold(run, OTHER, seconds=-1)

    assert (kept, leases.STAGES.free(run.workspace_id)) == (0, 1)


def test_what_one_holds_oneself_is_not_freed(run: StageRun):
    leases.claim([run])

    assert leases.STAGES.free(run.workspace_id) == 0


def test_other_workspaces_are_not_touched(run: StageRun, media: Path):
    foreign = run_of(add(rows.make_workspace("Elsewhere")), "parse")
    hold(foreign, OTHER, seconds=-1)

    assert leases.STAGES.free(run.workspace_id) == 0


def test_a_recycled_process_id_is_not_taken_for_the_worker_it_named():
    host, pid = socket.gethostname()[:40], os.getpid()

    assert not claims.is_dead(claims.worker_name())
    assert claims.is_dead(f"{host}:{pid}:1")


@pytest.mark.parametrize("name", ["", "x", "elsewhere:1:2", f"{socket.gethostname()[:40]}:x:1"])
def test_a_name_that_says_nothing_is_not_called_dead(name: str):
    assert not claims.is_dead(name)


def test_a_name_fits_its_column():
    longest = StageRun._meta.get_field("leased_by").max_length

    assert longest is not None
    assert len(claims.worker_name()) <= longest


# --- what is left ---------------------------------------------------------------------------------
def test_unfinished_stages_come_in_their_order(job: IngestionJob):
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        runs.filter(stage__in=["parse", "embed"]).update(state=RunState.DONE)

    assert [run.stage for run in leases.unfinished([fresh(job)])[job.pk]] == [
        "chunk",
        "situate",
        "extract",
        "resolve",
    ]


def test_two_workers_of_one_process_have_names_of_their_own():
    first = claims.worker_name()

    with claims.seated("beside"):
        second = claims.worker_name()

    assert first != second
    assert second.startswith(first)
    assert claims.worker_name() == first
    assert not claims.is_dead(second)


def test_a_second_worker_cannot_take_what_the_first_one_holds(run: StageRun):
    assert leases.claim([run]).taken

    with claims.seated("beside"):
        assert not leases.claim([run]).taken

    assert leases.claim([run]).taken
