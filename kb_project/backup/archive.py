"""Reads an untrusted archive: checks names, sizes and checksums, and then each row."""

from __future__ import annotations

import hashlib
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.conf import settings

from kb_project.backup import manifest as manifests
from kb_project.backup.manifest import Manifest, damaged
from kb_project.backup.rows import FILE_NAME
from kb_project.errors import InputError

BLOCK: Final = 1024 * 1024
LARGEST_MANIFEST: Final = 256 * BLOCK
# A row contains at most the text of one document.
LONGEST_LINE: Final = 512 * BLOCK
# Deflate compresses at most by this factor.
MOST_SHRUNK: Final = 1_040
ENCRYPTED: Final = 0x1
UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
NAMES: Final = re.compile(
    r"people\.ndjson|workspace_list\.ndjson|installation/[a-z0-9_]{1,63}\.ndjson"
    rf"|workspaces/{UUID}/[a-z0-9_]{{1,63}}\.ndjson"
    rf"|files/{UUID}/{FILE_NAME.pattern}"
)


class Archive:
    """An archive whose manifest and member names are valid."""

    def __init__(self, file: ZipFile, manifest: Manifest) -> None:
        self._file = file
        self.manifest = manifest

    def has(self, member: str) -> bool:
        return member in self.manifest.members

    def lines(self, member: str) -> Iterator[bytes]:
        """Yield the lines of a table; none if it has no member. Raises InputError if the content
        differs from the manifest.
        """
        if not self.has(member):
            return
        rows = 0
        with self._opened(member) as (source, take):
            while line := source.readline(LONGEST_LINE):
                take(line)
                rows += 1
                if not line.endswith(b"\n"):
                    raise damaged(f"{member} has an unfinished line.")
                yield line
        if rows != self.manifest.members[member].rows:
            raise damaged(f"The number of rows in {member} differs from the manifest.")

    def copy(self, member: str, target: Callable[[bytes], object]) -> None:
        """Pass a file on in blocks. Raises InputError as ``lines`` does."""
        with self._opened(member) as (source, take):
            while block := source.read(BLOCK):
                take(block)
                target(block)

    @contextmanager
    def _opened(self, member: str) -> Iterator[tuple[IO[bytes], Callable[[bytes], None]]]:
        """Yield the member, and a function to call with every block read from it."""
        stated, digest, size = self.manifest.members[member], hashlib.sha256(), 0

        def take(block: bytes) -> None:
            nonlocal size
            digest.update(block)
            size += len(block)

        try:
            with self._file.open(member) as source:
                yield source, take
        except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise damaged(f"{member} cannot be unpacked.") from error
        if (size, digest.hexdigest()) != (stated.bytes, stated.sha256):
            raise damaged(f"The checksum of {member} differs from the manifest.")


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive. Raises InputError if it is not one, or contradicts itself."""
    try:
        with ZipFile(path) as file:
            yield Archive(file, _looked_through(file, path.stat().st_size))
    except BadZipFile as error:
        raise InputError(
            f"'{path}' is not a Concordance backup, or is incomplete.",
            code="backup_unreadable",
            kept=manifests.NOTHING_WRITTEN,
            next_step="Copy it again from where it is kept, or name another file.",
        ) from error
    except OSError as error:
        if error.filename != str(path):
            raise
        raise InputError(
            f"'{path}' cannot be read: {error.strerror}.",
            code="backup_unreadable",
            kept=manifests.NOTHING_WRITTEN,
        ) from error


def _looked_through(file: ZipFile, size: int) -> Manifest:
    infos = {info.filename: info for info in file.infolist()}
    if manifests.NAME not in infos:
        raise manifests.foreign()
    if len(infos) != len(file.infolist()) or _packed(infos) > size:
        raise damaged("It contains a file twice.")
    for info in infos.values():
        _check(info)
    if infos[manifests.NAME].file_size > LARGEST_MANIFEST:
        raise damaged("Its manifest is too large.")
    try:
        manifest = Manifest.from_json(file.read(manifests.NAME))
    except (BadZipFile, zlib.error, EOFError) as error:
        raise damaged("Its manifest cannot be unpacked.") from error
    _compare(manifest, infos)
    return manifest


def _packed(infos: dict[str, ZipInfo]) -> int:
    return sum(info.compress_size for info in infos.values())


def _check(info: ZipInfo) -> None:
    if info.filename != manifests.NAME and not NAMES.fullmatch(info.filename):
        raise damaged("It contains a file that does not belong in a backup.")
    if info.flag_bits & ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise damaged(f"{info.filename} uses an unsupported compression.")
    if info.file_size > MOST_SHRUNK * info.compress_size + BLOCK:
        raise damaged(f"The size of {info.filename} is implausible.")


def _compare(manifest: Manifest, infos: dict[str, ZipInfo]) -> None:
    if manifest.members.keys() != infos.keys() - {manifests.NAME}:
        raise damaged("Its files differ from the manifest.")
    for name, member in manifest.members.items():
        if infos[name].file_size != member.bytes:
            raise damaged(f"The size of {name} differs from the manifest.")
        parts = name.split("/")
        if len(parts) == 3 and parts[1] not in manifest.workspaces:
            raise damaged(f"{name} belongs to no workspace in the backup.")


def check_room(manifest: Manifest) -> None:
    """Raise InputError if there is too little space for the unpacked files."""
    folder = Path(settings.MEDIA_ROOT)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if manifest.bytes > free:
        raise InputError(
            f"This backup unpacks to {_megabytes(manifest.bytes)}, but '{folder}' has only"
            f" {_megabytes(free)} free.",
            code="no_room",
            kept=manifests.NOTHING_WRITTEN,
            next_step="Free some space there and try again.",
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
