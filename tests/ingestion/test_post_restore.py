"""A backup that is taken while documents are read: one state of everything, which goes on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from ingestion import post_restore
from ingestion.documents import services
from ingestion.models import (
    Document,
    DocumentState,
    Entity,
    IngestionJob,
    RunState,
    StageRun,
    WalkSnapshot,
)
from ingestion.pipeline import inline, runner
from retrieval.models import Answer, AnswerState, Question
from tests import backups, rows
from tests.backups import answers, drifts, fresh_database
from tests.ingestion.jobs import add
from tests.patience import PATIENCE
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]
TEXT = "Ada Lind keeps light {0} of Skarrow.\n\nBo Strand sells oil {0} to Ada Lind."


@contextmanager
def worker(workspace: Workspace) -> Iterator[threading.Thread]:
    """Somebody who does all the work, while the block runs and until it is done."""

    def work() -> None:
        inline.drain(workspace.pk)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join(PATIENCE)
    assert not thread.is_alive()


Hold = tuple[threading.Event, threading.Event]


def held_at(monkeypatch: Any, name: str) -> Hold:
    """A stage that says when it is reached, and goes on when it is told to."""
    reached, go, stage = threading.Event(), threading.Event(), runner.STAGES[name]

    def run(*arguments: Any) -> Any:
        reached.set()
        assert go.wait(PATIENCE)
        return stage(*arguments)

    monkeypatch.setitem(runner.STAGES, name, run)
    return reached, go


def states(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        return set(Document.objects.in_workspace(workspace).values_list("state", flat=True))


def keys(workspace: Workspace) -> set[tuple[str, int]]:
    with access.in_workspace(workspace.pk):
        found = Entity.objects.in_workspace(workspace)
        return set(found.values_list("key", "mention_count"))


STAGES = ("parse", "embed", "resolve", "graph", "reports")


def test_work_goes_on_where_the_backup_found_it(tmp_path: Path, monkeypatch: Any):
    cast = rows.make_cast()
    for number in range(3):
        add(cast.workspace, f"{number}.txt", TEXT.format(number))
    holds = {stage: held_at(monkeypatch, stage) for stage in STAGES}

    with worker(cast.workspace):
        paths = dict(backups_at(holds, tmp_path))

    expected = keys(cast.workspace), answers(cast.workspace, cast.alice)
    assert sorted(paths) == sorted(STAGES)
    for stage, path in paths.items():
        with fresh_database():
            backups.restore(path)
            workspace = Workspace.objects.get()
            assert drifts(workspace) == [], stage
            assert post_restore.wake(workspace.pk) > 0, stage
            inline.drain(workspace.pk)

            assert states(workspace) == {DocumentState.READY}, stage
            assert drifts(workspace) == [], stage
            alice = User.objects.get(name="Alice")
            assert (keys(workspace), answers(workspace, alice)) == expected, stage


def backups_at(holds: Mapping[str, Hold], folder: Path) -> Iterator[tuple[str, Path]]:
    """A backup while each stage is held, in the order in which they are reached."""
    waiting = dict(holds)
    deadline = time.monotonic() + PATIENCE
    while waiting:
        assert time.monotonic() < deadline, f"{sorted(waiting)} were not reached"
        for stage, (reached, go) in list(waiting.items()):
            if reached.wait(0.01):
                yield stage, backups.write(folder / f"{stage}.zip")
                go.set()
                del waiting[stage]


@pytest.mark.slow
def test_backups_at_any_moment_are_of_one_state(tmp_path: Path):
    cast = rows.make_cast()
    for number in range(24):
        add(cast.workspace, f"{number}.txt", TEXT.format(number))

    paths: list[Path] = []
    with worker(cast.workspace) as thread:
        while thread.is_alive() and len(paths) < 4:
            paths.append(backups.write(tmp_path / f"{len(paths)}.zip"))
            thread.join(0.3)

    expected = keys(cast.workspace)
    assert paths
    for path in paths:
        with fresh_database():
            backups.restore(path)
            assert drifts(cast.workspace) == []
            assert_whole(path)
            post_restore.wake(cast.workspace.pk)
            inline.drain(cast.workspace.pk)
            assert (states(cast.workspace), keys(cast.workspace)) == (
                {DocumentState.READY},
                expected,
            )


def test_a_refresh_that_nobody_had_asked_for_yet_is_made_up_for(tmp_path: Path, monkeypatch: Any):
    cast = rows.make_cast()
    add(cast.workspace, "0.txt", TEXT.format(0))
    with monkeypatch.context() as patched:
        # The moment after the last document, as a backup may meet it.
        patched.setattr(runner, "request_refresh", lambda workspace_id: None)
        inline.drain(cast.workspace.pk)
        path = backups.write(tmp_path / "all.zip")

    with fresh_database():
        backups.restore(path)
        assert ("ada lind", 0) in keys(cast.workspace)
        post_restore.wake(cast.workspace.pk)
        inline.drain(cast.workspace.pk)

        assert keys(cast.workspace) == {("ada lind", 2), ("bo strand", 1), ("skarrow", 1)}
        assert drifts(cast.workspace) == []


def assert_whole(path: Path) -> None:
    """Every version that is told of has its file, and every row what it refers to."""
    members = backups.unpacked(path)
    versions = members[backups.table(members, "ingestion_documentversion")].splitlines()
    files = {f"files/{json.loads(line)['blob']}" for line in versions}
    assert files == {name for name in members if name.startswith("files/")}
    assert len(files) == 24


def test_nobody_holds_what_was_restored(tmp_path: Path, monkeypatch: Any):
    cast = rows.make_cast()
    add(cast.workspace)
    reached, go = held_at(monkeypatch, "extract")
    with worker(cast.workspace):
        assert reached.wait(PATIENCE)
        with access.in_workspace(cast.workspace.pk):
            running = StageRun.objects.in_workspace(cast.workspace).filter(state=RunState.RUNNING)
            assert running.filter(stage="extract").exists()
        path = backups.write(tmp_path / "all.zip")
        go.set()

    with fresh_database():
        backups.restore(path)
        post_restore.wake(cast.workspace.pk)

        with access.in_workspace(cast.workspace.pk):
            runs = StageRun.objects.in_workspace(cast.workspace)
            assert not runs.filter(state=RunState.RUNNING).exists()
            unfinished = IngestionJob.objects.in_workspace(cast.workspace)
            assert unfinished.exclude(state=RunState.DONE).exists()


def test_an_answer_under_way_is_nobodys_any_more(tmp_path: Path):
    cast = rows.make_cast()
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.create(workspace=cast.workspace, text="Who?", mode="walk")
        Answer.objects.create(
            workspace=cast.workspace,
            question=question,
            state=AnswerState.RUNNING,
            worker="elsewhere:1:1",
            lease_until="2100-01-01T00:00:00Z",
        )
    path = backups.write(tmp_path / "all.zip")

    with fresh_database():
        backups.restore(path)

        with access.in_workspace(cast.workspace.pk):
            answer = Answer.objects.in_workspace(cast.workspace).get()
            assert answer.lease_until.year < 2100


def test_a_document_deleted_meanwhile_leaves_a_backup_that_can_be_restored(
    tmp_path: Path, media: Path, monkeypatch: Any
):
    """Its rows are in the snapshot; its file went before it was read."""
    cast = backups.make_harbour()
    enter = backups.writing._file_names

    def names_then_gone(workspace_id: Any) -> list[str]:
        found: list[str] = enter(workspace_id)
        (media / found[0]).unlink()
        return found

    monkeypatch.setattr(backups.writing, "_file_names", names_then_gone)
    path = backups.write(tmp_path / "all.zip")

    with fresh_database():
        done = backups.restore(path)
        assert (done.files, done.missing) == (2, 1)
        [told] = drifts(cast.workspace)
        assert "missing from disk" in told
        services.process_workspace(workspace=cast.workspace)
        with access.in_workspace(cast.workspace.pk):
            assert WalkSnapshot.objects.in_workspace(cast.workspace).exists()
