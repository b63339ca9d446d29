"""Checks a whole archive before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug

from kb_project.backup import manifest as manifests
from kb_project.backup.archive import Archive
from kb_project.backup.manifest import Manifest, damaged
from kb_project.backup.rows import Row, Shape
from kb_project.backup.tables import FILES, Contents, Table
from kb_project.errors import InputError

BRIEF: Final = frozenset({"id", "email", "name"})
"""The columns of people in an archive of one workspace."""

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The workspaces' rows, and the people by their id in the archive."""

    workspaces: tuple[Row, ...]
    people: Mapping[int, Row] = field(default_factory=dict)


def examine(archive: Archive, known: Contents, report: Report) -> Found:
    """Check the whole archive. Raises InputError for the first problem."""
    check_migrations(archive.manifest, manifests.migrations_of(known.apps))
    return _Examiner(archive, known, report).examine()


def check_migrations(manifest: Manifest, here: Mapping[str, list[str]]) -> None:
    if dict(manifest.migrations) == dict(here):
        return
    there = {(app, name) for app, names in manifest.migrations.items() for name in names}
    ours = {(app, name) for app, names in here.items() for name in names}
    is_newer = bool(there - ours)
    raise InputError(
        f"This backup was made by {'a newer' if is_newer else 'an older'} version of Concordance"
        f" ({manifest.version}, {manifest.created}).",
        code="backup_newer" if is_newer else "backup_older",
        kept=manifests.NOTHING_WRITTEN,
        next_step="Upgrade this installation to that version and run 'manage.py migrate' first."
        if is_newer
        else "Restore it with that version into an empty database, then upgrade that to this"
        " version.",
    )


class _Examiner:
    def __init__(self, archive: Archive, known: Contents, report: Report) -> None:
        self.archive = archive
        self.known = known
        self.report = report
        self.done = 0
        self.seen: set[str] = set()
        self.people: dict[int, Row] = {}

    def examine(self) -> Found:
        is_whole = self.archive.manifest.kind == manifests.INSTALLATION
        self._people(Shape(self.known.people, only=frozenset() if is_whole else BRIEF))
        workspaces = self._workspaces()
        if is_whole:
            for table in self.known.installation:
                self._table(manifests.installation_member(table.name), table)
        files: set[str] = set()
        for row in workspaces:
            for table in self.known.tenants:
                files |= self._table(
                    manifests.table_member(row["id"], table.name), table, workspace_id=row["id"]
                )
        self._files(files)
        if unknown := self.archive.manifest.members.keys() - self.seen:
            raise damaged(f"It contains {min(unknown)}, which this version does not know.")
        return Found(tuple(workspaces), self.people)

    def _people(self, shape: Shape) -> None:
        addresses: set[str] = set()
        for number, line in enumerate(self._lines(manifests.PEOPLE), 1):
            row = shape.row(line, number)
            if not _passes(validate_email, row["email"]) or row["email"].lower() in addresses:
                raise damaged(f"Person {number} has no e-mail address of their own.")
            addresses.add(row["email"].lower())
            self.people[row["id"]] = row
        if len(self.people) != len(addresses):
            raise damaged("Two people have the same number.")

    def _workspaces(self) -> list[Row]:
        shape = Shape(self.known.workspaces)
        rows = []
        for number, line in enumerate(self._lines(manifests.WORKSPACES), 1):
            row = shape.row(line, number)
            self._check_people(shape, row)
            if not _passes(validate_slug, row["slug"]):
                raise damaged(f"Workspace {number} has an invalid address.")
            rows.append(row)
        if {row["id"]: row["slug"] for row in rows} != dict(self.archive.manifest.workspaces):
            raise damaged("Its workspaces differ from the manifest.")
        return rows

    def _table(self, member: str, table: Table, *, workspace_id: str = "") -> set[str]:
        """Check a table; returns the files that its rows name."""
        shape, files = Shape(table), set()
        for number, line in enumerate(self._lines(member), 1):
            row = shape.row(line, number, workspace_id=workspace_id)
            self._check_people(shape, row)
            if table.name == FILES[0]:
                files.add(row[FILES[1]])
        return files

    def _check_people(self, shape: Shape, row: Row) -> None:
        for name in shape.people:
            if row[name] is not None and row[name] not in self.people:
                raise damaged(
                    f"A row of {shape.table} refers to a person who is not in the backup."
                )

    def _files(self, named: set[str]) -> None:
        for member in self.archive.manifest.files():
            if member.removeprefix("files/") not in named:
                raise damaged(f"{member} belongs to no document.")
            self.seen.add(member)
            self._count()
            self.archive.copy(member, lambda _block: None)

    def _lines(self, member: str) -> Iterator[bytes]:
        self.seen.add(member)
        self._count()
        return self.archive.lines(member)

    def _count(self) -> None:
        self.done += 1
        self.report("check", min(self.done, self._total), self._total)

    @property
    def _total(self) -> int:
        return max(len(self.archive.manifest.members), 1)


def _passes(validate: Callable[[Any], None], value: str) -> bool:
    try:
        validate(value)
    except ValidationError:
        return False
    return True
