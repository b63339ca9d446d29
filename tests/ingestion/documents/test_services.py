from __future__ import annotations

import io
import uuid
from datetime import date
from pathlib import Path

import pytest
from django.db import DatabaseError
from django_q.models import OrmQ
from hypothesis import given, strategies as st

from ingestion.documents import services
from ingestion.documents.services import Filing, Upload, clean_tags, label_of
from ingestion.models import (
    Collection,
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    RunState,
    StageRun,
)
from kb_project.errors import ConflictError, UploadError
from tests import rows
from tests.ingestion.jobs import add, document_of, fresh, states
from workspaces import access
from workspaces.models import User, Workspace


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def upload(
    workspace: Workspace,
    content: bytes = b"Oil and light.",
    *,
    name: str = "log.txt",
    user: User | None = None,
    filing: Filing | None = None,
) -> Upload:
    with access.in_workspace(workspace.pk):
        return services.document_upload(
            workspace=workspace, file=io.BytesIO(content), name=name, user=user, filing=filing
        )


def documents(workspace: Workspace) -> list[Document]:
    with access.in_workspace(workspace.pk):
        return list(
            Document.objects.in_workspace(workspace)
            .select_related("collection")
            .order_by("created_at")
        )


def files(media: Path) -> list[Path]:
    return [path for path in media.rglob("*") if path.is_file()]


# --- adding ---------------------------------------------------------------------------------------
@pytest.mark.django_db
class TestUpload:
    def test_the_file_is_stored_as_it_is(self, workspace: Workspace, media: Path):
        content = bytes(range(256)) * 9000

        upload(workspace, content)

        [stored] = files(media)
        assert stored.read_bytes() == content

    def test_the_document_says_what_was_added(self, workspace: Workspace):
        alice = rows.make_user("Alice")

        made = upload(workspace, b"Oil.", name="My log.txt", user=alice).document

        assert (made.title, made.name, made.size) == ("My log.txt", "My log.txt", 4)
        assert (made.state, made.added_by) == (DocumentState.QUEUED, alice)
        assert len(made.sha256) == 64

    def test_the_work_on_it_is_written_down_and_called_for(self, workspace: Workspace):
        upload(workspace)

        with access.in_workspace(workspace.pk):
            job = IngestionJob.objects.in_workspace(workspace).get()
        assert job.state == RunState.PENDING
        assert set(states(job).values()) == {"pending"}
        assert OrmQ.objects.get().task["args"] == (str(workspace.pk), str(job.pk), "main")

    def test_the_same_content_twice_is_the_document_there_already(
        self, workspace: Workspace, media: Path
    ):
        first = upload(workspace)

        second = upload(workspace, name="copy.txt")

        assert (first.is_duplicate, second.is_duplicate) == (False, True)
        assert second.document == first.document
        assert len(files(media)) == len(documents(workspace)) == 1

    def test_another_workspace_may_have_the_same_content(self, workspace: Workspace):
        other = rows.make_workspace("Other")

        upload(workspace)

        assert not upload(other).is_duplicate

    def test_a_file_read_halfway_is_stored_whole(self, workspace: Workspace, media: Path):
        file = io.BytesIO(b"Oil and light.")
        file.read(5)

        with access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name="log.txt")

        assert files(media)[0].read_bytes() == b"Oil and light."

    def test_a_file_that_is_too_large_leaves_nothing_behind(
        self, workspace: Workspace, media: Path, settings
    ):
        settings.MAX_UPLOAD_BYTES = 10

        with pytest.raises(UploadError) as refused:
            upload(workspace)

        assert refused.value.code == "too_large"
        assert "MAX_UPLOAD_MB" in refused.value.next_step
        assert files(media) == documents(workspace) == []

    def test_a_large_file_is_refused_before_all_of_it_is_read(self, workspace: Workspace, settings):
        settings.MAX_UPLOAD_BYTES = services.BLOCK
        file = io.BytesIO(b"x" * services.BLOCK * 9)

        with pytest.raises(UploadError), access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name="log.txt")

        assert file.tell() <= services.BLOCK * 3

    def test_a_file_exactly_as_large_as_allowed_is_taken(self, workspace: Workspace, settings):
        settings.MAX_UPLOAD_BYTES = 14

        assert upload(workspace).document.size == 14

    def test_an_empty_file_is_taken_and_speaks_for_itself_later(self, workspace: Workspace):
        assert upload(workspace, b"").document.size == 0

    def test_rows_that_cannot_be_written_take_the_file_along(
        self, workspace: Workspace, media: Path, monkeypatch
    ):
        def fail(*_arguments: object) -> None:
            raise DatabaseError

        monkeypatch.setattr(services.runner, "plan_stages", fail)

        with pytest.raises(DatabaseError):
            upload(workspace)

        assert files(media) == documents(workspace) == []

    def test_no_name_leads_anywhere(self, workspace: Workspace, media: Path):
        for name in ("../../evil", "/etc/passwd", "a\0b", "CON", "🙂.txt", "x" * 4000):
            upload(workspace, name.encode(), name=name)

        assert {path.parent for path in files(media)} == {media / str(workspace.pk)}
        assert all(uuid.UUID(path.name) for path in files(media))

    def test_it_is_filed_as_asked(self, workspace: Workspace):
        filing = Filing("  Old   logs ", ("Sea", "sea", " OIL "), date(2024, 5, 1))

        upload(workspace, filing=filing)
        upload(workspace, b"other", filing=filing)

        [first, second] = documents(workspace)
        assert first.collection is not None
        assert (first.collection.name, first.tags) == ("Old logs", ["sea", "oil"])
        assert first.dated == date(2024, 5, 1)
        assert second.collection == first.collection
        with access.in_workspace(workspace.pk):
            assert Collection.objects.in_workspace(workspace).count() == 1

    def test_the_way_to_cut_it_is_kept_with_its_version(self, workspace: Workspace):
        chunking = {"strategy": "fixed", "size": 50}

        upload(workspace, filing=Filing(chunking=chunking))

        with access.in_workspace(workspace.pk):
            assert DocumentVersion.objects.in_workspace(workspace).get().chunking == chunking


