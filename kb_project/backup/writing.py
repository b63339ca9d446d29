"""Writes an archive from one snapshot of all tables, whatever is written meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import IO, Final
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql as pgsql

from kb_project import keys
from kb_project.backup import sql
from kb_project.backup.archive import (
    INSTALLATION,
    MANIFEST,
    PEOPLE,
    WORKSPACE,
    WORKSPACES,
    Manifest,
    Member,
    Report,
    file_member,
    installation_member,
    migrations_of,
    table_member,
)
from kb_project.backup.tables import FILES, TENANT, Column, Contents, Table, contents, is_file_of
from kb_project.errors import InputError, NotFoundError
from kb_project.sql import run_sql

BLOCK: Final = 1024 * 1024
# Level 6 takes twice as long and saves a twentieth.
LEVEL: Final = 3
EVERYTHING: Final[pgsql.Composable] = pgsql.SQL("true")


def write(path: Path, slug: str = "", *, with_secrets: bool, report: Report) -> Manifest:
    """Write an archive of everything, or of the workspace with that slug.

    On any failure nothing is left at ``path``.

    Raises NotFoundError for an unknown slug, InputError if the file cannot be written.
    """
    try:
        with (
            _new_file(path) as file,
            ZipFile(file, "w", ZIP_DEFLATED, compresslevel=LEVEL) as archive,
        ):
            return _Writer(archive, slug, with_secrets, report).write()
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be written: {error.strerror or error}.",
            code="backup_not_written",
            kept="No backup was made.",
            next_step="Name another place, or free some space there.",
        ) from error


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file beside ``path``, readable by its owner only, and rename it
    on success.
    """
    if path.exists():
        raise InputError(
            f"The file '{path}' already exists.",
            code="backup_exists",
            kept="It is unchanged.",
            next_step="Name another file, or move this one away.",
        )
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.touch(mode=0o600, exist_ok=False)
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@dataclass
class _Writer:
    archive: ZipFile
    slug: str
    with_secrets: bool
    report: Report
    members: dict[str, Member] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def write(self) -> Manifest:
        with transaction.atomic():
            run_sql(sql.ONE_STATE)
            known = contents()
            workspaces = self._workspaces()
            self._files(list(workspaces))
            self._people(known, list(workspaces))
            self._tables(known, list(workspaces))
            with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
                version = str(tomllib.load(file)["project"]["version"])
            made = Manifest(
                kind=WORKSPACE if self.slug else INSTALLATION,
                version=version,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                migrations=migrations_of(known.apps),
                workspaces={str(id_): slug for id_, slug in workspaces.items()},
                has_secrets=self.with_secrets,
                members=self.members,
                missing=tuple(self.missing),
            )
        self.archive.writestr(MANIFEST, made.to_json())
        return made

    def _workspaces(self) -> dict[UUID, str]:
        found: dict[UUID, str] = dict(run_sql(sql.WORKSPACES, {"slug": self.slug}))
        if self.slug and not found:
            raise NotFoundError(f"There is no workspace '{self.slug}'.", kept="No backup was made.")
        return found

    def _files(self, workspaces: list[UUID]) -> None:
        """Write the files before the tables: deleting a document for good deletes its file too."""
        paths = [path for id_ in workspaces for path in _file_names(id_)]
        for done, path in enumerate(paths):
            self.report("files", done, len(paths))
            try:
                source = (Path(settings.MEDIA_ROOT) / path).open("rb")
            except FileNotFoundError:
                self.missing.append(path)
                continue
            # Stored uncompressed: most kinds of files already are compressed.
            with source, self._member(ZipInfo(file_member(path))) as sink:
                while block := source.read(BLOCK):
                    sink(block)
        self.report("files", len(paths), len(paths))

    def _people(self, known: Contents, workspaces: list[UUID]) -> None:
        columns = list(known.people.columns)
        which: pgsql.Composable = EVERYTHING
        if self.slug:
            columns = [one for one in columns if one.name in ("id", "email", "name")]
            numbers = sorted(self._named(known, workspaces[0]))
            which = pgsql.SQL("id = ANY({})").format(pgsql.Literal(numbers))
        self._table(PEOPLE, known.people.name, columns, which, rewrite=_with_open_password)

    def _named(self, known: Contents, workspace_id: UUID) -> set[int]:
        """Return the ids of people referenced in a workspace's rows."""
        _enter(workspace_id)
        own = pgsql.SQL("id = {}").format(pgsql.Literal(workspace_id))
        theirs = pgsql.SQL("workspace_id = {}").format(pgsql.Literal(workspace_id))
        tables = [(known.workspaces, own), *((table, theirs) for table in known.tenants)]
        found: set[int] = set()
        for table, which in tables:
            for column in table.people:
                statement = pgsql.SQL(sql.NUMBERS_OF_PEOPLE).format(
                    column=pgsql.Identifier(column),
                    table=pgsql.Identifier(table.name),
                    which=which,
                )
                found.update(number for (number,) in run_sql(statement))
        return found

    def _tables(self, known: Contents, workspaces: list[UUID]) -> None:
        which = pgsql.SQL("id = ANY({})").format(pgsql.Literal(workspaces))
        columns = known.workspaces.columns
        self._table(WORKSPACES, known.workspaces.name, list(columns), which)
        if not self.slug:
            for table in known.installation:
                name = installation_member(table.name)
                self._table(name, table.name, list(table.columns), EVERYTHING)
        done, total = 0, len(workspaces) * len(known.tenants)
        for workspace_id in workspaces:
            _enter(workspace_id)
            for table in known.tenants:
                self.report("tables", done, total)
                self._tenant(table, workspace_id)
                done += 1
        self.report("tables", total, total)

    def _tenant(self, table: Table, workspace_id: UUID) -> None:
        name = table_member(workspace_id, table.name)
        theirs = pgsql.SQL("{} = {}").format(pgsql.Identifier(TENANT), pgsql.Literal(workspace_id))
        self._table(name, table.name, list(table.columns), theirs)

    def _table(
        self,
        member: str,
        table: str,
        columns: list[Column],
        which: pgsql.Composable,
        rewrite: Callable[[str], str] = str,
    ) -> None:
        """Write a table's rows as lines; a table without rows has no member."""
        shown = pgsql.SQL(", ").join(
            _value(column, with_secrets=self.with_secrets) for column in columns
        )
        statement = pgsql.SQL(sql.ROWS).format(
            columns=shown, table=pgsql.Identifier(table), which=which
        )
        lines = map(rewrite, _rows(statement))
        first = next(lines, None)
        if first is None:
            return
        rows = 0
        with self._member(member) as sink:
            for line in chain((first,), lines):
                sink(line.encode() + b"\n")
                rows += 1
        self.members[member] = replace(self.members[member], rows=rows)

    @contextmanager
    def _member(self, name: str | ZipInfo) -> Iterator[Callable[[bytes], None]]:
        digest, size = hashlib.sha256(), 0
        with self.archive.open(name, "w", force_zip64=True) as target:

            def sink(block: bytes) -> None:
                nonlocal size
                target.write(block)
                digest.update(block)
                size += len(block)

            yield sink
        self.members[name if isinstance(name, str) else name.filename] = Member(
            size, digest.hexdigest()
        )


