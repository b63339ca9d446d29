from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Community,
    DocumentState,
    IngestionJob,
    JobKind,
    RunState,
    WalkSnapshot,
)
from ingestion.pipeline import batching, inline, runner
from ingestion.stage import StageOutcome
from kb_project.jobs import claims
from kb_project.llm.fake import FakeChat
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import add, document_of, pretended, refreshes, run_of, states
from tests.ingestion.pipeline.test_leases import dead_worker, hold
from tests.patience import NEVER, PATIENCE
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def test_everything_that_waits_is_done(workspace: Workspace):
    jobs = [add(workspace, f"{n}.txt", f"Ada Lind keeps light {n} of Skarrow.") for n in range(3)]

    inline.drain(workspace.pk)

    assert {document_of(job).state for job in jobs} == {DocumentState.READY}
    with access.in_workspace(workspace.pk):
        unfinished = IngestionJob.objects.in_workspace(workspace).exclude(state=RunState.DONE)
        assert not unfinished.exists()
        assert Chunk.objects.in_workspace(workspace).count() == 3
        assert ChunkEmbedding.objects.in_workspace(workspace).count() == 3
        assert Community.objects.in_workspace(workspace).exists()
        assert WalkSnapshot.objects.in_workspace(workspace).count() == 1


def test_one_refresh_serves_the_whole_burst(workspace: Workspace, monkeypatch):
    for n in range(3):
        add(workspace, f"{n}.txt", f"Text {n}.")

    with pretended(monkeypatch) as ran:
        inline.drain(workspace.pk)

    assert len(refreshes(workspace)) == 1
    assert ran.count("describe") == 1
    assert ran.index("describe") > max(place for place, name in enumerate(ran) if name == "resolve")


def test_vectors_are_made_beside_the_rest(workspace: Workspace, monkeypatch):
    """The embedding lane is still busy when the refresh is done."""
    add(workspace)
    refreshed = threading.Event()

    def embed(*_arguments: object) -> StageOutcome:
        assert refreshed.wait(PATIENCE)
        return StageOutcome()

    def last(*_arguments: object) -> StageOutcome:
        refreshed.set()
        return StageOutcome()

    with pretended(monkeypatch, embed=embed, snapshot=last) as ran:
        inline.drain(workspace.pk)

    assert set(ran) == {
        *runner.PLANS[JobKind.DOCUMENT],
        *runner.PLANS[JobKind.WORKSPACE],
    }


def test_nothing_to_do_is_done_without_waiting(workspace: Workspace, monkeypatch):
    for name in ("PATIENCE", "LOOK"):
        monkeypatch.setattr(inline, name, NEVER)
    started = time.monotonic()

    inline.drain(workspace.pk)

    assert time.monotonic() - started < PATIENCE


def test_an_unreadable_document_does_not_hold_up_the_others(workspace: Workspace):
    good = add(workspace, "good.txt", "Ada Lind keeps the light of Skarrow.")
    bad = add(workspace, "bad.txt", "")
    last = add(workspace, "last.txt", "Bo Strand sells oil.")

    inline.drain(workspace.pk)

    assert [document_of(job).state for job in (good, bad, last)] == ["ready", "attention", "ready"]
    assert states(refreshes(workspace)[-1])["snapshot"] == "done"


def test_progress_counts_documents(workspace: Workspace, monkeypatch):
    for n in range(3):
        add(workspace, f"{n}.txt", f"Text {n}.")
    told: list[tuple[int, int]] = []

    with pretended(monkeypatch):
        inline.drain(workspace.pk, lambda done, total: told.append((done, total)))

    assert told[-1] == (3, 3)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_what_a_dead_worker_held_is_taken_over(workspace: Workspace, monkeypatch):
    job = add(workspace)
    hold(run_of(job, "parse"), dead_worker(), seconds=3600)

    with pretended(monkeypatch):
        inline.drain(workspace.pk)

    assert document_of(job).state == DocumentState.READY


def test_what_another_worker_holds_is_waited_for(workspace: Workspace, monkeypatch):
    job = add(workspace)
    started = time.monotonic()
    # Elsewhere, for a second more.
    hold(run_of(job, "parse"), "elsewhere:1:2", seconds=1)

    with pretended(monkeypatch):
        inline.drain(workspace.pk)

    assert time.monotonic() - started >= 0.9
    assert document_of(job).state == DocumentState.READY


def test_vectors_another_worker_makes_are_waited_for_without_haste(
    workspace: Workspace, monkeypatch
):
    job = add(workspace)
    looks: list[None] = []
    next_group = batching.next_group

    def look(*arguments: Any) -> list[IngestionJob]:
        looks.append(None)
        return next_group(*arguments)

    monkeypatch.setattr(batching, "next_group", look)

    with pretended(monkeypatch):
        runner.run_lane(job, runner.MAIN)
        hold(run_of(job, "embed"), "elsewhere:1:2", seconds=1)
        inline.drain(workspace.pk)

    assert document_of(job).state == DocumentState.READY
    assert len(looks) < 20


def test_other_workspaces_are_left_alone(workspace: Workspace, monkeypatch):
    add(workspace)
    foreign = add(rows.make_workspace("Other"))

    with pretended(monkeypatch):
        inline.drain(workspace.pk)

    assert document_of(foreign).state == DocumentState.QUEUED


def test_an_interruption_ends_it_and_the_rest_can_be_done_later(workspace: Workspace):
    jobs = [add(workspace, f"{n}.txt", f"Ada Lind keeps light {n} of Skarrow.") for n in range(4)]
    told: list[int] = []

    def interrupt(done: int, _total: int) -> None:
        told.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        inline.drain(workspace.pk, interrupt)

    assert len(told) == 1
    assert not any(thread.name == inline.EMBEDDING_THREAD for thread in threading.enumerate())
    inline.drain(workspace.pk)
    assert {document_of(job).state for job in jobs} == {DocumentState.READY}


def test_with_a_chat_model_a_second_worker_takes_the_next_group(workspace: Workspace, monkeypatch):
    """Each waits for the other at the same stage: one worker alone would wait for ever."""
    chat = FakeChat(lambda _request: {"entities": []})
    ports = replace(build_ports(), chat=chat)
    monkeypatch.setattr(runner, "ports_for", lambda _workspace_id: ports)
    monkeypatch.setattr(batching, "MOST_JOBS", 1)
    both = threading.Barrier(2, timeout=PATIENCE)
    names: set[str] = set()

    def parse(*_arguments: object) -> StageOutcome:
        both.wait()
        names.add(claims.worker_name())
        return StageOutcome()

    jobs = [add(workspace, f"{n}.txt", f"Text {n}.") for n in range(2)]
    with pretended(monkeypatch, parse=parse):
        inline.drain(workspace.pk)

    assert len(names) == 2
    assert {document_of(job).state for job in jobs} == {DocumentState.READY}


def test_without_a_chat_model_one_worker_does_it_all(workspace: Workspace, monkeypatch):
    names: set[str] = set()
    monkeypatch.setattr(batching, "MOST_JOBS", 1)

    def parse(*_arguments: object) -> StageOutcome:
        time.sleep(0.1)
        names.add(claims.worker_name())
        return StageOutcome()

    for n in range(3):
        add(workspace, f"{n}.txt", f"Text {n}.")
    with pretended(monkeypatch, parse=parse):
        inline.drain(workspace.pk)

    assert len(names) == 1
