"""Documents that are disabled, put into the trash, restored and deleted, and what history says."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from ingestion import history, life, services
from ingestion.history import Deed
from ingestion.models import (
    Document,
    DocumentVersion,
    EventKind,
    HistoryEvent,
    ShelvedChunk,
)
from kb_project.errors import ConflictError, PreconditionError
from tests import rows
from tests.ingestion import jobs, state
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def deed(workspace: Workspace) -> Deed:
    return Deed(workspace, rows.make_user("Alice"), via="page")


@pytest.fixture
def log(workspace: Workspace) -> Document:
    """A document that waits to be read."""
    return jobs.document_of(jobs.add(workspace))


def now(document: Document) -> Document:
    with access.in_workspace(document.workspace_id):
        return Document.objects.in_workspace(document.workspace_id).get(pk=document.pk)


def revision(document: Document) -> int:
    with access.in_workspace(document.workspace_id):
        return history.revisions(document.workspace, [document.pk])[document.pk]


def events(workspace: Workspace) -> list[str]:
    with access.in_workspace(workspace.pk):
        found = HistoryEvent.objects.in_workspace(workspace).order_by("sequence")
        return list(found.values_list("kind", flat=True))


def undo(deed: Deed, event: HistoryEvent) -> None:
    with access.in_workspace(deed.workspace.pk):
        history.lock(deed.workspace)
        life.take_back(deed=deed, event=event)


def last_event(workspace: Workspace) -> HistoryEvent:
    with access.in_workspace(workspace.pk):
        found = HistoryEvent.objects.in_workspace(workspace).first()
        assert found
        return found


# --- moves ----------------------------------------------------------------------------------------
def test_what_is_disabled_is_kept_and_not_searched(deed: Deed, log: Document):
    life.document_disable(deed=deed, document=log)

    row = now(log)
    assert row.disabled_at
    assert not row.is_live
    life.document_enable(deed=deed, document=log)
    assert now(log).is_live


def test_what_was_disabled_is_so_again_when_it_comes_from_the_trash(deed: Deed, log: Document):
    life.document_disable(deed=deed, document=log)
    life.document_trash(deed=deed, document=log)

    life.document_restore(deed=deed, document=log)

    row = now(log)
    assert (row.trashed_at, row.trashed_by) == (None, None)
    assert row.disabled_at


def test_the_trash_knows_who_and_when(deed: Deed, log: Document):
    life.document_trash(deed=deed, document=log)

    row = now(log)
    assert row.trashed_by == deed.user
    assert row.trashed_at


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (life.document_enable, "not_disabled"),
        (life.document_restore, "not_in_trash"),
    ],
)
def test_what_changes_nothing_is_refused(
    deed: Deed, log: Document, act: Callable[..., HistoryEvent], code: str
):
    with pytest.raises(ConflictError) as refused:
        act(deed=deed, document=log)

    assert refused.value.code == code
    assert events(deed.workspace) == [EventKind.DOCUMENT_ADDED]


def test_to_the_trash_twice_is_refused(deed: Deed, log: Document):
    life.document_trash(deed=deed, document=log)

    with pytest.raises(ConflictError, match="in the trash already"):
        life.document_trash(deed=deed, document=log)


def test_somebody_who_saw_another_state_is_told_what_was_done_since(deed: Deed, log: Document):
    seen = revision(log)
    event = life.document_disable(deed=deed, document=log)

    late = Deed(deed.workspace, deed.user, expected={log.pk: seen})
    with pytest.raises(PreconditionError) as refused:
        life.document_trash(deed=late, document=log)

    assert refused.value.events == (event.pk,)
    assert now(log).trashed_at is None


def test_a_batch_is_one_event_that_names_all(deed: Deed):
    documents = [
        jobs.document_of(jobs.add(deed.workspace, f"{n}.txt", f"{jobs.TEXT} {n}")) for n in range(3)
    ]

    event = life.documents_trash(deed=deed, documents=documents)

    with access.in_workspace(deed.workspace.pk):
        subjects = set(event.subjects.values_list("subject_id", flat=True))
    assert subjects == {one.pk for one in documents}
    assert len(event.details["names"]) == 3
    assert {revision(one) for one in documents} == {event.sequence}


def test_an_event_tells_what_followed(deed: Deed):
    documents = state.read(deed.workspace)

    event = life.document_trash(deed=deed, document=documents["Log"])

    counts = event.details["counts"]
    assert counts["documents"] == 1
    assert counts["passages"] == 1
    assert counts["facts"] + counts["facts_kept"] > 0


def test_adding_is_an_event_too(deed: Deed, log: Document):
    event = last_event(deed.workspace)

    assert event.kind == EventKind.DOCUMENT_ADDED
    assert event.details["names"] == {str(log.pk): "log.txt"}
    assert revision(log) == 1


def test_many_that_are_added_together_are_one_event(workspace: Workspace):
    state.read(workspace)

    assert events(workspace).count(EventKind.DOCUMENT_ADDED) == 1


# --- undoing --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("acts", "is_live"),
    [
        ([life.document_disable], True),
        ([life.document_disable, life.document_enable], False),
        ([life.document_trash], True),
        ([life.document_trash, life.document_restore], False),
    ],
    ids=["disable", "enable", "trash", "restore"],
)
def test_every_move_can_be_taken_back(
    deed: Deed, log: Document, acts: list[Callable[..., HistoryEvent]], is_live: bool
):
    event = [act(deed=deed, document=log) for act in acts][-1]

    undo(deed, event)

    assert now(log).is_live is is_live


def test_taking_an_addition_back_puts_it_into_the_trash(deed: Deed, log: Document):
    undo(deed, last_event(deed.workspace))

    assert now(log).trashed_at


def test_a_deletion_for_good_cannot_be_taken_back(deed: Deed, log: Document):
    event = life.document_delete(deed=deed, document=log)

    with pytest.raises(ConflictError, match=r"'log.txt' was deleted for good"):
        undo(deed, event)


def test_nothing_of_a_batch_comes_back_without_the_one_that_is_gone(deed: Deed):
    documents = list(state.read(deed.workspace).values())
    event = life.documents_trash(deed=deed, documents=documents)
    life.document_delete(deed=deed, document=documents[0])

    with pytest.raises(ConflictError, match="deleted for good"):
        undo(deed, event)

    assert not any(now(one).is_live for one in documents[1:])


# --- deleting for good ----------------------------------------------------------------------------
@pytest.mark.parametrize("first", [None, life.document_disable, life.document_trash])
def test_nothing_of_a_deleted_document_is_left(
    deed: Deed, first: Callable[..., HistoryEvent] | None, media: Path
):
    documents = state.read(deed.workspace)
    with access.in_workspace(deed.workspace.pk):
        version = DocumentVersion.objects.in_workspace(deed.workspace).get(
            document=documents["Log"]
        )
    pictures = media / f"{version.blob}.pages"
    pictures.mkdir()
    if first:
        first(deed=deed, document=documents["Log"])

    event = life.document_delete(deed=deed, document=documents["Log"])
    state.settled(deed.workspace)

    assert not (media / version.blob).exists()
    assert not pictures.exists()
    fresh = rows.make_workspace("Fresh")
    state.read(fresh, {name: state.TEXTS[name] for name in ("Ledger", "Lease")})
    assert state.graph(deed.workspace) == state.graph(fresh)
    left = [Document, DocumentVersion, ShelvedChunk]
    assert state.numbers(deed.workspace, left) == state.numbers(fresh, left)
    assert event.details["names"] == {str(documents["Log"].pk): "Log"}


def test_the_last_document_leaves_an_empty_workspace(deed: Deed):
    documents = state.read(deed.workspace)

    life.documents_delete(deed=deed, documents=list(documents.values()))
    state.settled(deed.workspace)

    assert not any(state.numbers(deed.workspace).values())
    assert not any(state.graph(deed.workspace).values())


def test_deleting_what_is_gone_is_refused(deed: Deed, log: Document):
    life.document_delete(deed=deed, document=log)

    with pytest.raises(ConflictError):
        life.document_delete(deed=deed, document=log)


def test_what_has_been_in_the_trash_for_too_long_is_deleted(deed: Deed, settings):
    old, new = (
        jobs.document_of(jobs.add(deed.workspace, name, name)) for name in ("old.txt", "new.txt")
    )
    life.documents_trash(deed=deed, documents=[old, new])
    with access.in_workspace(deed.workspace.pk):
        then = timezone.now() - timedelta(days=settings.TRASH_DAYS, minutes=1)
        Document.objects.in_workspace(deed.workspace).filter(pk=old.pk).update(trashed_at=then)

    assert life.trash_purge() == 1
    assert life.trash_purge() == 0

    with access.in_workspace(deed.workspace.pk):
        assert list(Document.objects.in_workspace(deed.workspace)) == [new]
    event = last_event(deed.workspace)
    assert (event.kind, event.user, event.via) == (EventKind.DOCUMENT_DELETED, None, "schedule")


def test_what_was_restored_meanwhile_is_not_deleted_with_the_trash(deed: Deed):
    log, letter = (jobs.document_of(jobs.add(deed.workspace, name, name)) for name in "ab")
    life.documents_trash(deed=deed, documents=[log, letter])
    looked_at = [now(log), now(letter)]
    life.document_restore(deed=deed, document=log)

    life.documents_delete(deed=deed, documents=looked_at)

    with access.in_workspace(deed.workspace.pk):
        assert list(Document.objects.in_workspace(deed.workspace)) == [log]
    with pytest.raises(ConflictError):
        life.documents_delete(deed=deed, documents=looked_at)
    life.documents_delete(deed=deed, documents=[now(log)])


# --- the same again -------------------------------------------------------------------------------
def upload(workspace: Workspace, text: str = jobs.TEXT) -> services.Upload:
    with access.in_workspace(workspace.pk):
        return services.document_upload(
            workspace=workspace, file=io.BytesIO(text.encode()), name="again.txt"
        )


def test_the_same_file_again_is_said_to_be_in_the_trash(deed: Deed, log: Document):
    life.document_trash(deed=deed, document=log)

    twin = upload(deed.workspace)

    assert (twin.document, twin.is_duplicate, twin.is_in_trash) == (log, True, True)


def test_one_that_is_there_is_named_before_one_in_the_trash(deed: Deed, log: Document):
    life.document_trash(deed=deed, document=log)
    with access.in_workspace(deed.workspace.pk):
        other = services.document_add(
            workspace=deed.workspace,
            name="b.txt",
            title="B",
            content=io.BytesIO(jobs.TEXT.encode()),
        )

    twin = upload(deed.workspace)

    assert (twin.document, twin.is_in_trash) == (other, False)


@pytest.mark.parametrize(("title", "text"), [("log.txt", "Else."), ("Else", jobs.TEXT)])
def test_what_comes_back_beside_its_like_says_so(deed: Deed, log: Document, title: str, text: str):
    life.document_trash(deed=deed, document=log)
    with access.in_workspace(deed.workspace.pk):
        services.document_add(
            workspace=deed.workspace, name="b.txt", title=title, content=io.BytesIO(text.encode())
        )

    event = life.document_restore(deed=deed, document=log)

    assert event.details["twins"] == [title]
    assert now(log).title == "log.txt"
