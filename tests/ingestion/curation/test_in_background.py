"""Changes that concern more documents than a person waits for: a worker applies them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingestion.curation import queries
from ingestion.curation.bulk import entities_delete
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.undoing import event_undo
from ingestion.curation.validation import living
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import HistoryEvent, NameChange, RunState, StageRun
from ingestion.pipeline import propagate
from ingestion.pipeline.workspace_jobs import JobProgress
from ingestion.stage import NO_PROGRESS
from ingestion.stages import reresolve
from ingestion.stages.describe.recompute import recompute_rows
from kb_project.errors import ConflictError, NotFoundError
from kb_project.ports import build_ports
from tests.ingestion import name_changes
from tests.ingestion.curation.papers import Desk, merged
from tests.ingestion.name_changes import kill_after, waiting
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
NOTICE = "The last change to this entity affects many documents."
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


@pytest.fixture(autouse=True)
def _no_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propagate, "AT_ONCE", 1)
    monkeypatch.setattr(reresolve, "GROUP", 1)


def work(desk: Desk) -> None:
    """Do what a worker does, and the refresh after it."""
    name_changes.apply(desk.workspace)
    with access.in_workspace(desk.workspace.pk):
        recompute_rows(desk.workspace.pk)


def listed(desk: Desk) -> set[str]:
    with access.in_workspace(desk.workspace.pk):
        return {one.key for one in knowledge_queries.entities(workspace=desk.workspace)}


def done_at_once(desk: Desk, do: Callable[[], HistoryEvent]) -> object:
    """What the change leads to where nobody is spared the wait."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(propagate, "AT_ONCE", 1000)
        event = do()
        state = desk.state()
        event_undo(change=desk.change(), event=event)
    return state