@pytest.mark.django_db
def test_a_document_may_be_added_under_a_title_of_its_own_even_twice(workspace: Workspace):
    for title in ("First", "Second"):
        with access.in_workspace(workspace.pk):
            services.document_add(
                workspace=workspace, name="0.txt", title=title, content=io.BytesIO(b"Oil.")
            )

    assert [document.title for document in documents(workspace)] == ["First", "Second"]


@pytest.mark.django_db
def test_a_document_without_a_title_goes_by_its_name(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        made = services.document_add(
            workspace=workspace, name="a/0.txt", title="", content=io.BytesIO(b"Oil.")
        )

    assert made.title == "0.txt"


# --- retry and cancel -----------------------------------------------------------------------------
@pytest.fixture
def job(workspace: Workspace) -> IngestionJob:
    return add(workspace)


def fail_at(job: IngestionJob, stage: str) -> None:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        runs.exclude(stage=stage).update(state=RunState.DONE)
        runs.filter(stage=stage).update(state=RunState.FAILED)
        jobs = IngestionJob.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
        jobs.update(state=RunState.FAILED)


def retry(workspace: Workspace, document: Document) -> IngestionJob:
    with access.in_workspace(workspace.pk):
        return services.document_retry(workspace=workspace, document=document)


def cancel(workspace: Workspace, document: Document) -> None:
    with access.in_workspace(workspace.pk):
        services.document_cancel(workspace=workspace, document=document)


@pytest.mark.django_db
class TestRetryAndCancel:
    def test_a_stopped_document_goes_on_where_it_stopped(
        self, workspace: Workspace, job: IngestionJob
    ):
        fail_at(job, "extract")
        OrmQ.objects.all().delete()

        assert retry(workspace, document_of(job)) == job

        waiting = [stage for stage, state in states(job).items() if state == "pending"]
        assert waiting == ["extract"]
        assert sorted(row.key for row in OrmQ.objects.all()) == ["embedding", "main"]
        assert document_of(job).state == DocumentState.QUEUED

    def test_a_document_that_works_has_nothing_to_retry(
        self, workspace: Workspace, job: IngestionJob
    ):
        with pytest.raises(ConflictError) as refused:
            retry(workspace, document_of(job))

        assert refused.value.code == "nothing_to_retry"

    def test_a_document_nobody_has_begun_stops_at_once(
        self, workspace: Workspace, job: IngestionJob
    ):
        cancel(workspace, document_of(job))

        assert fresh(job).state == RunState.CANCELLED
        assert document_of(job).state == DocumentState.ATTENTION
        problem = fresh(job).problem
        assert problem is not None
        assert problem["code"] == "cancelled"

    def test_a_document_under_way_is_asked_to_stop(self, workspace: Workspace, job: IngestionJob):
        with access.in_workspace(workspace.pk):
            jobs = IngestionJob.objects.in_workspace(workspace).filter(pk=job.pk)
            jobs.update(state=RunState.RUNNING)

        cancel(workspace, document_of(job))

        assert (fresh(job).state, fresh(job).cancel_requested) == (RunState.RUNNING, True)

    def test_a_finished_document_has_nothing_to_cancel(
        self, workspace: Workspace, job: IngestionJob
    ):
        fail_at(job, "embed")

        with pytest.raises(ConflictError) as refused:
            cancel(workspace, document_of(job))

        assert refused.value.code == "nothing_to_cancel"

    def test_a_cancelled_document_can_be_taken_up_again(
        self, workspace: Workspace, job: IngestionJob
    ):
        cancel(workspace, document_of(job))

        retry(workspace, document_of(job))

        again = fresh(job)
        assert (again.state, again.cancel_requested) == (RunState.PENDING, False)


# --- names and tags -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("log.txt", "log.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\log.txt", "log.txt"),
        ("a\nb\tc.txt", "abc.txt"),
        ("", "Untitled"),
        ("..", "Untitled"),
        ("杭州.md", "杭州.md"),
        ("🙂.txt", "🙂.txt"),
    ],
)
def test_a_name_is_a_label_and_never_a_path(name: str, label: str):
    assert label_of(name) == label


@given(st.text(max_size=2000))
def test_whatever_a_file_is_called_it_has_a_label(name: str):
    label = label_of(name)

    assert 0 < len(label) <= services.NAME_LENGTH
    assert "/" not in label
    assert "\0" not in label
    assert label.isprintable()


def test_tags_keep_their_order():
    assert clean_tags(["Tide", "oil", " TIDE ", ""]) == ["tide", "oil"]
