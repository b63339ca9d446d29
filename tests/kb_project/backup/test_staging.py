"""Files on their way into the media folder: all of them, or none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kb_project.backup.restoring import PREFIX, SECONDS_OF_A_RESTORE, StagedFiles


class Shelf:
    """What an archive does for a stage: hands on the bytes of its members, in blocks."""

    def __init__(self, **held: bytes) -> None:
        self.held = held

    def copy(self, member: str, target: Callable[[bytes], object]) -> None:
        for byte in self.held[member]:
            target(bytes([byte]))


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    return tmp_path / "media"


def shelf(**held: bytes) -> Any:
    return Shelf(**held)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def add_all(folder: Path, *, fails: bool = False, **held: bytes) -> None:
    with StagedFiles() as staged:
        for member in held:
            staged.add(shelf(**held), member, f"w/{member}")
        staged.publish()
        if fails:
            raise KeyboardInterrupt


def test_files_are_where_they_belong_and_nothing_else_is_left(folder: Path):
    add_all(folder, a=b"one", b=b"")

    assert files(folder) == {"w/a": b"one", "w/b": b""}
    assert [path.name for path in folder.iterdir()] == ["w"]


def test_what_is_not_published_never_was(folder: Path):
    with StagedFiles() as staged:
        staged.add(shelf(a=b"one"), "a", "w/a")

        assert not (folder / "w").exists()

    assert list(folder.iterdir()) == []


def test_what_was_published_is_taken_back_by_whatever_stops_it(folder: Path):
    with pytest.raises(KeyboardInterrupt):
        add_all(folder, fails=True, a=b"one", b=b"two")

    assert list(folder.iterdir()) == []


def test_files_that_were_there_before_stay_when_it_is_taken_back(folder: Path):
    add_all(folder, a=b"one")

    with pytest.raises(KeyboardInterrupt):
        add_all(folder, fails=True, a=b"one", b=b"two")

    assert files(folder) == {"w/a": b"one"}


def test_a_member_is_not_written_twice_to_one_place(folder: Path):
    with StagedFiles() as staged:
        staged.add(shelf(a=b"one"), "a", "w/a")
        with pytest.raises(FileExistsError):
            staged.add(shelf(a=b"two"), "a", "w/a")

    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("age", "is_left"), [(60.0, True), (SECONDS_OF_A_RESTORE + 60.0, False)])
def test_what_a_killed_restore_left_is_cleared_once_nobody_can_be_at_it(
    folder: Path, age: float, is_left: bool
):
    left = folder / f"{PREFIX}killed"
    left.mkdir(parents=True)
    (left / "a").write_bytes(b"half")
    then = time.time() - age
    os.utime(left, (then, then))

    add_all(folder, a=b"one")

    assert left.exists() is is_left
    assert (folder / "w" / "a").read_bytes() == b"one"


def test_files_get_the_permissions_that_uploads_get(folder: Path, settings: Any):
    settings.FILE_UPLOAD_PERMISSIONS = 0o640

    add_all(folder, a=b"one")

    assert (folder / "w" / "a").stat().st_mode & 0o777 == 0o640
