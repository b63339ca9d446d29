"""Exports: made by a worker, read by restore, downloaded by admins, deleted after some days."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from ingestion import tasks
from kb_project.errors import ConflictError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.administration import services
from workspaces.models import AuditAction, AuditEvent, ExportState, Workspace, WorkspaceExport

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def root(settings, tmp_path: Path, media: Path) -> Path:
    settings.EXPORT_ROOT = tmp_path / "exports"
    return tmp_path / "exports"


def request(cast: rows.Cast) -> WorkspaceExport:
    return services.export_request(workspace=cast.workspace, user=cast.alice)


def now(row: WorkspaceExport, workspace: Workspace) -> WorkspaceExport:
    return services.export_of(workspace=workspace, export_id=row.pk)


@pytest.mark.django_db(transaction=True)
def test_an_export_is_made_in_the_background_and_downloaded(root: Path):
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")
    row = request(cast)
    queued = OrmQ.objects.count()

    tasks.export_workspace(str(cast.workspace.pk), str(row.pk))
    made = now(row, cast.workspace)
    response = services.export_download(workspace=cast.workspace, user=cast.alice, export_id=row.pk)
    content = asyncio.run(body_of(response))

    path = services.path_of(cast.workspace.pk, row.pk)
    assert queued == 1
    assert (made.state, made.size) == (ExportState.READY, path.stat().st_size)
    assert content == path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    assert response["Content-Disposition"].startswith('attachment; filename="harbour-')
    with ZipFile(path) as archive:
        assert any("ingestion_document" in name for name in archive.namelist())
        assert not any("invitation" in name for name in archive.namelist())
    with access.in_workspace(cast.workspace.pk):
        actions = AuditEvent.objects.in_workspace(cast.workspace).values_list("action", flat=True)
        assert {AuditAction.EXPORT_REQUESTED, AuditAction.EXPORT_DOWNLOADED} <= set(actions)


async def body_of(response) -> bytes:
    return b"".join([block async for block in response.streaming_content])


@pytest.mark.django_db(transaction=True)
def test_an_export_that_fails_says_why(root: Path):
    cast = rows.make_cast()
    row = request(cast)
    path = services.path_of(cast.workspace.pk, row.pk)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"in the way")

    services.export_make(cast.workspace.pk, row.pk)

    made = now(row, cast.workspace)
    assert (made.state, (made.problem or {})["code"]) == (ExportState.FAILED, "backup_exists")


def test_one_export_at_a_time():
    cast = rows.make_cast()
    request(cast)

    with pytest.raises(ConflictError, match="prepared already"):
        request(cast)


def test_an_export_whose_worker_died_counts_as_failed():
    cast = rows.make_cast()
    row = request(cast)
    old = timezone.now() - services.PATIENCE - timedelta(minutes=1)
    with access.in_workspace(cast.workspace.pk):
        WorkspaceExport.objects.in_workspace(cast.workspace).update(created_at=old)

    assert (now(row, cast.workspace).problem or {})["code"] == "interrupted"
    assert request(cast).state == ExportState.WAITING


def test_a_few_exports_a_day():
    cast = rows.make_cast()
    for _ in range(services.EXPORTS.count):
        row = request(cast)
        with access.in_workspace(cast.workspace.pk):
            WorkspaceExport.objects.in_workspace(cast.workspace).filter(pk=row.pk).update(
                state=ExportState.READY
            )

    with pytest.raises(ConflictError, match="6 times a day"):
        request(cast)


def test_what_is_not_ready_or_gone_is_not_downloaded():
    cast = rows.make_cast()
    row = request(cast)

    def download() -> object:
        return services.export_download(workspace=cast.workspace, user=cast.alice, export_id=row.pk)

    with pytest.raises(ConflictError, match="not ready"):
        download()
    with access.in_workspace(cast.workspace.pk):
        WorkspaceExport.objects.in_workspace(cast.workspace).update(state=ExportState.READY)
    with pytest.raises(NotFoundError, match="kept for 7 days"):
        download()


def test_an_export_of_another_workspace_is_not_there():
    cast, other = rows.make_cast(), rows.make_workspace("Elsewhere")
    row = request(cast)

    with pytest.raises(NotFoundError):
        now(row, other)


def test_old_files_are_deleted_and_young_ones_kept(root: Path, settings):
    folder = root / "workspace"
    folder.mkdir(parents=True)
    for name, age in (("old", settings.EXPORT_DAYS + 1), ("young", 1)):
        path = folder / f"{name}.zip"
        path.write_bytes(b"zip")
        when = time.time() - age * 86_400
        os.utime(path, (when, when))

    assert services.forget_old_exports() == 1
    assert [path.name for path in folder.iterdir()] == ["young.zip"]
