"""Documents that are disabled, put into the trash, restored and deleted, and what history says."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.utils import timezone

from ingestion.documents import lifecycle, services
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    ArchivedChunk,
    Document,
    DocumentVersion,
    EventKind,
    HistoryEvent,
)
from kb_project.errors import ConflictError, PreconditionError
from tests import rows
from tests.ingestion import jobs, state
from tests.ingestion.once import Kept, once_a_module
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


class Read(NamedTuple):
    change: ChangeContext
    documents: dict[str, Document]
    without_log: list[dict[str, Any]]


def contents(workspace: Workspace) -> list[dict[str, Any]]:
    kinds = [Document, DocumentVersion, ArchivedChunk]
    return [state.graph(workspace), state.numbers(workspace, kinds)]


def begin() -> Read:
    """A workspace whose documents were read, and what one without the log holds."""
    without = rows.make_workspace("Fresh")
    state.read(without, {name: state.TEXTS[name] for name in ("Ledger", "Lease")})
    change = ChangeContext(rows.make_workspace(), rows.make_user("Alice"), via="page")
    return Read(change, state.read(change.workspace), contents(without))


read_once = once_a_module(begin, Kept)


@pytest.fixture
def read(read_once: Kept[Read], media: Path) -> Read:
    return read_once.for_a_test(media)


def now(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        return Document.objects.in_workspace(document.workspace_id).get(pk=document.pk)


def revision(document: Document) -> int:
    with access.in_workspace(document.workspace_id):
        return recording.revisions(document.workspace, [document.pk])[document.pk]


def events(workspace: Workspace) -> list[str]:
    with access.in_workspace(workspace.pk):
        found = HistoryEvent.objects.in_workspace(workspace).order_by("sequence")
        return list(found.values_list("kind", flat=True))


def undo(change: ChangeContext, event: HistoryEvent) -> None:
    with access.in_workspace(change.workspace.pk):
        recording.lock(change.workspace)
        lifecycle.undo_event(change=change, event=event)


def last_event(workspace: Workspace) -> HistoryEvent:
    with access.in_workspace(workspace.pk):
        return HistoryEvent.objects.in_workspace(workspace)[0]


# --- moves ----------------------------------------------------------------------------------------
def test_what_is_disabled_is_kept_and_not_searched(change: ChangeContext, log: Document):
    lifecycle.documents_disable(change=change, documents=[log])

    row = now(log)
    assert row.disabled_at
    assert not row.is_live
    lifecycle.documents_enable(change=change, documents=[log])
    assert now(log).is_live


def test_what_was_disabled_is_so_again_when_it_comes_from_the_trash(
    change: ChangeContext, log: Document
):
    lifecycle.documents_disable(change=change, documents=[log])
    lifecycle.documents_trash(change=change, documents=[log])

    lifecycle.documents_restore(change=change, documents=[log])

    row = now(log)
    assert (row.trashed_at, row.trashed_by) == (None, None)
    assert row.disabled_at


def test_what_is_disabled_in_the_trash_is_restored_before_it_is_enabled(
    change: ChangeContext, log: Document
):
    lifecycle.documents_disable(change=change, documents=[log])
    lifecycle.documents_trash(change=change, documents=[log])

    for act in (lifecycle.documents_enable, lifecycle.documents_disable):
        with pytest.raises(ConflictError) as refused:
            act(change=change, documents=[log])
        assert (refused.value.code, refused.value.happened, refused.value.next_step) == (
            "in_trash",
            "'log.txt' is in the trash.",
            "Restore it first.",
        )


def test_only_what_is_searched_counts_as_leaving_and_coming_back(read: Read):
    change, documents = read.change, read.documents
    lifecycle.documents_disable(change=change, documents=[documents["Log"]])
    both = [documents["Log"], documents["Ledger"]]

    trashed = lifecycle.documents_trash(change=change, documents=both)
    restored = lifecycle.documents_restore(change=change, documents=both)

    for event in (trashed, restored):
        assert event.details["counts"]["documents"] == 2
        assert event.details["counts"]["passages"] == 1


def test_the_trash_knows_who_and_when(change: ChangeContext, log: Document):
    lifecycle.documents_trash(change=change, documents=[log])

    row = now(log)
    assert row.trashed_by == change.user
    assert row.trashed_at


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lifecycle.documents_enable, "not_disabled"),
        (lifecycle.documents_restore, "not_in_trash"),
    ],
)
def test_what_changes_nothing_is_refused(
    change: ChangeContext, log: Document, act: Callable[..., HistoryEvent], code: str
):
    with pytest.raises(ConflictError) as refused:
        act(change=change, documents=[log])

    assert refused.value.code == code
    assert events(change.workspace) == [EventKind.DOCUMENT_ADDED]


def test_to_the_trash_twice_is_refused(change: ChangeContext, log: Document):
    lifecycle.documents_trash(change=change, documents=[log])

    with pytest.raises(ConflictError, match="already in the trash"):
        lifecycle.documents_trash(change=change, documents=[log])


def test_somebody_who_saw_another_state_is_told_what_was_done_since(
    change: ChangeContext, log: Document
):
    seen = revision(log)
    event = lifecycle.documents_disable(change=change, documents=[log])

    late = ChangeContext(change.workspace, change.user, expected={log.pk: seen})
    with pytest.raises(PreconditionError) as refused:
        lifecycle.documents_trash(change=late, documents=[log])

    assert refused.value.events == (event.pk,)
    assert now(log).trashed_at is None


def test_a_batch_is_one_event_that_names_all(change: ChangeContext):
    documents = [
        jobs.document_of(jobs.add(change.workspace, f"{n}.txt", f"{jobs.TEXT} {n}"))
        for n in range(3)
    ]

    event = lifecycle.documents_trash(change=change, documents=documents)

    with access.in_workspace(change.workspace.pk):
        subjects = set(event.subjects.values_list("subject_id", flat=True))
    assert subjects == {one.pk for one in documents}
    assert len(event.details["names"]) == 3
    assert {revision(one) for one in documents} == {event.sequence}


def test_an_event_tells_what_followed(read: Read):
    event = lifecycle.documents_trash(change=read.change, documents=[read.documents["Log"]])

    counts = event.details["counts"]
    assert (counts["documents"], counts["passages"]) == (1, 1)
    assert counts["facts"] + counts["facts_kept"] > 0


def test_adding_is_an_event_too(change: ChangeContext, log: Document):
    event = last_event(change.workspace)

    assert event.kind == EventKind.DOCUMENT_ADDED
    assert event.details["names"] == {str(log.pk): "log.txt"}
    assert revision(log) == 1


def test_many_that_are_added_together_are_one_event(read: Read):
    assert events(read.change.workspace).count(EventKind.DOCUMENT_ADDED) == 1


# --- undoing --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("acts", "is_live"),
    [
        ([lifecycle.documents_disable], True),
        ([lifecycle.documents_disable, lifecycle.documents_enable], False),
        ([lifecycle.documents_trash], True),
        ([lifecycle.documents_trash, lifecycle.documents_restore], False),
    ],
    ids=["disable", "enable", "trash", "restore"],
)
def test_every_move_can_be_taken_back(
    change: ChangeContext, log: Document, acts: list[Callable[..., HistoryEvent]], is_live: bool
):
    event = [act(change=change, documents=[log]) for act in acts][-1]

    undo(change, event)

    assert now(log).is_live is is_live


def test_taking_an_addition_back_puts_it_into_the_trash(change: ChangeContext, log: Document):
    undo(change, last_event(change.workspace))

    assert now(log).trashed_at


def test_a_deletion_for_good_cannot_be_taken_back(change: ChangeContext, log: Document):
    event = lifecycle.documents_delete(change=change, documents=[log])

    with pytest.raises(ConflictError, match=r"'log.txt' was deleted for good"):
        undo(change, event)


def test_nothing_of_a_batch_comes_back_without_the_one_that_is_gone(read: Read):
    change, documents = read.change, list(read.documents.values())
    event = lifecycle.documents_trash(change=change, documents=documents)
    lifecycle.documents_delete(change=change, documents=[documents[0]])

    with pytest.raises(ConflictError, match="deleted for good"):
        undo(change, event)

    assert not any(now(one).is_live for one in documents[1:])


# --- deleting for good ----------------------------------------------------------------------------
@pytest.mark.parametrize("first", [None, lifecycle.documents_disable, lifecycle.documents_trash])
def test_nothing_of_a_deleted_document_is_left(
    read: Read, first: Callable[..., HistoryEvent] | None, media: Path
):
    change, documents = read.change, read.documents
    with access.in_workspace(change.workspace.pk):
        version = DocumentVersion.objects.in_workspace(change.workspace).get(
            document=documents["Log"]
        )
    pictures = media / f"{version.blob}.pages"
    pictures.mkdir()
    if first:
        first(change=change, documents=[documents["Log"]])

    event = lifecycle.documents_delete(change=change, documents=[documents["Log"]])
    state.settled(change.workspace)

    assert not (media / version.blob).exists()
    assert not pictures.exists()
    assert contents(change.workspace) == read.without_log
    assert event.details["names"] == {str(documents["Log"].pk): "Log"}


def test_the_last_document_leaves_an_empty_workspace(read: Read):
    change = read.change
    lifecycle.documents_delete(change=change, documents=list(read.documents.values()))
    state.settled(change.workspace)

    assert not any(state.numbers(change.workspace).values())
    assert not any(state.graph(change.workspace).values())


def test_deleting_what_is_gone_is_refused(change: ChangeContext, log: Document):
    lifecycle.documents_delete(change=change, documents=[log])

    with pytest.raises(ConflictError):
        lifecycle.documents_delete(change=change, documents=[log])


def test_what_has_been_in_the_trash_for_too_long_is_deleted(change: ChangeContext, settings):
    old, new = (
        jobs.document_of(jobs.add(change.workspace, name, name)) for name in ("old.txt", "new.txt")
    )
    lifecycle.documents_trash(change=change, documents=[old, new])
    with access.in_workspace(change.workspace.pk):
        then = timezone.now() - timedelta(days=settings.TRASH_DAYS, minutes=1)
        Document.objects.in_workspace(change.workspace).filter(pk=old.pk).update(trashed_at=then)

    assert lifecycle.trash_purge([change.workspace.pk]) == 1
    assert lifecycle.trash_purge([change.workspace.pk]) == 0

    with access.in_workspace(change.workspace.pk):
        assert list(Document.objects.in_workspace(change.workspace)) == [new]
    event = last_event(change.workspace)
    assert (event.kind, event.user, event.via) == (EventKind.DOCUMENT_DELETED, None, "schedule")


def test_what_was_restored_meanwhile_is_not_deleted_with_the_trash(change: ChangeContext):
    log, letter = (jobs.document_of(jobs.add(change.workspace, name, name)) for name in "ab")
    lifecycle.documents_trash(change=change, documents=[log, letter])
    looked_at = [now(log), now(letter)]
    lifecycle.documents_restore(change=change, documents=[log])

    lifecycle.documents_delete(change=change, documents=looked_at)

    with access.in_workspace(change.workspace.pk):
        assert list(Document.objects.in_workspace(change.workspace)) == [log]
    with pytest.raises(ConflictError):
        lifecycle.documents_delete(change=change, documents=looked_at)
    lifecycle.documents_delete(change=change, documents=[now(log)])


# --- the same again -------------------------------------------------------------------------------
def upload(workspace: Workspace, text: str = jobs.TEXT) -> services.Upload:
    with access.in_workspace(workspace.pk):
        return services.document_upload(
            workspace=workspace, file=io.BytesIO(text.encode()), name="again.txt"
        )


def test_the_same_file_again_is_said_to_be_in_the_trash(change: ChangeContext, log: Document):
    lifecycle.documents_trash(change=change, documents=[log])

    twin = upload(change.workspace)

    assert (twin.document, twin.is_duplicate, twin.is_in_trash) == (log, True, True)


def test_one_that_is_there_is_named_before_one_in_the_trash(change: ChangeContext, log: Document):
    lifecycle.documents_trash(change=change, documents=[log])
    with access.in_workspace(change.workspace.pk):
        other = services.document_add(
            workspace=change.workspace,
            name="b.txt",
            title="B",
            content=io.BytesIO(jobs.TEXT.encode()),
        )

    twin = upload(change.workspace)

    assert (twin.document, twin.is_in_trash) == (other, False)


@pytest.mark.parametrize(("title", "text"), [("log.txt", "Else."), ("Else", jobs.TEXT)])
def test_what_comes_back_beside_its_like_says_so(
    change: ChangeContext, log: Document, title: str, text: str
):
    lifecycle.documents_trash(change=change, documents=[log])
    with access.in_workspace(change.workspace.pk):
        services.document_add(
            workspace=change.workspace, name="b.txt", title=title, content=io.BytesIO(text.encode())
        )

    event = lifecycle.documents_restore(change=change, documents=[log])

    assert event.details["twins"] == [title]
    assert now(log).title == "log.txt"
