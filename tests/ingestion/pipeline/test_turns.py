"""Lanes go round between workspaces, one group at a time, and long turns give way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    IngestionJob,
    LaneCall,
    RunState,
    SentenceVector,
    StageRun,
)
from ingestion.pipeline import batching, leases, recovery, runner, turns
from ingestion.stage import Progress, StageOutcome
from ingestion.vectors import chunks as chunk_vectors, sentences
from kb_project.llm.fake import FakeChat
from kb_project.ports import Ports, build_ports
from tests import rows
from tests.ingestion.jobs import add, document_of, pretended, run_of, states
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "fake_embedder")]

MAIN, EMBEDDING = runner.MAIN, runner.EMBEDDING
Jobs = Sequence[IngestionJob]


@pytest.fixture(autouse=True)
def unremembered():
    turns._served.clear()


@pytest.fixture
def harbour(media: Path) -> Workspace:
    return rows.make_workspace("Harbour")


@pytest.fixture
def skarrow(media: Path) -> Workspace:
    return rows.make_workspace("Skarrow")


@pytest.fixture
def brief(settings):
    """A turn is over as soon as another workspace waits."""
    settings.TURN_SECONDS = 0


def some(workspace: Workspace, number: int) -> list[IngestionJob]:
    return [add(workspace, f"{n:03}.txt", f"Light {n} of Skarrow.") for n in range(number)]


def work(lane: str) -> int:
    """Do what a lane's worker does until its queue is empty; return the number of calls."""
    taken = 0
    while entry := OrmQ.objects.filter(key=lane).order_by("pk").first():
        entry.delete()
        if entry.task["func"] == runner.RUN_LANE:
            tasks.run_lane(*entry.task["args"])
            taken += 1
        assert taken < 200
    return taken


def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each group that is run: its workspace's name and how many documents it has."""
    groups: list[tuple[str, int]] = []
    real = runner.run_group

    def noting(jobs: Jobs, lane: str) -> runner.Tally:
        if jobs[0].document_id:
            groups.append((Workspace.objects.get(pk=jobs[0].workspace_id).name, len(jobs)))
        return real(jobs, lane)

    monkeypatch.setattr(runner, "run_group", noting)
    return groups


# --- whose turn it is -----------------------------------------------------------------------------
def test_a_burst_delays_another_workspaces_file_by_one_group(harbour, skarrow, monkeypatch):
    monkeypatch.setattr(batching, "MOST_JOBS", 3)
    some(harbour, 12)
    some(skarrow, 1)
    groups = served(monkeypatch)

    with pretended(monkeypatch):
        work(MAIN)

    assert groups[:3] == [("Harbour", 3), ("Skarrow", 1), ("Harbour", 3)]
    assert sum(size for name, size in groups if name == "Harbour") == 12


def test_the_embedding_lane_goes_round_too(harbour, skarrow, monkeypatch):
    monkeypatch.setattr(batching, "MOST_JOBS", 2)
    for job in [*some(harbour, 6), *some(skarrow, 1)]:
        with access.in_workspace(job.workspace_id):
            runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
            runs.exclude(stage="embed").update(state=RunState.DONE)
    OrmQ.objects.all().delete()
    LaneCall.objects.all().delete()
    assert recovery.start_lane(EMBEDDING) == 7
    groups = served(monkeypatch)

    with pretended(monkeypatch):
        work(EMBEDDING)

    assert [name for name, _ in groups][:3] in (
        ["Harbour", "Skarrow", "Harbour"],
        ["Skarrow", "Harbour", "Harbour"],
    )
    assert sum(size for _, size in groups) == 7


def test_three_workspaces_take_turns_until_nothing_is_left(harbour, skarrow, monkeypatch):
    monkeypatch.setattr(batching, "MOST_JOBS", 2)
    orran = rows.make_workspace("Orran")
    jobs = [*some(harbour, 4), *some(skarrow, 4), *some(orran, 4)]
    groups = served(monkeypatch)

    with pretended(monkeypatch):
        work(MAIN)

    assert [name for name, _ in groups] == ["Harbour", "Skarrow", "Orran"] * 2
    assert {states(job)["resolve"] for job in jobs} == {"done"}
    assert not LaneCall.objects.filter(lane=MAIN).exists()


