"""What people say of a document, and what is read again for it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingestion import history, life, pipeline
from ingestion.editing import said_of
from ingestion.history import Deed
from ingestion.models import (
    Chunk,
    Document,
    DocumentState,
    EventKind,
    IngestionJob,
    RunState,
)
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion import jobs, state
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake_embedder")]

PLAIN: dict[str, Any] = {"collection": "Light", "tags": ["Oil", "oil "], "dated": date(1987, 5, 11)}
AGAIN = {"situate", "embed", "extract", "resolve"}


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def deed(workspace: Workspace) -> Deed:
    return Deed(workspace, rows.make_user("Alice"))


@pytest.fixture
def log(workspace: Workspace) -> Document:
    return state.read(workspace, {"Log": state.TEXTS["Log"]})["Log"]


def now(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        rows_ = Document.objects.in_workspace(document.workspace_id).select_related("collection")
        return rows_.get(pk=document.pk)


def ran_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The stages of documents that are run when everything follows."""
    ran: set[str] = set()
    with monkeypatch.context() as patch:
        for name in pipeline.DOCUMENT_STAGES:
            inner = pipeline.STAGES[name]

            def noting(*arguments: object, name=name, inner=inner) -> object:
                ran.add(name)
                return inner(*arguments)

            patch.setitem(pipeline.STAGES, name, noting)
        state.settled(workspace)
    return ran


def test_plain_changes_have_nothing_read_again(
    deed: Deed, log: Document, monkeypatch: pytest.MonkeyPatch
):
    event = life.document_edit(deed=deed, document=log, **PLAIN)

    row = now(log)
    assert (row.collection and row.collection.name, row.tags) == ("Light", ["oil"])
    assert row.dated == date(1987, 5, 11)
    assert event.kind == EventKind.DOCUMENT_EDITED
    assert event.details["before"] == {"collection": "", "tags": [], "dated": None}
    assert not ran_again(deed.workspace, monkeypatch)


def test_a_new_title_has_read_again_what_depends_on_it(
    deed: Deed, log: Document, monkeypatch: pytest.MonkeyPatch
):
    life.document_edit(deed=deed, document=log, title="  The   keepers ")

    assert now(log).title == "The keepers"
    assert ran_again(deed.workspace, monkeypatch) == AGAIN
    fresh = rows.make_workspace("Fresh")
    state.read(fresh, {"The keepers": state.TEXTS["Log"]})
    assert state.graph(deed.workspace) == state.graph(fresh)
    with access.in_workspace(deed.workspace.pk):
        assert "The keepers" in Chunk.objects.in_workspace(deed.workspace).get().context


def test_a_title_can_be_taken_back(deed: Deed, log: Document):
    before = state.graph(deed.workspace)
    event = life.document_edit(deed=deed, document=log, title="The keepers", tags=["oil"])
    state.settled(deed.workspace)

    with access.in_workspace(deed.workspace.pk):
        history.lock(deed.workspace)
        life.take_back(deed=deed, event=event)
    state.settled(deed.workspace)

    assert (now(log).title, now(log).tags) == ("Log", [])
    assert state.graph(deed.workspace) == before


def test_a_new_title_of_what_is_disabled_is_read_once_it_is_back(
    deed: Deed, log: Document, monkeypatch: pytest.MonkeyPatch
):
    life.document_disable(deed=deed, document=log)
    life.document_edit(deed=deed, document=log, title="The keepers")
    assert not ran_again(deed.workspace, monkeypatch)

    life.document_enable(deed=deed, document=log)

    assert ran_again(deed.workspace, monkeypatch) == AGAIN
    assert now(log).state == DocumentState.READY


def test_a_title_given_before_it_is_read_stays(deed: Deed):
    log = jobs.document_of(jobs.add(deed.workspace))

    life.document_edit(deed=deed, document=log, title="The keepers")
    state.settled(deed.workspace)

    assert (now(log).title, now(log).state) == ("The keepers", DocumentState.READY)


def test_no_title_changes_under_those_who_read(deed: Deed, log: Document):
    with access.in_workspace(deed.workspace.pk):
        IngestionJob.objects.in_workspace(deed.workspace).update(state=RunState.RUNNING)

    with pytest.raises(ConflictError, match="is being read"):
        life.document_edit(deed=deed, document=log, title="The keepers")

    assert now(log).title == "Log"


@pytest.mark.parametrize("title", ["", " \0 ", "x" * 501, "x" * 10_000])
def test_a_title_has_some_characters_and_not_too_many(deed: Deed, log: Document, title: str):
    with pytest.raises(InputError):
        life.document_edit(deed=deed, document=log, title=title)


def test_what_is_said_already_and_what_is_in_the_trash_is_not_edited(deed: Deed, log: Document):
    with pytest.raises(ConflictError) as same:
        life.document_edit(deed=deed, document=log, title="Log")
    life.document_trash(deed=deed, document=log)
    with pytest.raises(ConflictError) as away:
        life.document_edit(deed=deed, document=log, title="The keepers")

    assert (same.value.code, away.value.code) == ("nothing_changed", "in_trash")


def test_a_collection_of_a_long_name_is_told_as_it_is_called(deed: Deed, log: Document):
    name = f"{'x' * 119} and more"

    event = life.document_edit(deed=deed, document=log, collection=name)

    assert event.details["after"]["collection"] == said_of(now(log))["collection"] == "x" * 119
    with pytest.raises(ConflictError, match="says all of this already"):
        life.document_edit(deed=deed, document=log, collection=name)
