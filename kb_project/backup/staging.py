"""Stages files for the media folder: all of them are published, or none."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

from kb_project.backup.archive import Archive

PREFIX: Final = ".restore-"
SECONDS_OF_A_RESTORE: Final = 24 * 3600


class Stage:
    """A folder inside the media folder; ``publish`` moves its files into place.

    A file never changes once written: an existing one is identical.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._published: list[Path] = []

    def add(self, archive: Archive, member: str, path: str) -> None:
        """Add a file. ``path`` is relative to the media folder, and already validated."""
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as target:
            archive.copy(member, target.write)
        if settings.FILE_UPLOAD_PERMISSIONS is not None:
            place.chmod(settings.FILE_UPLOAD_PERMISSIONS)

    def publish(self) -> None:
        for place in sorted(self._folder.rglob("*")):
            if place.is_file():
                target = Path(settings.MEDIA_ROOT) / place.relative_to(self._folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    self._published.append(target)
                place.replace(target)

    def take_back(self) -> None:
        for place in self._published:
            place.unlink(missing_ok=True)
        for folder in {place.parent for place in self._published}:
            if folder != Path(settings.MEDIA_ROOT) and not any(folder.iterdir()):
                folder.rmdir()


@contextmanager
def stage() -> Iterator[Stage]:
    """Stage files; if the block fails, unpublish them and leave nothing behind.

    Also removes what an earlier, killed restore left.
    """
    media = Path(settings.MEDIA_ROOT)
    media.mkdir(parents=True, exist_ok=True)
    for left in media.glob(f"{PREFIX}*"):
        if time.time() - left.stat().st_mtime > SECONDS_OF_A_RESTORE:
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=media))
    made = Stage(folder)
    try:
        yield made
    except BaseException:
        made.take_back()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