CHANGES: dict[str, Callable[[Desk], HistoryEvent]] = {
    "a merge": lambda desk: merged(desk, INC, LTD, MERCURY),
    "a merge with a name": lambda desk: entities_merge(
        change=desk.change(), kept=desk.id(INC), others=[desk.id(LTD)], name="Acme"
    ),
    "a deletion": lambda desk: entity_delete(change=desk.change(), entity=desk.id(LTD)),
    "deletions together": lambda desk: entities_delete(
        change=desk.change(), entities=[desk.id(LTD), desk.id(ADA)]
    )[0],
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_worker_comes_to_what_a_request_would(desk: Desk, change: str):
    expected = done_at_once(desk, lambda: CHANGES[change](desk))
    before = desk.mentions()

    CHANGES[change](desk)

    assert desk.mentions() == before
    assert len(waiting(desk.workspace)) == 1
    work(desk)
    assert desk.state() == expected
    with access.in_workspace(desk.workspace.pk):
        assert not NameChange.objects.in_workspace(desk.workspace).exists()


def test_what_few_documents_name_is_changed_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(propagate, "AT_ONCE", 2)

    merged(desk, LTD, INC)  # named in two documents, the other one in three

    assert INC not in desk.names()
    assert not waiting(desk.workspace)


def test_what_was_merged_or_deleted_is_shown_no_longer(desk: Desk):
    merged(desk, INC, LTD)
    entity_delete(change=desk.change(), entity=desk.id(ORRAN))

    assert listed(desk).isdisjoint({LTD, ORRAN})
    with access.in_workspace(desk.workspace.pk):
        for gone in (LTD, ORRAN):
            with pytest.raises(NotFoundError):
                knowledge_queries.entity_get(workspace=desk.workspace, entity_id=desk.id(gone))
            with pytest.raises(ConflictError):
                living(desk.workspace, desk.id(gone))
        former = queries.entity_gone(workspace=desk.workspace, entity_id=desk.id(LTD))
    assert former.into is not None
    assert former.into.pk == desk.id(INC)


def test_a_name_that_was_deleted_is_free_at_once(desk: Desk):
    entity_delete(change=desk.change(), entity=desk.id(LTD))

    entity_create(change=desk.change(), name="Acme Ltd", type="ship")

    assert LTD in listed(desk)
    work(desk)
    assert desk.mentions()[LTD] == 3
    assert desk.entity(LTD).type == "ship"


def test_the_history_tells_what_will_have_moved(desk: Desk):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(propagate, "AT_ONCE", 1000)
        at_once = merged(desk, INC, LTD)
        event_undo(change=desk.change(), event=at_once)

    later = merged(desk, INC, LTD)

    assert later.details["counts"] == at_once.details["counts"]
    assert later.details["counts"]["mentions"] == 3


def test_it_resumes_after_the_documents_that_are_done(desk: Desk):
    merged(desk, INC, LTD)
    [job] = waiting(desk.workspace)

    kill_after(2, job)
    assert desk.mentions()[LTD] == 1

    assert reresolve.run(job, build_ports(), NO_PROGRESS).written == 1
    assert LTD not in desk.mentions()


@pytest.mark.parametrize("documents_done", [0, 1, 2])
def test_an_undo_in_the_middle_gives_what_was_before(desk: Desk, documents_done: int):
    before = desk.state()
    event = merged(desk, INC, LTD)
    [job] = waiting(desk.workspace)
    kill_after(documents_done, job)

    undone = event_undo(change=desk.change(), event=event)

    assert LTD in listed(desk)
    assert undone.details["counts"]["mentions"] == 3
    work(desk)
    assert desk.state() == before


def test_later_changes_count_in_documents_that_still_wait(desk: Desk):
    merged(desk, INC, LTD)
    entities_merge(change=desk.change(), kept=desk.id(ORRAN), others=[desk.id(INC)])
    entity_edit(change=desk.change(), entity=desk.id(ORRAN), name="Orran Works")

    work(desk)

    assert desk.mentions() == {ADA: 2, MERCURY: 2, ORRAN: 7}
    assert desk.entity(ORRAN).name == "Orran Works"


def test_the_entity_that_stays_tells_how_far_the_change_is(desk: Desk):
    merged(desk, INC, LTD)
    [job] = waiting(desk.workspace)
    with access.in_workspace(desk.workspace.pk):
        StageRun.objects.in_workspace(desk.workspace).filter(job=job).update(
            units_done=1, units_total=3
        )

        found = queries.change_work(workspace=desk.workspace, entity=desk.entity(INC))
        other = queries.change_work(workspace=desk.workspace, entity=desk.entity(MERCURY))

    assert found == JobProgress(RunState.PENDING, 1, 3)
    assert other is None
    work(desk)
    with access.in_workspace(desk.workspace.pk):
        assert queries.change_work(workspace=desk.workspace, entity=desk.entity(INC)) is None


def test_pages_tell_it_until_it_is_done(desk: Desk):
    merged(desk, INC, LTD)

    for user in (desk.cast.alice, desk.cast.bob):
        assert NOTICE in page_of(user, "entity_detail", desk.cast, desk.id(INC))
        assert NOTICE not in page_of(user, "entity_detail", desk.cast, desk.id(MERCURY))
        gone = client_of(user).get(address("entity_detail", desk.cast, desk.id(LTD)))
        assert gone.status_code == 410
    work(desk)
    assert NOTICE not in page_of(desk.cast.alice, "entity_detail", desk.cast, desk.id(INC))


def fail(desk: Desk) -> None:
    """Merge two entities, and have the worker fail for good."""
    merged(desk, INC, LTD)
    name_changes.fail(desk.workspace)


def test_a_change_that_failed_goes_on_when_a_curator_says_so(desk: Desk):
    fail(desk)
    cast, kept = desk.cast, desk.id(INC)
    resume = address("change_resume", cast, kept)

    assert resume in page_of(cast.alice, "entity_detail", cast, kept)
    assert resume not in page_of(cast.bob, "entity_detail", cast, kept)
    assert client_of(cast.bob).post(resume).status_code == 403
    assert client_of(cast.charlie).post(resume).status_code == 404
    assert not waiting(desk.workspace)
    assert client_of(cast.alice).post(resume).status_code == 302
    work(desk)

    assert LTD not in desk.mentions()
    assert NOTICE not in page_of(cast.alice, "entity_detail", cast, kept)


def test_programs_see_how_far_it_is_and_resume_it(desk: Desk):
    fail(desk)
    client, slug = client_of(desk.cast.alice), desk.workspace.slug
    entity = f"/api/v1/workspaces/{slug}/entities/{desk.id(INC)}/"

    assert client.get(entity).json()["change"] == {"done": 0, "total": 3, "has_stopped": True}
    resumed = client.post(f"/api/v1/workspaces/{slug}/documents/resume/")
    assert resumed.json() == {"jobs": 1}
    work(desk)

    assert client.get(entity).json()["change"] is None
    assert LTD not in desk.mentions()


def test_a_change_that_failed_goes_on_with_the_next(desk: Desk):
    fail(desk)
    with access.in_workspace(desk.workspace.pk):
        found = queries.change_work(workspace=desk.workspace, entity=desk.entity(INC))
    assert found is not None
    assert found.has_stopped

    entity_delete(change=desk.change(), entity=desk.id(ORRAN))

    assert len(waiting(desk.workspace)) == 2
    work(desk)
    assert LTD not in desk.mentions()


def test_names_told_apart_come_back(desk: Desk):
    before = desk.state()
    event = merged(desk, INC, LTD)
    work(desk)

    event_undo(change=desk.change(), event=event)
    entities_differ(change=desk.change(), entities=[desk.id(INC), desk.id(MERCURY)])
    work(desk)

    assert desk.state() == before
