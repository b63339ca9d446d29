"""Documents that go while they are read: nothing of them is written, and nobody else is harmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ingestion.documents import lifecycle, services
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Document,
    DocumentState,
    HistoryEvent,
    IngestionJob,
    Mention,
    Posting,
    RunState,
    StageRun,
)
from ingestion.pipeline import runner
from kb_project.errors import ConflictError
from tests import rows
from tests.ingestion import jobs, state
from tests.ingestion.once import Kept
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def change(workspace: Workspace) -> ChangeContext:
    return ChangeContext(workspace, rows.make_user("Alice"), via="page")


@pytest.fixture
def log(workspace: Workspace) -> Document:
    """A document that waits to be read."""
    return jobs.document_of(jobs.add(workspace))


Read = tuple[dict[str, Any], dict[str, int]]


def read_at_once() -> Read:
    workspace = rows.make_workspace("Fresh")
    jobs.add(workspace)
    state.settled(workspace)
    return state.graph(workspace), state.numbers(workspace)


@pytest.fixture(scope="module")
def undisturbed(rows_of_the_module: None, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """What is there of the document if nothing happens to it."""
    return Kept(tmp_path_factory.mktemp("files"), read_at_once).made


def now(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        return Document.objects.in_workspace(document.workspace_id).get(pk=document.pk)


GOES = [lifecycle.documents_disable, lifecycle.documents_trash]
BACK = {
    lifecycle.documents_disable: lifecycle.documents_enable,
    lifecycle.documents_trash: lifecycle.documents_restore,
}


@pytest.mark.parametrize("go", GOES, ids=["disable", "trash"])
def test_work_that_has_not_begun_waits_until_the_document_is_back(
    change: ChangeContext, log: Document, go: Callable[..., HistoryEvent]
):
    go(change=change, documents=[log])
    state.settled(change.workspace)
    assert now(log).state == DocumentState.PAUSED
    assert not any(state.numbers(change.workspace).values())

    BACK[go](change=change, documents=[log])
    state.settled(change.workspace)

    assert now(log).state == DocumentState.READY
    assert state.numbers(change.workspace, [Chunk]) == {"Chunk": 1}


@pytest.mark.parametrize("stage", ["parse", "chunk", "situate", "embed", "extract", "resolve"])
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_stage_that_is_under_way_writes_nothing_of_what_is_put_away(
    change: ChangeContext,
    log: Document,
    undisturbed: Read,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    is_after: bool,
):
    inner = runner.STAGES[stage]

    def interrupted(*arguments: object) -> object:
        if not is_after:
            lifecycle.documents_trash(change=change, documents=[log])
        outcome = inner(*arguments)  # type: ignore[arg-type]  # a stage's own
        if is_after:
            lifecycle.documents_trash(change=change, documents=[log])
        return outcome

    with monkeypatch.context() as patch:
        patch.setitem(runner.STAGES, stage, interrupted)
        state.settled(change.workspace)

    searched = [Chunk, Posting, ChunkEmbedding, ChunkExtraction, Mention]
    assert not any(state.numbers(change.workspace, searched).values())
    job = IngestionJob.objects.filter(document=log)
    with access.in_workspace(change.workspace.pk):
        assert job.get().state == RunState.CANCELLED

    lifecycle.documents_restore(change=change, documents=[log])
    state.settled(change.workspace)

    assert now(log).state == DocumentState.READY
    assert (state.graph(change.workspace), state.numbers(change.workspace)) == undisturbed


@pytest.mark.parametrize("stage", ["parse", "chunk", "situate", "embed", "extract", "resolve"])
def test_a_document_deleted_while_it_is_read_harms_nobody_else(
    change: ChangeContext, log: Document, monkeypatch: pytest.MonkeyPatch, stage: str
):
    other = jobs.document_of(jobs.add(change.workspace, "other.txt", "Bo Strand lives in Wick."))
    inner, gone = runner.STAGES[stage], list[UUID]()

    def interrupted(*arguments: object) -> object:
        if not gone:
            gone.append(log.pk)
            lifecycle.documents_delete(change=change, documents=[log])
        return inner(*arguments)  # type: ignore[arg-type]  # a stage's own

    with monkeypatch.context() as patch:
        patch.setitem(runner.STAGES, stage, interrupted)
        state.settled(change.workspace)
    state.settled(change.workspace)

    assert now(other).state == DocumentState.READY
    with access.in_workspace(change.workspace.pk):
        assert list(Document.objects.in_workspace(change.workspace)) == [other]
        runs = StageRun.objects.in_workspace(change.workspace).filter(job__document=other)
        assert set(runs.values_list("state", flat=True)) == {RunState.DONE}


def test_what_is_put_away_is_not_retried(change: ChangeContext, log: Document):
    lifecycle.documents_trash(change=change, documents=[log])

    with access.in_workspace(change.workspace.pk):
        with pytest.raises(ConflictError):
            services.document_retry(workspace=change.workspace, document=now(log))
        assert services.documents_retry(workspace=change.workspace) == 0
        assert services.work_resume(workspace=change.workspace) == 0
