"""More documents come back than a person waits for: a worker restores their names and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ingestion.documents import lifecycle
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Document,
    EventKind,
    HistoryEvent,
    Mention,
    NameChange,
    StageRun,
)
from ingestion.pipeline import propagate, workspace_jobs
from ingestion.pipeline.workspace_jobs import JobProgress
from ingestion.stage import NO_PROGRESS
from ingestion.stages import reresolve
from kb_project.ports import build_ports
from tests.ingestion import state
from tests.ingestion.name_changes import fail, kill_after, waiting
from tests.ingestion.once import Kept, once_a_module
from tests.ingestion.pages import address, client_of, page_of
from tests.rows import Cast, make_cast
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder", "media"),
]
UPDATING = "Updating names"
STOPPED = "Updating names and facts stopped after 0 of 3 documents."
GOES_AND_RETURNS: dict[str, tuple[Callable[..., HistoryEvent], Callable[..., HistoryEvent]]] = {
    "the trash": (lifecycle.documents_trash, lifecycle.documents_restore),
    "exclusion": (lifecycle.documents_disable, lifecycle.documents_enable),
}


@pytest.fixture(autouse=True)
def _no_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propagate, "AT_ONCE", 2)
    monkeypatch.setattr(reresolve, "GROUP", 1)


def begin() -> tuple[Cast, list[Document]]:
    cast = make_cast()
    return cast, list(state.read(cast.workspace).values())


begun_once = once_a_module(begin, Kept)


@pytest.fixture
def begun(
    begun_once: Kept[tuple[Cast, list[Document]]], media: Path
) -> tuple[Cast, list[Document]]:
    return begun_once.for_a_test(media)


@pytest.fixture
def cast(begun: tuple[Cast, list[Document]]) -> Cast:
    return begun[0]


@pytest.fixture
def workspace(cast: Cast) -> Workspace:
    return cast.workspace


@pytest.fixture
def documents(begun: tuple[Cast, list[Document]]) -> list[Document]:
    return begun[1]


def change(workspace: Workspace) -> ChangeContext:
    return ChangeContext(workspace, None)


def trash_and_restore(workspace: Workspace, documents: Sequence[Document]) -> HistoryEvent:
    lifecycle.documents_trash(change=change(workspace), documents=documents)
    return lifecycle.documents_restore(change=change(workspace), documents=documents)


def progress(workspace: Workspace) -> JobProgress | None:
    with access.in_workspace(workspace.pk):
        return workspace_jobs.change_work(workspace.pk)


def titles_with_names(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        mentions = Mention.objects.in_workspace(workspace)
        return set(mentions.values_list("document__title", flat=True))


@pytest.mark.parametrize("way", GOES_AND_RETURNS)
def test_they_are_searched_at_once_and_their_facts_follow(
    workspace: Workspace, documents: list[Document], way: str
):
    before, graph = state.ids(workspace), state.graph(workspace)
    go, come_back = GOES_AND_RETURNS[way]

    go(change=change(workspace), documents=documents)
    event = come_back(change=change(workspace), documents=documents)

    now = state.ids(workspace)
    assert now["Chunk"] == before["Chunk"]
    assert now["ChunkEmbedding"] == before["ChunkEmbedding"]
    assert titles_with_names(workspace) == set()
    assert event.details["names_follow"]
    state.settled(workspace)
    assert state.ids(workspace) == before
    assert state.graph(workspace) == graph
    assert progress(workspace) is None


def test_few_come_back_with_their_facts(workspace: Workspace, documents: list[Document]):
    event = trash_and_restore(workspace, documents[:2])

    assert "names_follow" not in event.details
    assert titles_with_names(workspace) == set(state.TEXTS)
    assert not waiting(workspace)


def test_they_are_resolved_in_the_order_in_which_they_were_added(
    workspace: Workspace, documents: list[Document]
):
    trash_and_restore(workspace, documents[::-1])

    with access.in_workspace(workspace.pk):
        [names] = NameChange.objects.in_workspace(workspace)
    assert names.documents == [document.pk for document in documents]


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_worker_that_was_killed_leaves_the_rest_to_the_next(
    workspace: Workspace, documents: list[Document], done: int
):
    graph = state.graph(workspace)
    trash_and_restore(workspace, documents)
    [job] = waiting(workspace)

    kill_after(done, job)

    assert len(titles_with_names(workspace)) == done
    assert reresolve.run(job, build_ports(), NO_PROGRESS).written == 3 - done
    state.settled(workspace)
    assert state.graph(workspace) == graph


def test_documents_that_go_again_in_the_middle_stay_away(
    workspace: Workspace, documents: list[Document]
):
    graph = state.graph(workspace)
    trash_and_restore(workspace, documents)
    [job] = waiting(workspace)
    kill_after(1, job)

    lifecycle.documents_trash(change=change(workspace), documents=documents[:2])
    state.settled(workspace)

    assert titles_with_names(workspace) == {documents[2].title}
    lifecycle.documents_restore(change=change(workspace), documents=documents[:2])
    state.settled(workspace)
    assert state.graph(workspace) == graph


def test_the_list_of_documents_tells_how_far_it_is(
    cast: Cast, workspace: Workspace, documents: list[Document]
):
    trash_and_restore(workspace, documents)
    [job] = waiting(workspace)

    assert UPDATING in page_of(cast.bob, "document_list", cast)
    with access.in_workspace(workspace.pk):
        runs = StageRun.objects.in_workspace(workspace).filter(job=job)
        runs.update(units_done=1, units_total=3)
    assert f"{UPDATING}: 1 of 3 documents" in page_of(cast.bob, "document_list", cast)
    state.settled(workspace)
    assert UPDATING not in page_of(cast.bob, "document_list", cast)


def test_an_editor_continues_what_a_failure_stopped(
    cast: Cast, workspace: Workspace, documents: list[Document]
):
    trash_and_restore(workspace, documents)
    fail(workspace)
    resume = address("work_resume", cast)

    owners = page_of(cast.alice, "document_list", cast)
    readers = page_of(cast.bob, "document_list", cast)

    assert STOPPED in owners
    assert resume in owners
    assert STOPPED in readers
    assert resume not in readers
    assert client_of(cast.charlie).post(resume).status_code == 404
    assert client_of(cast.alice).post(resume).status_code == 302
    state.settled(workspace)
    assert titles_with_names(workspace) == set(state.TEXTS)
    assert STOPPED not in page_of(cast.alice, "document_list", cast)


def test_people_and_programs_are_told_that_names_follow(
    cast: Cast, workspace: Workspace, documents: list[Document]
):
    client = client_of(cast.alice)
    chosen = [str(document.pk) for document in documents]
    api = f"/api/v1/workspaces/{workspace.slug}/documents/"

    client.post(address("documents_trash", cast), {"ids": chosen})
    page = client.post(address("trash_restore", cast), {"ids": chosen}, follow=True)

    assert "Their names and facts follow" in page.content.decode()
    assert client.get(api).json()["change"] == {"done": 0, "total": 0, "has_stopped": False}
    state.settled(workspace)
    assert client.get(api).json()["change"] is None
    gone = client.post(f"{api}trash/", {"ids": chosen}, content_type="application/json")
    assert gone.json()["names_follow"] is False
    back = f"/api/v1/workspaces/{workspace.slug}/trash/restore/"
    restored = client.post(back, {"ids": chosen}, content_type="application/json")
    assert restored.json()["names_follow"] is True


def test_an_undone_deletion_is_restored_by_the_worker_too(
    workspace: Workspace, documents: list[Document], cast: Cast
):
    graph = state.graph(workspace)
    event = lifecycle.documents_trash(change=change(workspace), documents=documents)
    assert event.kind == EventKind.DOCUMENT_TRASHED

    undo = f"/api/v1/workspaces/{workspace.slug}/history/{event.pk}/undo/"
    assert client_of(cast.alice).post(undo).status_code == 200

    assert len(waiting(workspace)) == 1
    state.settled(workspace)
    assert state.graph(workspace) == graph
