"""Where a backup may be put, and what is there then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingestion.models import Document
from kb_project.errors import ConflictError, InputError
from tests import backups, rows
from tests.backups import forged, fresh_database
from tests.kb_project.backup.archives import make_archive
from tests.kb_project.backup.damages import named_twice
from tests.kb_project.backup.test_refused import refused
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]


@pytest.fixture
def path(tmp_path: Path, media: Path) -> Path:
    return make_archive(tmp_path)


@pytest.fixture
def elsewhere(path: Path, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An empty installation; its media folder."""
    with fresh_database():
        settings.MEDIA_ROOT = str(tmp_path / "elsewhere")
        yield tmp_path / "elsewhere"


def test_what_is_whole_can_be_restored(path: Path, elsewhere: Path):
    backups.restore(path)

    [file] = [one for one in elsewhere.rglob("*") if one.is_file()]
    assert file.read_bytes() == b"Ada Lind."
    assert list(elsewhere.glob(".restore-*")) == []


def test_a_file_is_named_by_what_was_looked_at(path: Path, elsewhere: Path):
    backups.restore(forged(path, named_twice))

    workspace = Workspace.objects.get()
    with access.in_workspace(workspace.pk):
        [document] = Document.objects.in_workspace(workspace)
        assert document.versions.get().blob == f"{workspace.pk}/{document.pk}"


def test_the_workspace_is_still_there(path: Path):
    error = refused(path)

    assert (type(error), error.code) == (ConflictError, "workspace_exists")
    assert "--as-new" in error.next_step


def test_its_address_is_taken(path: Path, elsewhere: Path):
    rows.make_workspace("Harbour")

    assert refused(path).code == "slug_taken"
    assert refused(path, as_new=True).code == "slug_taken"
    backups.restore(path, into="another")

    assert set(Workspace.objects.values_list("slug", flat=True)) == {"harbour", "another"}


def test_an_address_that_is_too_long(path: Path, elsewhere: Path):
    error = refused(path, into="a" * 61)

    assert (type(error), error.code) == (InputError, "slug_too_long")
    assert Workspace.objects.count() == 0


def test_restoring_twice(path: Path, elsewhere: Path):
    backups.restore(path)

    assert refused(path).code == "workspace_exists"
    assert Workspace.objects.count() == 1


def test_a_whole_installation_only_into_an_empty_one(path: Path, tmp_path: Path):
    whole = backups.write(tmp_path / "all.zip")

    assert refused(whole).code == "not_empty"
    assert refused(whole, as_new=True).code == "backup_of_installation"
    assert refused(whole, into="other").code == "backup_of_installation"


def test_a_whole_installation_twice(path: Path, tmp_path: Path):
    whole = backups.write(tmp_path / "all.zip")

    with fresh_database():
        backups.restore(whole)
        error = refused(whole)

        assert error.code == "not_empty"
        assert "CONCORDANCE_DATA_DIR" in error.next_step