def test_a_call_is_not_lost_if_it_comes_while_its_workspace_is_served(harbour, monkeypatch):
    some(harbour, 1)
    late: list[IngestionJob] = []

    def come_late(*_: Any) -> StageOutcome:
        if not late:
            late.extend(some(harbour, 2)[1:])  # the first has the text of one that is there
        return StageOutcome()

    with pretended(monkeypatch, parse=come_late):
        work(MAIN)

    assert states(late[0])["resolve"] == "done"


def test_an_entry_whose_call_was_served_already_serves_its_own_workspace(harbour, monkeypatch):
    [job] = some(harbour, 1)
    LaneCall.objects.all().delete()

    with pretended(monkeypatch):
        work(MAIN)

    assert states(job)["resolve"] == "done"


def test_a_call_that_another_worker_took_is_passed_over(harbour, skarrow, monkeypatch):
    some(harbour, 1)
    some(skarrow, 1)
    real = turns.run_sql_count
    taken: list[int] = []

    def quicker(statement: Any, values: dict[str, Any]) -> int:
        if not taken:
            taken.append(real(statement, values))  # by the other worker
        return real(statement, values)

    monkeypatch.setattr(turns, "run_sql_count", quicker)
    with turns.turn(MAIN, harbour.pk) as turn:
        assert turn.workspace_id == skarrow.pk


def test_calls_commit_with_the_changes_they_are_for(harbour):
    LaneCall.objects.all().delete()

    def call_and_break() -> None:
        with access.in_workspace(harbour.pk):
            turns.call(MAIN, harbour.pk)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call_and_break()

    assert not LaneCall.objects.exists()


def test_a_starting_lane_forgets_calls_and_makes_new_ones(harbour, skarrow):
    some(harbour, 1)
    turns.call(MAIN, skarrow.pk)

    recovery.start_lane(MAIN)

    assert [call.party for call in LaneCall.objects.filter(lane=MAIN)] == [harbour.pk]


# --- a turn that lasts too long -------------------------------------------------------------------
def test_a_long_group_gives_way_between_its_stages(harbour, skarrow, monkeypatch, brief):
    first, other = some(harbour, 1)[0], some(skarrow, 1)[0]
    order: list[tuple[str, str]] = []

    def note(stage: str) -> Callable[..., StageOutcome]:
        def run(job: IngestionJob, *_: object) -> StageOutcome:
            if job.document_id:
                order.append((job.workspace.name, stage))
            return StageOutcome()

        return run

    names = ("parse", "chunk", "situate", "extract", "resolve")
    stages: dict[str, Any] = {name: note(name) for name in names}
    with pretended(monkeypatch, **stages):
        work(MAIN)

    assert order[:4] == [
        ("Harbour", "parse"),
        ("Skarrow", "parse"),
        ("Harbour", "chunk"),
        ("Skarrow", "chunk"),
    ]
    assert states(first)["resolve"] == states(other)["resolve"] == "done"
    assert [run_of(first, name).attempts for name in names] == [1] * 5


def test_alone_a_workspace_goes_on(harbour, monkeypatch, brief):
    some(harbour, 2)

    with pretended(monkeypatch):
        tasks.run_lane(*OrmQ.objects.filter(key=MAIN).first().task["args"])

    with access.in_workspace(harbour.pk):
        left = StageRun.objects.in_workspace(harbour).exclude(stage="embed")
        assert {run.state for run in left.filter(job__kind="document")} == {"done"}


def situated(workspace: Workspace, name: str, text: str) -> IngestionJob:
    job = add(workspace, name, text)
    runner.run_group([job], MAIN)
    OrmQ.objects.all().delete()
    LaneCall.objects.all().delete()
    return job


