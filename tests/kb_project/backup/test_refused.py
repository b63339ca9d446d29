"""What is refused, in words that say what to do; and that then nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from ingestion import post_restore
from kb_project.backup import archive, restoring
from kb_project.errors import ConflictError, InputError, KBError
from tests import backups
from tests.backups import forged, fresh_database
from tests.kb_project.backup.archives import make_archive
from tests.kb_project.backup.damages import (
    DAMAGES,
    Change,
    newer,
    of_a_newer_version,
    of_an_older_version,
)
from workspaces.models import User, Workspace


@pytest.fixture(scope="module")
def whole(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: Any
) -> bytes:
    """A backup."""
    folder = tmp_path_factory.mktemp("source")
    with (
        django_db_blocker.unblock(),
        fresh_database(),
        override_settings(MEDIA_ROOT=str(folder / "media")),
    ):
        return make_archive(folder).read_bytes()


@pytest.fixture(scope="module")
def empty(whole: bytes, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """An empty database, which stays empty: every test here is about something that is refused."""
    with django_db_blocker.unblock(), fresh_database():
        yield


@pytest.fixture
def path(whole: bytes, empty: None, tmp_path: Path) -> Path:
    place = tmp_path / "one.zip"
    place.write_bytes(whole)
    return place


@pytest.fixture
def elsewhere(settings: Any, tmp_path: Path) -> Path:
    """An empty media folder."""
    settings.MEDIA_ROOT = str(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def refused(path: Path, **wish: Any) -> KBError:
    with pytest.raises(KBError) as caught:
        backups.restore(path, **wish)
    return caught.value


def assert_nothing_is_there(media: Path) -> None:
    assert not Workspace.objects.exists()
    assert not User.objects.exists()
    assert not [one for one in media.rglob("*") if one.is_file()]
    assert not list(media.glob(".restore-*"))


# --- the file -------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_file_that_was_cut_off(path: Path, elsewhere: Path, share: float):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    assert refused(path).code == "backup_unreadable"
    assert_nothing_is_there(elsewhere)


@pytest.mark.django_db
def test_a_file_that_is_not_there(elsewhere: Path, tmp_path: Path):
    with pytest.raises(CommandError, match=r"nowhere.zip' cannot be read: No such file"):
        call_command("restore", str(tmp_path / "nowhere.zip"))


def test_a_file_of_another_kind(elsewhere: Path, tmp_path: Path):
    other = tmp_path / "other.zip"
    with ZipFile(other, "w") as file:
        file.writestr("letter.txt", "Dear Ada")

    assert refused(other).code == "backup_foreign"
    with ZipFile(other, "w") as file:
        file.writestr("manifest.json", json.dumps({"product": "another", "format": 1}))
    assert refused(other).code == "backup_foreign"
    with ZipFile(other, "w") as file:
        file.writestr("manifest.json", "[1]")
    assert refused(other).code == "backup_foreign"


@pytest.mark.parametrize("place", [0.2, 0.5, 0.7])
def test_a_byte_that_changed_on_the_way(path: Path, elsewhere: Path, place: float):
    whole = bytearray(path.read_bytes())
    with ZipFile(path) as file:
        largest = max(file.infolist(), key=lambda member: member.compress_size)
    # Behind the header, whose dates mean nothing and are not looked at.
    begin = largest.header_offset + 30 + len(largest.filename)
    whole[begin + int(largest.compress_size * place)] ^= 0xFF
    path.write_bytes(whole)

    assert refused(path).code in ("backup_damaged", "backup_unreadable")
    assert_nothing_is_there(elsewhere)


# --- what is in it --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "code", "advice"),
    [
        (newer, "backup_newer", "a later one"),
        (of_a_newer_version, "backup_newer", "'manage.py migrate'"),
        (of_an_older_version, "backup_older", "with that version"),
    ],
)
def test_another_version(path: Path, elsewhere: Path, change: Change, code: str, advice: str):
    error = refused(forged(path, change))

    assert error.code == code
    assert advice in error.next_step
    assert_nothing_is_there(elsewhere)


@pytest.mark.parametrize("what", DAMAGES)
def test_what_somebody_has_been_at(path: Path, elsewhere: Path, what: str):
    forgery = forged(path, DAMAGES[what])

    error = refused(forgery)

    assert error.code in ("backup_damaged", "backup_unreadable", "no_room")
    assert error.kept == "Nothing was written."
    assert error.next_step
    assert_nothing_is_there(elsewhere)


def test_a_member_packed_in_another_way(path: Path, elsewhere: Path):
    members = backups.unpacked(path)
    with ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content, ZIP_LZMA if "people" in name else ZIP_DEFLATED)

    assert refused(path).code == "backup_damaged"


def test_what_does_not_fit_on_the_disk(path: Path, elsewhere: Path, monkeypatch: Any):
    usage = archive.shutil.disk_usage(path)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _path: usage._replace(free=10))

    error = refused(path)

    assert error.code == "no_room"
    assert "MB free" in error.happened


def test_a_media_folder_that_cannot_be_written(path: Path, elsewhere: Path, settings: Any):
    elsewhere.write_text("Not a folder.")

    assert refused(path).code == "files_not_written"
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("slug", ["a b", "../x", "x" * 61])
def test_an_address_nobody_can_have(path: Path, elsewhere: Path, slug: str):
    assert isinstance(refused(path, into=slug), InputError | ConflictError)
    assert_nothing_is_there(elsewhere)


# --- stopping -------------------------------------------------------------------------------------
@pytest.mark.parametrize("moment", ["check", "rows", "workspaces", "files"])
def test_stopping_it_leaves_nothing(path: Path, elsewhere: Path, moment: str):
    def report(what: str, _done: int, _total: int) -> None:
        if what == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), archive.opened(path) as opened:
        restoring.restore(opened, post_restore.HOOKS, report=report)

    assert_nothing_is_there(elsewhere)


def test_files_are_taken_back_when_the_last_step_fails(
    path: Path, elsewhere: Path, monkeypatch: Any
):
    publish = restoring.StagedFiles.publish

    def then_fail(self: Any) -> None:
        publish(self)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restoring.StagedFiles, "publish", then_fail)

    error = refused(path)

    assert error.code == "files_not_written"
    assert "No space left" in error.happened
    assert_nothing_is_there(elsewhere)


def test_a_check_writes_nothing(path: Path, elsewhere: Path):
    call_command("restore", str(path), "--check")

    assert_nothing_is_there(elsewhere)
    forgery = forged(path, DAMAGES["a stranger"])
    with pytest.raises(CommandError, match="refers to a person who is not in the backup"):
        call_command("restore", str(forgery), "--check")
