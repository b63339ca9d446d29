"""The archive: its manifest (what it must contain), and reading it without trusting it.

A zip file of ``manifest.json``, one NDJSON member per table, and the documents' files. Names,
sizes, compression and checksums are checked here, rows in ``validation``.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from kb_project.backup.tables import FILE_NAME
from kb_project.errors import InputError

FORMAT: Final = 1
"""Incremented whenever older versions cannot read the new format."""
PRODUCT: Final = "concordance"
MANIFEST: Final = "manifest.json"
INSTALLATION: Final = "installation"
WORKSPACE: Final = "workspace"
PEOPLE: Final = "people.ndjson"
WORKSPACES: Final = "workspace_list.ndjson"
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
NOTHING_WRITTEN: Final = "Nothing was written."

Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and the total."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the archive; ``rows`` is the number of lines of a table, 0 for a file."""

    bytes: int
    sha256: str
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """``kind`` is ``installation`` or ``workspace``; ``migrations`` are those of each app whose
    tables are included; ``workspaces`` maps ids to slugs; ``missing`` are files that were deleted
    for good while the backup was made.
    """

    kind: str
    version: str
    created: str
    migrations: Mapping[str, list[str]]
    workspaces: Mapping[str, str]
    has_secrets: bool = False
    members: Mapping[str, Member] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        fields = {"product": PRODUCT, "format": FORMAT, **asdict(self)}
        return json.dumps(fields, indent=1, sort_keys=True).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Parse a manifest. Raises InputError for an invalid one, or one of a later format."""
        fields = _parsed(text)
        if fields.get("product") != PRODUCT:
            raise foreign()
        if not isinstance(fields.get("format"), int) or fields["format"] > FORMAT:
            raise InputError(
                f"This backup has format {fields.get('format')}; this version reads format"
                f" {FORMAT}.",
                code="backup_newer",
                kept=NOTHING_WRITTEN,
                next_step="Restore it with the version that wrote it, or a later one.",
            )
        try:
            return _built(fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged("Its manifest is incomplete or malformed.") from error

    @property
    def rows(self) -> int:
        return sum(member.rows for member in self.members.values())

    @property
    def bytes(self) -> int:
        return sum(member.bytes for member in self.members.values())

    def files(self) -> list[str]:
        return [name for name in self.members if name.startswith("files/")]


def table_member(workspace_id: UUID | str, table: str) -> str:
    return f"workspaces/{workspace_id}/{table}.ndjson"


def installation_member(table: str) -> str:
    return f"installation/{table}.ndjson"


def file_member(path: str) -> str:
    return f"files/{path}"


def migrations_of(apps: frozenset[str]) -> dict[str, list[str]]:
    """Return the applied migrations of these apps."""
    found: dict[str, list[str]] = {app: [] for app in sorted(apps)}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        if app in found:
            found[app].append(name)
    return found


def foreign() -> InputError:
    return InputError(
        "This file is not a Concordance backup.",
        code="backup_foreign",
        kept=NOTHING_WRITTEN,
        next_step="Name a file that 'manage.py backup' wrote.",
    )


def damaged(what: str) -> InputError:
    return InputError(
        f"This backup is damaged. {what}",
        code="backup_damaged",
        kept=NOTHING_WRITTEN,
        next_step="Copy it again from where it is kept, or use an older backup.",
    )


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("Its manifest cannot be read.") from error
    if not isinstance(fields, dict):
        raise foreign()
    return fields


def _built(fields: dict[str, Any]) -> Manifest:
    workspaces = {str(UUID(id_)): str(slug) for id_, slug in fields["workspaces"].items()}
    manifest = Manifest(
        kind=str(fields["kind"]),
        version=str(fields["version"])[:40],
        created=str(fields["created"])[:40],
        migrations={str(app): list(map(str, names)) for app, names in fields["migrations"].items()},
        workspaces=workspaces,
        has_secrets=bool(fields["has_secrets"]),
        members={str(name): _member(one) for name, one in fields["members"].items()},
        missing=tuple(str(name) for name in fields["missing"]),
    )
    is_one = manifest.kind == WORKSPACE and len(workspaces) == 1
    if not is_one and manifest.kind != INSTALLATION:
        raise ValueError(manifest.kind)
    return manifest


def _member(fields: Mapping[str, Any]) -> Member:
    size, rows, digest = fields["bytes"], fields["rows"], str(fields["sha256"])
    if type(size) is not int or type(rows) is not int or min(size, rows) < 0:
        raise ValueError("size")
    if not DIGEST.fullmatch(digest):
        raise ValueError("digest")
    return Member(size, digest, rows)


BLOCK: Final = 1024 * 1024
LARGEST_MANIFEST: Final = 256 * BLOCK
# A row contains at most the text of one document.
LONGEST_LINE: Final = 512 * BLOCK
# Deflate compresses at most by this factor.
MOST_SHRUNK: Final = 1_040
ENCRYPTED: Final = 0x1
UUID_PATTERN: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
NAMES: Final = re.compile(
    r"people\.ndjson|workspace_list\.ndjson|installation/[a-z0-9_]{1,63}\.ndjson"
    rf"|workspaces/{UUID_PATTERN}/[a-z0-9_]{{1,63}}\.ndjson"
    rf"|files/{UUID_PATTERN}/{FILE_NAME.pattern}"
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
            yield Archive(file, _manifest(file, path.stat().st_size))
    except BadZipFile as error:
        raise InputError(
            f"'{path}' is not a Concordance backup, or is incomplete.",
            code="backup_unreadable",
            kept=NOTHING_WRITTEN,
            next_step="Copy it again from where it is kept, or name another file.",
        ) from error
    except OSError as error:
        if error.filename != str(path):
            raise
        raise InputError(
            f"'{path}' cannot be read: {error.strerror}.",
            code="backup_unreadable",
            kept=NOTHING_WRITTEN,
        ) from error


def _manifest(file: ZipFile, size: int) -> Manifest:
    infos = {info.filename: info for info in file.infolist()}
    if MANIFEST not in infos:
        raise foreign()
    packed = sum(info.compress_size for info in infos.values())
    if len(infos) != len(file.infolist()) or packed > size:
        raise damaged("It contains a file twice.")
    for info in infos.values():
        _check(info)
    if infos[MANIFEST].file_size > LARGEST_MANIFEST:
        raise damaged("Its manifest is too large.")
    try:
        manifest = Manifest.from_json(file.read(MANIFEST))
    except (BadZipFile, zlib.error, EOFError) as error:
        raise damaged("Its manifest cannot be unpacked.") from error
    _compare(manifest, infos)
    return manifest


def _check(info: ZipInfo) -> None:
    if info.filename != MANIFEST and not NAMES.fullmatch(info.filename):
        raise damaged("It contains a file that does not belong in a backup.")
    if info.flag_bits & ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise damaged(f"{info.filename} uses an unsupported compression.")
    if info.file_size > MOST_SHRUNK * info.compress_size + BLOCK:
        raise damaged(f"The size of {info.filename} is implausible.")


def _compare(manifest: Manifest, infos: dict[str, ZipInfo]) -> None:
    if manifest.members.keys() != infos.keys() - {MANIFEST}:
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
            f"This backup unpacks to {manifest.bytes / 1e6:,.0f} MB, but '{folder}' has only"
            f" {free / 1e6:,.0f} MB free.",
            code="no_room",
            kept=NOTHING_WRITTEN,
            next_step="Free some space there and try again.",
        )
