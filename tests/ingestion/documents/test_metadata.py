"""What people say of a document, and what is read again for it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingestion.documents import lifecycle, metadata
from ingestion.documents.metadata import editable_fields
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    Document,
    DocumentState,
    EventKind,
    IngestionJob,
    RunState,
)
from ingestion.pipeline import runner
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion import jobs, state
from tests.ingestion.once import Kept, once_a_module
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake_embedder")]

PLAIN: dict[str, Any] = {"collection": "Light", "tags": ["Oil", "oil "], "dated": date(1987, 5, 11)}
AGAIN = {"situate", "embed", "extract", "resolve"}


def begin() -> tuple[ChangeContext, Document]:
    workspace = rows.make_workspace()
    log = state.read(workspace, {"Log": state.TEXTS["Log"]})["Log"]
    return ChangeContext(workspace, rows.make_user("Alice")), log


begun_once = once_a_module(begin, Kept)


@pytest.fixture
def begun(
    begun_once: Kept[tuple[ChangeContext, Document]], media: Path
) -> tuple[ChangeContext, Document]:
    return begun_once.for_a_test(media)


@pytest.fixture
def change(begun: tuple[ChangeContext, Document]) -> ChangeContext:
    return begun[0]


@pytest.fixture
def log(begun: tuple[ChangeContext, Document]) -> Document:
    return begun[1]


def now(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        rows_ = Document.objects.in_workspace(document.workspace_id).select_related("collection")
        return rows_.get(pk=document.pk)


def ran_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The stages of documents that are run when everything follows."""
    ran: set[str] = set()
    with monkeypatch.context() as patch:
        for name in runner.DOCUMENT_STAGES:
            inner = runner.STAGES[name]

            def noting(*arguments: object, name=name, inner=inner) -> object:
                ran.add(name)
                return inner(*arguments)

            patch.setitem(runner.STAGES, name, noting)
        state.settled(workspace)
    return ran


def test_plain_changes_have_nothing_read_again(
    change: ChangeContext, log: Document, monkeypatch: pytest.MonkeyPatch
):
    event = metadata.document_edit(change=change, document=log, **PLAIN)

    row = now(log)
    assert (row.collection and row.collection.name, row.tags) == ("Light", ["oil"])
    assert row.dated == date(1987, 5, 11)
    assert event.kind == EventKind.DOCUMENT_EDITED
    assert event.details["before"] == {"collection": "", "tags": [], "dated": None}
    assert not ran_again(change.workspace, monkeypatch)


def test_a_new_title_has_read_again_what_depends_on_it(
    change: ChangeContext, log: Document, monkeypatch: pytest.MonkeyPatch
):
    metadata.document_edit(change=change, document=log, title="  The   keepers ")

    assert now(log).title == "The keepers"
    assert ran_again(change.workspace, monkeypatch) == AGAIN
    fresh = rows.make_workspace("Fresh")
    state.read(fresh, {"The keepers": state.TEXTS["Log"]})
    assert state.graph(change.workspace) == state.graph(fresh)
    with access.in_workspace(change.workspace.pk):
        assert "The keepers" in Chunk.objects.in_workspace(change.workspace).get().context


def test_a_title_can_be_taken_back(change: ChangeContext, log: Document):
    before = state.graph(change.workspace)
    event = metadata.document_edit(change=change, document=log, title="The keepers", tags=["oil"])
    state.settled(change.workspace)

    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        lifecycle.undo_event(change=change, event=event)
    state.settled(change.workspace)

    assert (now(log).title, now(log).tags) == ("Log", [])
    assert state.graph(change.workspace) == before


def test_a_new_title_of_what_is_disabled_is_read_once_it_is_back(
    change: ChangeContext, log: Document, monkeypatch: pytest.MonkeyPatch
):
    lifecycle.documents_disable(change=change, documents=[log])
    metadata.document_edit(change=change, document=log, title="The keepers")
    assert not ran_again(change.workspace, monkeypatch)

    lifecycle.documents_enable(change=change, documents=[log])

    assert ran_again(change.workspace, monkeypatch) == AGAIN
    assert now(log).state == DocumentState.READY


def test_a_title_given_before_it_is_read_stays(change: ChangeContext):
    log = jobs.document_of(jobs.add(change.workspace, "new.txt", "Cora Vane sells oil in Wick."))

    metadata.document_edit(change=change, document=log, title="The keepers")
    state.settled(change.workspace)

    assert (now(log).title, now(log).state) == ("The keepers", DocumentState.READY)


def test_no_title_changes_under_those_who_read(change: ChangeContext, log: Document):
    with access.in_workspace(change.workspace.pk):
        IngestionJob.objects.in_workspace(change.workspace).update(state=RunState.RUNNING)

    with pytest.raises(ConflictError, match="is being read"):
        metadata.document_edit(change=change, document=log, title="The keepers")

    assert now(log).title == "Log"


@pytest.mark.parametrize("title", ["", " \0 ", "x" * 501, "x" * 10_000])
def test_a_title_has_some_characters_and_not_too_many(
    change: ChangeContext, log: Document, title: str
):
    with pytest.raises(InputError):
        metadata.document_edit(change=change, document=log, title=title)


def test_what_is_said_already_and_what_is_in_the_trash_is_not_edited(
    change: ChangeContext, log: Document
):
    with pytest.raises(ConflictError) as same:
        metadata.document_edit(change=change, document=log, title="Log")
    lifecycle.documents_trash(change=change, documents=[log])
    with pytest.raises(ConflictError) as away:
        metadata.document_edit(change=change, document=log, title="The keepers")

    assert (same.value.code, away.value.code) == ("nothing_changed", "in_trash")


def test_a_collection_of_a_long_name_is_told_as_it_is_called(change: ChangeContext, log: Document):
    name = f"{'x' * 119} and more"

    event = metadata.document_edit(change=change, document=log, collection=name)

    assert (
        event.details["after"]["collection"] == editable_fields(now(log))["collection"] == "x" * 119
    )
    with pytest.raises(ConflictError, match="already has these values"):
        metadata.document_edit(change=change, document=log, collection=name)
