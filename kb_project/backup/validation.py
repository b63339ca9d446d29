"""Validates a whole archive before anything is written: the state of its migrations, every row."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug

from kb_project.backup.archive import (
    INSTALLATION,
    NOTHING_WRITTEN,
    PEOPLE,
    WORKSPACES,
    Archive,
    Manifest,
    Report,
    damaged,
    installation_member,
    migrations_of,
    table_member,
)
from kb_project.backup.tables import FILES, TENANT, Column, Contents, Table, is_file_of
from kb_project.errors import InputError

HEX: Final = re.compile(r"(\\x([0-9a-f]{2})*)?")
NOT_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
WHOLE: Final[Mapping[str, int]] = {"smallint": 15, "integer": 31, "bigint": 63}

BRIEF: Final = frozenset({"id", "email", "name"})
"""The columns of people in an archive of one workspace."""

Test = Callable[[Any], bool]
Row = dict[str, Any]


class Shape:
    """The valid rows of one table; ``people`` are the columns that hold a person's id."""

    def __init__(self, table: Table, *, only: frozenset[str] = frozenset()) -> None:
        columns = [one for one in table.columns if not only or one.name in only]
        self.table = table.name
        self.names = {column.name for column in columns}
        self.tests = {column.name: _test(column) for column in columns}
        self.people = [column.name for column in columns if column.is_person]

    def row(self, line: bytes, number: int, *, workspace_id: str = "") -> Row:
        """Parse and validate a row. ``workspace_id`` is the owner required, '' for none. Raises
        InputError.
        """
        row = _parsed(line)
        if row is None or row.keys() != self.names:
            raise self._wrong(number, "does not match the table's columns")
        for name, value in row.items():
            if not self.tests[name](value):
                raise self._wrong(number, f"has an invalid value in {name}")
        if workspace_id and row.get(TENANT) != workspace_id:
            raise self._wrong(number, "belongs to another workspace")
        if self.table == FILES[0] and not is_file_of(row[FILES[1]], workspace_id):
            raise self._wrong(number, "names a file outside its workspace")
        return row

    def _wrong(self, number: int, what: str) -> Exception:
        return damaged(f"Row {number} of {self.table} {what}.")


def _parsed(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _test(column: Column) -> Test:
    test = _test_of_kind(column)
    if column.is_array:
        inner = test

        def test(value: Any) -> bool:
            return isinstance(value, list) and all(inner(one) for one in value)

    if column.is_required:
        return test
    return lambda value: value is None or test(value)


def _test_of_kind(column: Column) -> Test:
    """Unknown kinds are left to the database."""
    if column.kind in WHOLE:
        limit = 2 ** WHOLE[column.kind]
        return lambda value: type(value) is int and -limit <= value < limit
    if column.kind in ("character varying", "text"):
        return partial(_is_storable, longest=column.length or math.inf)
    return TESTS.get(column.kind, lambda _value: True)


def _is_storable(value: Any, longest: float) -> bool:
    """Whether a text is not too long and has no NUL or lone surrogate, which Postgres
    cannot hold.
    """
    if not isinstance(value, str) or len(value) > longest or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reads(read: Callable[[str], Any]) -> Test:
    def test(value: Any) -> bool:
        try:
            read(value)
        except (ValueError, TypeError, AttributeError, InvalidOperation):
            return False
        return isinstance(value, str)

    return test


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) in (int, float) for one in value)


TESTS: Final[Mapping[str, Test]] = {
    "uuid": lambda value: _reads(UUID)(value) and str(UUID(value)) == value,
    "boolean": lambda value: isinstance(value, bool),
    "date": _reads(date.fromisoformat),
    "timestamp with time zone": _reads(datetime.fromisoformat),
    "numeric": _reads(Decimal),
    "double precision": lambda value: type(value) in (int, float) or value in NOT_NUMBERS,
    "bytea": lambda value: isinstance(value, str) and bool(HEX.fullmatch(value)),
    "halfvec": _is_vector,
    "vector": _is_vector,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """The workspaces' rows, and the people by their id in the archive."""

    workspaces: tuple[Row, ...]
    people: Mapping[int, Row] = field(default_factory=dict)


def examine(archive: Archive, known: Contents, report: Report) -> Checked:
    """Check the whole archive. Raises InputError for the first problem."""
    check_migrations(archive.manifest, migrations_of(known.apps))
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
        kept=NOTHING_WRITTEN,
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

    def examine(self) -> Checked:
        is_whole = self.archive.manifest.kind == INSTALLATION
        self._people(Shape(self.known.people, only=frozenset() if is_whole else BRIEF))
        workspaces = self._workspaces()
        if is_whole:
            for table in self.known.installation:
                self._table(installation_member(table.name), table)
        files: set[str] = set()
        for row in workspaces:
            for table in self.known.tenants:
                files |= self._table(
                    table_member(row["id"], table.name), table, workspace_id=row["id"]
                )
        self._files(files)
        if unknown := self.archive.manifest.members.keys() - self.seen:
            raise damaged(f"It contains {min(unknown)}, which this version does not know.")
        return Checked(tuple(workspaces), self.people)

    def _people(self, shape: Shape) -> None:
        addresses: set[str] = set()
        for number, line in enumerate(self._lines(PEOPLE), 1):
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
        for number, line in enumerate(self._lines(WORKSPACES), 1):
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
