from __future__ import annotations

import pytest

from ingestion.curation.undoing import event_undo
from ingestion.documents import services, versions
from ingestion.history import recording
from ingestion.models import (
    Document,
    DocumentState,
    EventKind,
    HistoryEvent,
    IngestionJob,
    RunState,
)
from ingestion.pipeline import batching, runner
from kb_project.errors import ConflictError, PreconditionError
from tests.ingestion.documents.conftest import Begun
from tests.ingestion.versioned import (
    GONE,
    NEW,
    SECOND_TEXT,
    change_of,
    fresh,
    passages,
    ports_with,
    read,
    replaced,
    reverted,
    rows_of,
    version_of,
)
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]

THIRD_TEXT = SECOND_TEXT + "\nThe pier was mended.\n"


@pytest.fixture
def document(once: Begun) -> Document:
    return once[1]


def events(document) -> list[HistoryEvent]:
    rows = [one for one in rows_of(document, HistoryEvent) if "job" in one.details]
    return sorted(rows, key=lambda one: one.sequence)


def undo(document, event: HistoryEvent) -> None:
    """As the service of undoing does it."""
    with access.in_workspace(document.workspace_id):
        change = change_of(document)
        recording.lock(change.workspace)
        versions.undo_event(change=change, event=event)
        HistoryEvent.objects.in_workspace(change.workspace).filter(pk=event.pk).update(
            undone_at=event.created_at
        )


def job_of(event: HistoryEvent) -> IngestionJob:
    with access.in_workspace(event.workspace_id):
        return IngestionJob.objects.in_workspace(event.workspace_id).get(pk=event.details["job"])


# --- taking back ----------------------------------------------------------------------------------
def test_taking_a_version_back_makes_the_one_before_live(document):
    before = {text: one.pk for text, one in passages(document).items()}
    replaced(document, SECOND_TEXT)
    read(document.workspace)

    undo(document, events(document)[0])
    read(document.workspace)

    assert {text: one.pk for text, one in passages(document).items()} == before
    assert (fresh(document).live_number, fresh(document).state) == (1, DocumentState.READY)


def test_a_version_that_is_not_read_yet_is_set_aside(document):
    replaced(document, SECOND_TEXT)
    [event] = events(document)

    undo(document, event)
    read(document.workspace)

    assert job_of(event).state == RunState.CANCELLED
    assert (fresh(document).live_number, fresh(document).state) == (1, DocumentState.READY)
    assert NEW not in passages(document)


def test_a_worker_that_has_begun_with_it_makes_nothing_live(document, monkeypatch):
    replaced(document, SECOND_TEXT)
    [event] = events(document)
    real = runner.STAGES["parse"]

    def parse(*arguments):
        outcome = real(*arguments)
        undo(document, event)
        return outcome

    monkeypatch.setitem(runner.STAGES, "parse", parse)
    runner.run_lane(job_of(event), runner.MAIN, ports_with())

    assert fresh(document).live_number == 1
    assert (GONE in passages(document), NEW in passages(document)) == (True, False)


def test_the_undoing_of_one_that_could_not_be_read_tidies_up(document):
    replaced(document, b"%PDF-1.7 nothing", name="log.pdf")
    read(document.workspace)
    assert fresh(document).state == DocumentState.ATTENTION

    undo(document, events(document)[0])

    assert fresh(document).state == DocumentState.READY


def test_the_undoing_of_a_version_is_undone(document):
    replaced(document, SECOND_TEXT)
    read(document.workspace)
    change = change_of(document)
    undoing = event_undo(change=change, event=events(document)[0])
    read(document.workspace)

    again = event_undo(change=change, event=undoing)
    read(document.workspace)

    assert fresh(document).live_number == 2
    assert NEW in passages(document)
    event_undo(change=change, event=again)
    read(document.workspace)
    assert fresh(document).live_number == 1


def test_the_undoing_of_a_version_that_was_never_read_is_not_undone(document):
    replaced(document, SECOND_TEXT)
    change = change_of(document)
    undoing = event_undo(change=change, event=events(document)[0])

    with pytest.raises(ConflictError, match="never been read"):
        event_undo(change=change, event=undoing)


def test_a_later_version_stands_in_the_way_and_is_named(document):
    replaced(document, SECOND_TEXT)
    read(document.workspace, refreshes=False)
    replaced(document, THIRD_TEXT)
    first, second = events(document)

    with pytest.raises(ConflictError, match="later version, 3"):
        undo(document, first)
    undo(document, second)
    undo(document, first)
    read(document.workspace, refreshes=False)

    assert fresh(document).live_number == 1
    assert GONE in passages(document)


# --- several at once ------------------------------------------------------------------------------
def test_versions_are_read_in_their_order(document):
    replaced(document, SECOND_TEXT)
    replaced(document, THIRD_TEXT)
    second, third = events(document)
    assert (second.details["before"], third.details["before"]) == ({"version": 1}, {"version": 2})

    assert [job.pk for job in batching.next_group(document.workspace_id, runner.MAIN)] == [
        job_of(second).pk
    ]
    read(document.workspace, refreshes=False)

    assert fresh(document).live_number == 3
    assert fresh(document).state == DocumentState.READY
    assert {one.version_id for one in passages(document).values()} == {version_of(document, 3).pk}


def test_work_on_an_earlier_version_that_stopped_is_not_taken_up_again(document):
    replaced(document, b"%PDF-1.7 nothing", name="log.pdf")
    read(document.workspace, refreshes=False)
    replaced(document, THIRD_TEXT)
    read(document.workspace, refreshes=False)

    failed, _ = events(document)
    assert job_of(failed).state == RunState.CANCELLED
    with pytest.raises(ConflictError, match="nothing to retry"):
        retry(document)
    assert fresh(document).live_number == 3


def retry(document) -> None:
    with access.in_workspace(document.workspace_id):
        services.document_retry(workspace=document.workspace, document=document)


def test_the_same_file_twice_is_one_version(document):
    replaced(document, SECOND_TEXT)

    with pytest.raises(ConflictError, match="exactly this content"):
        replaced(document, SECOND_TEXT)


def test_who_had_seen_another_version_is_refused(document):
    replaced(document, SECOND_TEXT)
    with access.in_workspace(document.workspace_id):
        change = recording.ChangeContext(document.workspace, None, expected={document.pk: 0})

        with pytest.raises(PreconditionError):
            versions.document_revert(change=change, document=document, number=1)


# --- what is put away -----------------------------------------------------------------------------
@pytest.mark.parametrize(("field", "said"), [("trashed_at", "trash"), ("disabled_at", "disabled")])
def test_what_is_put_away_gets_no_version(document, field: str, said: str):
    setattr(document, field, document.created_at)
    with access.in_workspace(document.workspace_id):
        document.save(update_fields=[field])

    for attempt in (lambda: replaced(document, SECOND_TEXT), lambda: reverted(document, 1)):
        with pytest.raises(ConflictError, match=said):
            attempt()
    assert not events(document)


def test_a_version_that_was_never_read_is_not_restored(document):
    replaced(document, b"%PDF-1.7 nothing", name="log.pdf")
    read(document.workspace, refreshes=False)

    with pytest.raises(ConflictError, match="never been read"):
        reverted(document, 2)
    with pytest.raises(ConflictError, match="already the current one"):
        reverted(document, 1)


def test_the_event_names_what_was_done(document):
    replaced(document, SECOND_TEXT)

    [event] = events(document)

    assert event.kind == EventKind.DOCUMENT_REPLACED
    assert event.details["names"] == {str(document.pk): document.title}
    assert event.details["file"] == "log.md"
