"""A deleted workspace: closed at once, restorable for days, then gone without a trace."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.documents import services as documents
from ingestion.models import CorpusVersion, IngestionJob, RunState
from ingestion.pipeline import needs, recovery, runner
from kb_project.errors import ConflictError, InputError, NotFoundError, PauseError
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from retrieval.answering import jobs
from retrieval.conversations import asking, streaming
from retrieval.models import Answer, AnswerState
from tests import rows
from workspaces import access
from workspaces.administration import services
from workspaces.models import AuditAction, AuditEvent, Workspace
from workspaces.models.people import TenantQuerySet
from workspaces.people import queries as people_queries
from workspaces.ports import ports_for

pytestmark = pytest.mark.django_db


def delete(cast: rows.Cast) -> None:
    services.workspace_delete(workspace=cast.workspace, user=cast.alice, name="Harbour")


def let_time_pass(workspace: Workspace) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Workspace.objects.filter(pk=workspace.pk).update(purge_at=past)


def actions(workspace: Workspace) -> list[str]:
    with access.in_workspace(workspace.pk):
        found = AuditEvent.objects.in_workspace(workspace).order_by("created_at")
        return list(found.values_list("action", flat=True))


# --- closed ---------------------------------------------------------------------------------------
def test_members_lose_access_at_once_and_the_owner_learns_until_when_it_is_kept():
    cast = rows.make_cast()

    delete(cast)

    with pytest.raises(NotFoundError) as for_bob:
        access.workspace_for_reading(user=cast.bob, workspace_id="harbour")
    with pytest.raises(access.DeletedError, match="Harbour was deleted") as for_alice:
        access.workspace_for_reading(user=cast.alice, workspace_id="harbour")
    assert for_bob.value.code == "not_found"
    assert for_alice.value.code == "workspace_deleted"
    assert actions(cast.workspace)[-1] == AuditAction.WORKSPACE_DELETED


def test_being_refused_opens_no_rows():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")
    delete(cast)

    with pytest.raises(access.DeletedError):
        access.workspace_for_reading(user=cast.alice, workspace_id="harbour")

    [(scope,)] = run_sql("SELECT current_setting('app.workspace_id', true)")
    assert scope == ""


def test_only_owners_still_see_that_it_was_there():
    cast = rows.make_cast()

    delete(cast)

    assert [one.is_deleted for one in people_queries.workspaces_of(user=cast.alice)] == [True]
    assert people_queries.workspaces_of(user=cast.bob) == []


@pytest.mark.parametrize("name", ["", "harbor", "HARBOUR"])
def test_the_name_confirms(name: str):
    cast = rows.make_cast()

    with pytest.raises(InputError, match="not the name"):
        services.workspace_delete(workspace=cast.workspace, user=cast.alice, name=name)

    assert not Workspace.objects.get().is_deleted


def test_commands_do_not_add_to_a_deleted_workspace():
    cast = rows.make_cast()
    delete(cast)

    with pytest.raises(ConflictError, match="was deleted"):
        people_queries.workspace_at(slug="harbour")


# --- work under way -------------------------------------------------------------------------------
@pytest.fixture
def reading(media: Path, fake_embedder: None) -> tuple[rows.Cast, IngestionJob]:
    """A workspace with a document that waits to be read."""
    cast = rows.make_cast()
    file = SimpleUploadedFile("a.txt", b"Ada Lind keeps the light.")
    with access.in_workspace(cast.workspace.pk):
        documents.document_upload(workspace=cast.workspace, file=file, name="a.txt")
        return cast, IngestionJob.objects.in_workspace(cast.workspace).get()


def job_now(job: IngestionJob) -> IngestionJob:
    with access.in_workspace(job.workspace_id):
        return IngestionJob.objects.in_workspace(job.workspace_id).get(pk=job.pk)


def test_documents_wait_and_continue_after_a_restore(reading):
    cast, job = reading

    delete(cast)
    runner.run_lane(job, runner.MAIN)
    waiting = job_now(job)
    restored = access.deleted_workspace(user=cast.alice, workspace_id="harbour")
    services.workspace_restore(workspace=restored, user=cast.alice)
    tasks.resume_workspace(str(cast.workspace.pk))
    runner.run_lane(job_now(job), runner.MAIN)

    assert (waiting.state, (waiting.problem or {})["code"]) == (
        RunState.PAUSED,
        "workspace_deleted",
    )
    assert job_now(job).state != RunState.PAUSED


def test_a_document_that_is_being_read_stops_before_its_next_stage(reading):
    cast, job = reading
    ports = ports_for(cast.workspace.pk)  # the group has begun

    delete(cast)
    runner.run_lane(job, runner.MAIN, ports)

    assert job_now(job).state == RunState.PAUSED


def test_no_models_are_called_for_a_deleted_workspace():
    cast = rows.make_cast()
    delete(cast)

    with pytest.raises(PauseError) as stopped:
        ports_for(cast.workspace.pk)

    assert stopped.value.code == "workspace_deleted"


def test_a_question_that_streams_stops_and_its_followers_are_let_go(fake_embedder: None):
    cast = rows.make_cast()
    workspace = access.workspace_for_reading(user=cast.bob, workspace_id="harbour")
    answer = asking.question_ask(
        workspace=workspace, user=cast.bob, question="Who keeps the light?", mode="lexical"
    )
    rows_of = jobs.QUEUE.rows
    rows_of.claim(cast.workspace.pk, [answer.pk], "worker")
    follower = streaming.Followed(cast.workspace.pk, answer.pk, cast.bob.pk, -1)
    before = streaming._read_in(cast.workspace.pk, [follower])

    delete(cast)
    after = streaming._read_in(cast.workspace.pk, [follower])

    assert (list(before), list(after)) == ([0], [])
    assert rows_of.renew(cast.workspace.pk, [answer.pk], "worker") == {answer.pk: True}
    with access.in_workspace(cast.workspace.pk):
        state = Answer.objects.in_workspace(cast.workspace).get(pk=answer.pk).state
    assert state == AnswerState.RUNNING


# --- restored -------------------------------------------------------------------------------------
def test_a_restored_workspace_is_as_it_was(django_capture_on_commit_callbacks):
    cast = rows.make_cast()
    delete(cast)

    workspace = access.deleted_workspace(user=cast.alice, workspace_id="harbour")
    with django_capture_on_commit_callbacks(execute=True):
        services.workspace_restore(workspace=workspace, user=cast.alice)

    found = access.workspace_for_reading(user=cast.bob, workspace_id="harbour")
    assert (found.pk, found.is_deleted) == (cast.workspace.pk, False)
    assert actions(cast.workspace)[-1] == AuditAction.WORKSPACE_RESTORED
    assert OrmQ.objects.count() == 1


@pytest.mark.parametrize("name", ["Bob", "Charlie"])
def test_no_one_else_restores_it(name: str):
    cast = rows.make_cast()
    delete(cast)

    with pytest.raises(NotFoundError):
        access.deleted_workspace(user=rows.make_user(name), workspace_id="harbour")


def test_a_workspace_that_was_not_deleted_is_not_restored():
    cast = rows.make_cast()

    with pytest.raises(NotFoundError):
        access.deleted_workspace(user=cast.alice, workspace_id="harbour")


# --- purged ---------------------------------------------------------------------------------------
def test_nothing_is_purged_before_its_time():
    cast = rows.make_cast()
    delete(cast)

    assert services.workspaces_purge() == 0
    assert Workspace.objects.exists()


def test_a_purge_leaves_no_row_no_graph_and_no_file(
    reading, settings, tmp_path: Path, django_capture_on_commit_callbacks
):
    settings.EXPORT_ROOT = tmp_path / "exports"
    cast, _ = reading
    other = rows.make_cast("Elsewhere").workspace
    rows.make_document(other, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})
    document = rows.make_document(cast.workspace, "Log", "Ada Lind and Bo Ek.")
    ada, bo = (
        rows.make_mentions(cast.workspace, rows.chunks_of(document), name)
        for name in ("Ada Lind", "Bo Ek")
    )
    rows.make_relationship(ada, bo, rows.chunks_of(document)[0], "knows")
    export = services.folder_of(cast.workspace.pk) / "x.zip"
    export.parent.mkdir(parents=True)
    export.write_bytes(b"zip")
    folder = Path(settings.MEDIA_ROOT) / str(cast.workspace.pk)
    assert folder.exists()
    delete(cast)
    let_time_pass(cast.workspace)

    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep()

    assert list(Workspace.objects.values_list("name", flat=True)) == ["Elsewhere"]
    assert left_of(cast.workspace) == set()
    assert graph_store().counts(cast.workspace.pk).nodes == 0
    assert not folder.exists()
    assert not export.parent.exists()
    assert "Document" in left_of(other)


def left_of(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        return {
            model.__name__
            for model in apps.get_models()
            if hasattr(model, "workspace")
            and TenantQuerySet(model).in_workspace(workspace).exists()
        }


def test_the_sweep_passes_over_a_deleted_workspace(reading):
    cast, job = reading
    delete(cast)
    runner.run_lane(job, runner.MAIN)

    recovery.sweep(needs.find_needs())

    assert job_now(job).state == RunState.PAUSED


@pytest.mark.parametrize("lane", list(runner.LANES))
def test_a_deleted_workspace_stops_neither_the_sweep_nor_a_starting_worker(lane: str):
    """With nothing left to read in it: that is looked at in every workspace."""
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")
    edition = Workspace.objects.create(
        name="Harbour", slug="edition-of-it", source=cast.workspace, is_current=False
    )
    for one in (cast.workspace, other.workspace, edition):
        with access.in_workspace(one.pk):
            CorpusVersion.objects.create(workspace=one, number=1)
    delete(cast)

    looked_at = needs.of_work(needs.find_needs())
    recovery.sweep(needs.find_needs())
    recovery.start_lane(lane)

    assert other.workspace.pk in looked_at
    assert not {cast.workspace.pk, edition.pk} & set(looked_at)
