"""Documents that go through the stages together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestion.models import Chunk, DocumentState, IngestionJob, RunState, StageRun
from ingestion.pipeline import batching, leases, runner, transitions
from ingestion.stage import Progress, StageOutcome
from ingestion.stages import chunk
from kb_project.errors import ParseError
from kb_project.ports import Ports
from tests import rows
from tests.ingestion.jobs import add, document_of, fresh, pretended, refreshes, run_of, states
from tests.ingestion.pipeline.test_leases import hold
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "fake_embedder")]

MAIN, EMBEDDING, REFRESHING = runner.LANES
Jobs = Sequence[IngestionJob]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def some(workspace: Workspace, number: int) -> list[IngestionJob]:
    return [add(workspace, f"{n:03}.txt", f"Light {n} of Skarrow.") for n in range(number)]


def cancel(job: IngestionJob) -> None:
    with access.in_workspace(job.workspace_id):
        jobs = IngestionJob.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
        jobs.update(cancel_requested=True)


def outcomes(jobs: Jobs) -> list[StageOutcome]:
    return [StageOutcome() for _ in jobs]


# --- going together -------------------------------------------------------------------------------
def test_a_stage_is_run_once_for_all(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 4)
    sizes: list[int] = []

    def together(group: Jobs, _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        sizes.append(len(group))
        return outcomes(group)

    with pretended(monkeypatch, together={"extract": together}) as ran:
        tally = runner.run_group(jobs, MAIN)

    assert sizes == [4]
    assert (tally.begun, tally.through) == (4, 4)
    assert ran == ["parse"] * 4 + ["chunk"] * 4 + ["situate"] * 4 + ["resolve"] * 4
    assert all(states(job)["resolve"] == RunState.DONE for job in jobs)


def test_those_that_stopped_half_way_join_where_they_are(workspace: Workspace, monkeypatch):
    first, *others = some(workspace, 3)
    with access.in_workspace(workspace.pk):
        runs = StageRun.objects.in_workspace(workspace).filter(job=first)
        runs.filter(stage__in=["parse", "chunk"]).update(state=RunState.DONE)

    with pretended(monkeypatch) as ran:
        assert runner.run_group([first, *others], MAIN).through == 3

    assert (ran.count("parse"), ran.count("chunk"), ran.count("situate")) == (2, 2, 3)


def test_what_another_worker_holds_is_left_out(workspace: Workspace, monkeypatch):
    held, *others = some(workspace, 3)
    hold(run_of(held, "parse"), "elsewhere:1:2")

    with pretended(monkeypatch):
        tally = runner.run_group([held, *others], MAIN)

    assert tally.through == 2
    assert run_of(held, "parse").leased_by == "elsewhere:1:2"


def test_a_group_gives_the_rows_that_documents_give_one_by_one(workspace: Workspace):
    other = rows.make_workspace("Other")
    runner.run_group(some(workspace, 5), MAIN)
    for job in some(other, 5):
        runner.run_lane(job, MAIN)

    def texts(one: Workspace) -> list[tuple[object, ...]]:
        with access.in_workspace(one.pk):
            chunks = Chunk.objects.in_workspace(one).order_by("document__title", "ordinal")
            return list(chunks.values_list("document__title", "text", "context", "terms"))

    assert texts(workspace) == texts(other) != []


# --- one of them at fault -------------------------------------------------------------------------
def test_the_one_at_fault_is_found_among_many(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 32)
    bad = jobs[17]

    def work(group: Jobs, _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        if bad in group:
            raise ParseError("It is torn.", code="torn")
        return outcomes(group)

    with pretended(monkeypatch, together={"extract": work}):
        tally = runner.run_group(jobs, MAIN)

    assert tally.through == 31
    assert [job for job in jobs if document_of(job).state == DocumentState.ATTENTION] == [bad]
    assert (fresh(bad).problem or {})["code"] == "torn"
    assert {run_of(job, "extract").attempts for job in jobs} == {1}


def test_an_outcome_may_say_that_its_own_job_failed(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 3)
    calls: list[int] = []

    def work(group: Jobs, _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        calls.append(len(group))
        torn = ParseError("It is torn.", code="torn")
        return [StageOutcome(failed=torn if job == jobs[1] else None) for job in group]

    with pretended(monkeypatch, together={"parse": work}):
        runner.run_group(jobs, MAIN)

    assert calls == [3]
    assert [fresh(job).state for job in jobs] == ["running", "failed", "running"]


def test_an_unreadable_file_stops_no_other_of_its_group(workspace: Workspace):
    jobs = [*some(workspace, 3), add(workspace, "empty.txt", "")]

    runner.run_group(jobs, MAIN)

    assert [states(job)["resolve"] for job in jobs] == ["done", "done", "done", "pending"]
    assert document_of(jobs[3]).state == DocumentState.ATTENTION


def test_the_leases_of_those_that_wait_are_kept_while_each_runs_alone(
    workspace: Workspace, monkeypatch
):
    jobs = some(workspace, 3)
    left: list[float] = []

    def work(group: Jobs, _ports: Ports, progress: Progress) -> list[StageOutcome]:
        if len(group) > 1:
            raise ValueError("together they are too many")
        if group[0] == jobs[0]:
            with access.in_workspace(workspace.pk):
                runs = StageRun.objects.in_workspace(workspace).filter(stage="parse")
                runs.update(leased_until=timezone.now())
            progress(1, 2)
            until = run_of(jobs[2], "parse").leased_until or timezone.now()
            left.append((until - timezone.now()).total_seconds())
        return outcomes(group)

    with pretended(monkeypatch, together={"parse": work}):
        assert runner.run_group(jobs, MAIN).through == 3

    assert left[0] > 60


# --- stopping one ---------------------------------------------------------------------------------
def test_a_cancelled_member_stops_only_itself(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 4)
    seen: list[int] = []

    def work(group: Jobs, _ports: Ports, progress: Progress) -> list[StageOutcome]:
        seen.append(len(group))
        if len(group) == 4:
            cancel(jobs[2])
        progress(1, 2)
        return outcomes(group)

    with pretended(monkeypatch, together={"extract": work}):
        runner.run_group(jobs, MAIN)

    assert seen == [4, 3]
    assert [fresh(job).state for job in jobs] == ["running", "running", "cancelled", "running"]
    assert states(jobs[2])["extract"] == RunState.CANCELLED
    assert states(jobs[3])["resolve"] == RunState.DONE


def test_a_member_that_is_cancelled_between_stages_does_not_begin_the_next(
    workspace: Workspace, monkeypatch
):
    jobs = some(workspace, 2)

    def work(group: Jobs, _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        cancel(jobs[0])
        return outcomes(group)

    with pretended(monkeypatch, together={"parse": work}) as ran:
        runner.run_group(jobs, MAIN)

    assert ran.count("chunk") == 1
    assert [fresh(job).state for job in jobs] == ["cancelled", "running"]


def test_a_member_whose_lease_is_lost_is_left_to_who_has_it(workspace: Workspace, monkeypatch):
    jobs = some(workspace, 3)

    def work(group: Jobs, _ports: Ports, progress: Progress) -> list[StageOutcome]:
        if len(group) == 3:
            hold(run_of(jobs[0], "parse"), "elsewhere:1:2")
            progress(1, 2)
        return outcomes(group)

    with pretended(monkeypatch, together={"parse": work}):
        assert runner.run_group(jobs, MAIN).through == 2

    assert (run_of(jobs[0], "parse").state, fresh(jobs[0]).problem) == ("running", None)


# --- which go together ----------------------------------------------------------------------------
def test_a_group_has_so_many_documents_at_most(workspace: Workspace):
    jobs = some(workspace, batching.MOST_JOBS + 3)

    group = batching.next_group(workspace.pk, MAIN)

    assert group == jobs[: batching.MOST_JOBS]


def test_a_big_document_goes_alone(workspace: Workspace):
    jobs = some(workspace, 3)
    with access.in_workspace(workspace.pk):
        document_of(jobs[0]).__class__.objects.in_workspace(workspace).filter(
            pk=jobs[0].document_id
        ).update(size=batching.MOST_BYTES + 1)

    assert batching.next_group(workspace.pk, MAIN) == jobs[:1]
    hold(run_of(jobs[0], "parse"), "elsewhere:1:2")
    assert batching.next_group(workspace.pk, MAIN) == jobs[1:]


def test_what_may_have_killed_a_worker_goes_alone(workspace: Workspace):
    jobs = some(workspace, 3)
    for _ in range(batching.MOST_ATTEMPTS_TOGETHER):
        leases.claim([run_of(jobs[0], "parse")])

    assert batching.next_group(workspace.pk, MAIN) == jobs[:1]
    assert batching.next_group(workspace.pk, MAIN, first=jobs[1].pk) == jobs[1:]


def test_a_refresh_goes_alone_beside_documents(workspace: Workspace):
    runner.request_refresh(workspace.pk)
    jobs = some(workspace, 2)

    assert batching.next_group(workspace.pk, MAIN) == jobs
    assert batching.next_group(workspace.pk, REFRESHING) == refreshes(workspace)


def test_only_situated_documents_go_to_the_embedding_lane(workspace: Workspace, monkeypatch):
    first, second = some(workspace, 2)

    assert batching.next_group(workspace.pk, EMBEDDING) == []
    with pretended(monkeypatch):
        runner.run_lane(second, MAIN)
    assert batching.next_group(workspace.pk, EMBEDDING) == [second]
    assert batching.next_group(workspace.pk, MAIN) == [first]


def test_documents_far_down_the_line_are_found(workspace: Workspace, monkeypatch):
    monkeypatch.setattr(batching, "WINDOWS", (2, None))
    jobs = some(workspace, 4)
    for job in jobs[:3]:
        hold(run_of(job, "parse"), "elsewhere:1:2")

    assert batching.next_group(workspace.pk, MAIN) == jobs[3:]


def test_a_lane_without_work_is_looked_at_once(workspace: Workspace):
    some(workspace, 2)

    with CaptureQueriesContext(connection) as looked:
        assert batching.next_group(workspace.pk, EMBEDDING) == []

    assert sum("ingestion_ingestionjob" in query["sql"] for query in looked) == 1


def test_a_worker_calls_for_the_rest(workspace: Workspace, monkeypatch):
    some(workspace, 3)
    called: list[object] = []
    monkeypatch.setattr(runner, "wake", lambda *arguments: called.append(arguments))

    batching.call_for_the_rest(workspace.pk, MAIN)
    batching.call_for_the_rest(workspace.pk, EMBEDDING)

    assert len(called) == 1


# --- a worker that dies ---------------------------------------------------------------------------
def test_a_group_that_was_cut_off_is_taken_up_again(workspace: Workspace, monkeypatch):
    """The process dies in the middle of a stage: nothing is recorded, the leases stay."""
    jobs = some(workspace, 3)
    died = [KeyboardInterrupt()]

    def work(group: Jobs, ports: Ports, progress: Progress) -> list[StageOutcome]:
        found = chunk.run(group, ports, progress)
        if died:
            raise died.pop()
        return found

    monkeypatch.setitem(runner.STAGES, "chunk", work)
    with pytest.raises(KeyboardInterrupt):
        runner.run_group(jobs, MAIN)
    between = [states(job)["chunk"] for job in jobs]
    tally = runner.run_group(batching.next_group(workspace.pk, MAIN), MAIN)

    assert between == ["running"] * 3
    assert tally.through == 3
    with access.in_workspace(workspace.pk):
        assert Chunk.objects.in_workspace(workspace).count() == 3


def test_a_job_that_only_needs_to_be_closed_is_closed(workspace: Workspace):
    [job] = some(workspace, 1)
    with access.in_workspace(workspace.pk):
        StageRun.objects.in_workspace(workspace).filter(job=job).update(state=RunState.DONE)
        transitions.begin([job])

    runner.run_lane(job, MAIN)

    assert document_of(job).state == DocumentState.READY
