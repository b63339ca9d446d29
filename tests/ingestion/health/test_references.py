"""Files of versions against what is on disk."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.health import references
from ingestion.health.state import MOST_SAMPLES, Findings, workspace_state
from ingestion.models import Document
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = str(tmp_path)
    return tmp_path


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def stored(workspace: Workspace, folder: Path, title: str) -> tuple[Document, Path]:
    """A document with its file."""
    document = rows.make_document(workspace, title, title)
    blob = f"{workspace.pk}/{uuid4()}"
    with access.in_workspace(workspace.pk):
        document.versions.update(blob=blob)
    return document, left(folder / blob)


def left(path: Path, *, age: float = 2 * references.YOUNG_SECONDS, content: str = "Ada") -> Path:
    """A file, of an age in seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def pictures(of: Path, content: str = "page") -> Path:
    """A folder of pictures of pages beside a file, as old as any."""
    made = of.with_name(f"{of.name}{references.PICTURES}")
    left(made / "1.png", content=content)
    os.utime(made, (0, 0))
    return made


def missing(workspace: Workspace) -> Findings:
    with workspace_state(workspace.pk) as state:
        return Findings.of(references.to_missing_files(state))


def orphans(workspace: Workspace) -> Findings:
    with workspace_state(workspace.pk) as state:
        return Findings.of(references.unknown_files(state))


def set_aside(workspace: Workspace) -> Path:
    return references.set_aside(workspace.pk)


def test_where_every_file_has_a_document_and_every_document_a_file_nothing_is_wrong(
    workspace: Workspace, folder: Path
):
    stored(workspace, folder, "One")
    pictures(stored(workspace, folder, "Two")[1])

    assert missing(workspace) == orphans(workspace) == Findings()


def test_a_workspace_without_a_folder_has_no_orphans(workspace: Workspace, folder: Path):
    assert orphans(workspace) == Findings()
    assert not set_aside(workspace).exists()


def test_a_document_whose_file_is_gone_is_named(workspace: Workspace, folder: Path):
    stored(workspace, folder, "One")
    document, path = stored(workspace, folder, "Two")
    path.unlink()

    found = missing(workspace)

    assert (found.count, found.samples) == (1, (str(document.pk),))
    assert found.targets == {document.pk}


def test_a_folder_in_the_place_of_a_file_is_no_file(workspace: Workspace, folder: Path):
    _, path = stored(workspace, folder, "One")
    path.unlink()
    path.mkdir()

    assert missing(workspace).count == 1


def test_many_are_counted_and_a_few_are_named(workspace: Workspace, folder: Path):
    for number in range(MOST_SAMPLES + 2):
        stored(workspace, folder, f"Paper {number}")[1].unlink()

    found = missing(workspace)

    assert (found.count, len(found.samples)) == (MOST_SAMPLES + 2, MOST_SAMPLES)


def test_files_of_another_workspace_are_not_looked_at(workspace: Workspace, folder: Path):
    other = rows.make_workspace("Elsewhere")
    left(folder / str(other.pk) / "stray")

    assert orphans(workspace) == Findings()
    assert orphans(other).samples == (f"{other.pk}/stray",)


def test_what_has_just_come_may_be_on_its_way_in(workspace: Workspace, folder: Path):
    left(folder / str(workspace.pk) / "young", age=references.YOUNG_SECONDS / 2)
    left(folder / str(workspace.pk) / "old")

    assert orphans(workspace).samples == (f"{workspace.pk}/old",)


def test_what_belongs_to_nothing_goes_with_its_pictures_and_all_else_stays(
    workspace: Workspace, folder: Path
):
    _, kept = stored(workspace, folder, "One")
    kept_pictures = pictures(kept)
    stray = left(folder / str(workspace.pk) / "stray")
    pictures(stray)
    assert orphans(workspace).count == 2

    aside = set_aside(workspace)

    assert sorted(path.name for path in aside.iterdir()) == ["stray", "stray.pages"]
    assert kept.exists()
    assert (kept_pictures / "1.png").exists()
    assert orphans(workspace) == Findings()


def test_what_was_set_aside_before_is_not_written_over(workspace: Workspace, folder: Path):
    aside = folder
    for content in ("first", "second", "third"):
        stray = left(folder / str(workspace.pk) / "stray", content=content)
        pictures(stray, content)
        aside = set_aside(workspace)

    held = [path.read_text(encoding="utf-8") for path in aside.rglob("*") if path.is_file()]
    assert sorted(held) == ["first", "first", "second", "second", "third", "third"]
    assert orphans(workspace) == Findings()


def test_setting_aside_twice_is_setting_aside_once(workspace: Workspace, folder: Path):
    left(folder / str(workspace.pk) / "stray")

    first = set_aside(workspace)
    there = sorted(first.rglob("*"))

    assert sorted(set_aside(workspace).rglob("*")) == there