def long_text(paragraphs: int) -> str:
    return "\n\n".join(
        f"Ada Lind keeps light {number} of Skarrow. " * 40 for number in range(paragraphs)
    )


def vectors_of(workspace: Workspace) -> tuple[int, int]:
    with access.in_workspace(workspace.pk):
        return (
            ChunkEmbedding.objects.in_workspace(workspace).count(),
            SentenceVector.objects.in_workspace(workspace).values("chunk_id").distinct().count(),
        )


def test_one_long_document_gives_way_between_its_batches_and_resumes(
    harbour, skarrow, monkeypatch, brief
):
    monkeypatch.setattr(chunk_vectors, "BATCH_CHARACTERS", 1)  # one passage at a time
    monkeypatch.setattr(leases, "SECONDS_BETWEEN_REPORTS", (0.0, 0.0))
    long, short = situated(harbour, "long.txt", long_text(6)), situated(skarrow, "s.txt", "Lit.")
    batching.call_for(harbour.pk, [long.pk], EMBEDDING)
    batching.call_for(skarrow.pk, [short.pk], EMBEDDING)
    with access.in_workspace(harbour.pk):
        passages = Chunk.objects.in_workspace(harbour).count()
    assert passages > 2

    first, second = OrmQ.objects.filter(key=EMBEDDING).order_by("pk")
    tasks.run_lane(*first.task["args"])
    after_first = vectors_of(harbour), run_of(long, "embed")
    tasks.run_lane(*second.task["args"])
    ready = document_of(short).state
    for entry in OrmQ.objects.filter(key=EMBEDDING).exclude(pk__in=[first.pk, second.pk]):
        tasks.run_lane(*entry.task["args"])

    (vectors, _), run = after_first
    assert vectors == 1
    assert (run.state, run.attempts, run.leased_by) == (RunState.PENDING, 0, "")
    assert ready == "ready"
    assert vectors_of(harbour) == (passages, passages)
    assert document_of(long).state == "ready"


def test_its_sentences_give_way_too(harbour, skarrow, monkeypatch, brief):
    monkeypatch.setattr(sentences, "BATCH", 1)
    monkeypatch.setattr(leases, "SECONDS_BETWEEN_REPORTS", (0.0, 0.0))
    long = situated(harbour, "long.txt", long_text(4))
    with access.in_workspace(harbour.pk):
        passages = list(Chunk.objects.in_workspace(harbour))
    chunk_vectors.make(harbour.pk, passages, runner.ports_for(harbour.pk).embedder)
    batching.call_for(harbour.pk, [long.pk], EMBEDDING)
    turns.call(EMBEDDING, skarrow.pk)

    tasks.run_lane(str(harbour.pk), str(long.pk), EMBEDDING)

    assert vectors_of(harbour)[1] == 1
    assert run_of(long, "embed").state == RunState.PENDING


def test_those_beside_one_that_gives_way_are_put_back_too(harbour, monkeypatch):
    jobs = some(harbour, 3)

    def stage(group: Jobs, _ports: Ports, _progress: Progress) -> list[StageOutcome]:
        if len(group) > 1:
            raise ValueError("together they are too many")
        raise turns.TurnOverError

    with pretended(monkeypatch, together={"extract": stage}):
        tally = runner.run_group(jobs, MAIN)

    assert (tally.begun, tally.through, tally.gave_way) == (3, 0, True)
    for job in jobs:
        run = run_of(job, "extract")
        assert (run.state, run.leased_by, run.attempts) == (RunState.PENDING, "", 0)


def test_only_stages_that_skip_what_is_done_give_way_in_their_middle():
    local = build_ports()
    with_a_model = replace(local, chat=FakeChat(lambda _request: {}))

    assert [turns.of_stage(name, local) for name in ("parse", "resolve", "communities")] == [0] * 3
    assert turns.of_stage("extract", local) == turns.of_stage("embed", with_a_model) == 1
    assert turns.of_stage("extract", with_a_model) == turns.TIMES_WITH_CHAT
