"""The manifest of an archive: what it is, its version, and what it must contain."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from kb_project.errors import InputError

FORMAT: Final = 1
"""Incremented whenever older versions cannot read the new format."""
PRODUCT: Final = "concordance"
NAME: Final = "manifest.json"
INSTALLATION: Final = "installation"
WORKSPACE: Final = "workspace"
PEOPLE: Final = "people.ndjson"
WORKSPACES: Final = "workspace_list.ndjson"
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
NOTHING_WRITTEN: Final = "Nothing was written."


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
        said = {"product": PRODUCT, "format": FORMAT, **asdict(self)}
        return json.dumps(said, indent=1, sort_keys=True).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Parse a manifest. Raises InputError for an invalid one, or one of a later format."""
        said = _parsed(text)
        if said.get("product") != PRODUCT:
            raise foreign()
        if not isinstance(said.get("format"), int) or said["format"] > FORMAT:
            raise InputError(
                f"This backup has format {said.get('format')}; this version reads format {FORMAT}.",
                code="backup_newer",
                kept=NOTHING_WRITTEN,
                next_step="Restore it with the version that wrote it, or a later one.",
            )
        try:
            return _built(said)
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


def product_version() -> str:
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


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
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("Its manifest cannot be read.") from error
    if not isinstance(said, dict):
        raise foreign()
    return said


def _built(said: dict[str, Any]) -> Manifest:
    workspaces = {str(UUID(id_)): str(slug) for id_, slug in said["workspaces"].items()}
    manifest = Manifest(
        kind=str(said["kind"]),
        version=str(said["version"])[:40],
        created=str(said["created"])[:40],
        migrations={str(app): list(map(str, names)) for app, names in said["migrations"].items()},
        workspaces=workspaces,
        has_secrets=bool(said["has_secrets"]),
        members={str(name): _member(one) for name, one in said["members"].items()},
        missing=tuple(str(name) for name in said["missing"]),
    )
    is_one = manifest.kind == WORKSPACE and len(workspaces) == 1
    if not is_one and manifest.kind != INSTALLATION:
        raise ValueError(manifest.kind)
    return manifest


def _member(said: Mapping[str, Any]) -> Member:
    size, rows, digest = said["bytes"], said["rows"], str(said["sha256"])
    if type(size) is not int or type(rows) is not int or min(size, rows) < 0:
        raise ValueError("size")
    if not DIGEST.fullmatch(digest):
        raise ValueError("digest")
    return Member(size, digest, rows)