def _with_open_password(line: str) -> str:
    """Write the hash as other installations can check it: they have another ``SECRET_KEY``."""
    row = json.loads(line)
    if "password" in row:
        row["password"] = keys.opened(row["password"])
    return json.dumps(row, ensure_ascii=False)


def _rows(statement: pgsql.Composed) -> Iterator[str]:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["text"])
        for (line,) in copy.rows():
            yield line


def _enter(workspace_id: UUID) -> None:
    run_sql(sql.SET_WORKSPACE, [str(workspace_id)])


def _file_names(workspace_id: UUID) -> list[str]:
    _enter(workspace_id)
    table, column = FILES
    names = {"table": pgsql.Identifier(table), "column": pgsql.Identifier(column)}
    found = [path for (path,) in run_sql(pgsql.SQL(sql.FILE_NAMES).format(**names))]
    return [path for path in found if "/" in path and is_file_of(path, str(workspace_id))]


def _value(column: Column, *, with_secrets: bool) -> pgsql.Composed:
    """Return a column's JSON form: vectors as lists, exact numbers as text, no secrets."""
    name = pgsql.Identifier(column.name)
    if column.is_secret and not with_secrets:
        return pgsql.SQL("'' AS {}").format(name)
    if column.kind == "numeric":
        return pgsql.SQL("{}::text AS {}").format(name, name)
    if column.kind in ("halfvec", "vector"):
        return pgsql.SQL("{}::text::json AS {}").format(name, name)
    return pgsql.SQL("{}").format(name)
