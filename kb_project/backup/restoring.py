"""Restores an archive: checked first, then written in one transaction, or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DataError, IntegrityError, OperationalError, transaction
from psycopg import sql as pgsql

from kb_project.backup import sql
from kb_project.backup.archive import (
    INSTALLATION,
    NOTHING_WRITTEN,
    PEOPLE,
    Archive,
    Manifest,
    Report,
    check_room,
    damaged,
    installation_member,
    table_member,
)
from kb_project.backup.tables import FILES, TENANT, Column, Contents, Table, contents
from kb_project.backup.validation import Checked, Row, examine
from kb_project.errors import ConflictError, InputError, UnavailableError
from kb_project.sql import run_sql, run_sql_count, temporary_rows

PREFIX: Final = ".restore-"
SECONDS_OF_A_RESTORE: Final = 24 * 3600


IDENTIFIERS: Final = frozenset({"uuid", "jsonb", "json"})
LONGEST_SLUG: Final = 60

NewIds = Mapping[str, str]
"""Maps ids in the archive to new ones; all others stay."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of the tables' owner: ``new_ids`` maps a workspace's ids if it gets a new one, from
    its rows by table; ``rebuild`` makes what is derived from its rows, in the same transaction.
    """

    new_ids: Callable[[Callable[[str], Iterator[Row]], uuid.UUID, uuid.UUID], NewIds]
    rebuild: Callable[[uuid.UUID, bool], None]


@dataclass(slots=True)
class Restored:
    """The result of a restore. ``made`` are the addresses of new accounts."""

    workspaces: dict[uuid.UUID, str] = field(default_factory=dict)
    rows: int = 0
    files: int = 0
    made: list[str] = field(default_factory=list)
    missing: int = 0
    lacks_keys: bool = False


def check(archive: Archive, report: Report) -> Manifest:
    """Check an archive without writing anything. Raises InputError if it cannot be restored."""
    examine(archive, contents(), report)
    return archive.manifest


def restore(
    archive: Archive, hooks: Hooks, *, slug: str = "", as_new: bool = False, report: Report
) -> Restored:
    """Restore an archive; one of a workspace also under another slug, or as a new workspace.

    Raises InputError if it cannot be restored, ConflictError if a workspace is in its way. On any
    error, nothing has been written.
    """
    _check_options(archive.manifest, slug, as_new=as_new)
    check_room(archive.manifest)
    known = contents()
    checked = examine(archive, known, report)
    try:
        return _Restorer(archive, known, checked, hooks, slug, as_new, report).restore()
    except (DataError, IntegrityError) as error:
        raise damaged("Its rows contradict each other.") from error
    except OperationalError as error:
        raise UnavailableError(
            f"The database failed: {str(error).splitlines()[0]}.",
            code="database_broke_off",
            kept=NOTHING_WRITTEN,
            next_step="Check that it is running and has space, then try again.",
        ) from error
    except OSError as error:
        raise InputError(
            f"The files cannot be written: {error.strerror or error}.",
            code="files_not_written",
            kept=NOTHING_WRITTEN,
            next_step="Free some space in the media folder, or allow this account to write there.",
        ) from error


def _check_options(manifest: Manifest, slug: str, *, as_new: bool) -> None:
    if manifest.kind == INSTALLATION and (slug or as_new):
        raise InputError(
            "This is a backup of a whole installation, which cannot become one workspace.",
            code="backup_of_installation",
            kept=NOTHING_WRITTEN,
            next_step="Restore it without --into and --as-new into an empty installation.",
        )
    if slug:
        try:
            validate_slug(slug)
        except ValidationError:
            raise InputError(
                f"'{slug}' is not a valid workspace address.",
                kept=NOTHING_WRITTEN,
                next_step="Use letters, digits, hyphens and underscores.",
            ) from None


@dataclass
class _Restorer:
    archive: Archive
    known: Contents
    checked: Checked
    hooks: Hooks
    slug: str
    as_new: bool
    report: Report
    done: Restored = field(default_factory=Restored)
    rows_done: int = 0

    def restore(self) -> Restored:
        manifest = self.archive.manifest
        with StagedFiles() as staged, transaction.atomic():
            run_sql(sql.LOCK)
            targets = self._targets()
            self._people()
            for table in self.known.installation:
                self._load(installation_member(table.name), table)
            for row, id_, slug in targets:
                self._workspace(row, id_, slug)
                self._files(staged, row["id"], id_)
            run_sql(sql.FORGET_PEOPLE)
            # A file without a row is harmless; a row without its file is not.
            staged.publish()
        self.done.missing = len(manifest.missing)
        keeps_keys = manifest.has_secrets and not self.as_new
        self.done.lacks_keys = not keeps_keys and any(
            self.archive.has(table_member(row["id"], table.name))
            for row, _, _ in targets
            for table in self.known.tenants
            if table.secrets
        )
        return self.done

    def _targets(self) -> list[tuple[Row, uuid.UUID, str]]:
        """Return each workspace's row with its new id and slug. Raises ConflictError."""
        if self.archive.manifest.kind == INSTALLATION:
            _check_empty()
            return [(row, uuid.UUID(row["id"]), row["slug"]) for row in self.checked.workspaces]
        (row,) = self.checked.workspaces
        id_ = uuid.uuid4() if self.as_new else uuid.UUID(row["id"])
        slug = self.slug or row["slug"]
        _check_free(id_, slug)
        return [(row, id_, slug)]

    def _people(self) -> None:
        run_sql(sql.CREATE_PEOPLE)
        if self.archive.manifest.kind == INSTALLATION:
            self._load(PEOPLE, self.known.people)
        addresses = {row["email"].lower(): number for number, row in self.checked.people.items()}
        ids = dict(run_sql(sql.KNOWN_PEOPLE, [list(addresses)]))
        accounts: Any = get_user_model().objects
        for address, number in addresses.items():
            if address not in ids:
                name = self.checked.people[number]["name"]
                # It cannot be signed in to until a password is set.
                ids[address] = accounts.create_user(address, None, name=name).pk
                self.done.made.append(address)
            run_sql(sql.NOTE_PERSON, [number, ids[address]])

    def _workspace(self, row: Row, id_: uuid.UUID, slug: str) -> None:
        run_sql(sql.SET_WORKSPACE, [str(id_)])
        given: dict[str, pgsql.Composable] = {
            "id": pgsql.Literal(id_),
            "slug": pgsql.Literal(slug),
        }
        if self.archive.manifest.kind != INSTALLATION:
            # Restored to be used, whether or not it was being deleted.
            given |= {"purge_at": pgsql.SQL("NULL"), "former_slugs": pgsql.SQL("'{}'")}
        self._insert(self.known.workspaces, [json.dumps(row).encode()], given)
        new_ids = self._new_ids(row["id"], id_)
        for table in self.known.tenants:
            member = table_member(row["id"], table.name)
            self._load(member, table, self._given(table, id_, is_new=bool(new_ids)), new_ids)
        run_sql(sql.CHECK_NOW)
        run_sql(sql.CHECK_LATER)
        self.report("workspaces", len(self.done.workspaces), len(self.checked.workspaces))
        self.hooks.rebuild(id_, bool(new_ids))
        self.done.workspaces[id_] = slug

    def _new_ids(self, old_id: str, id_: uuid.UUID) -> NewIds:
        if old_id == str(id_):
            return {}
        new_ids = self.hooks.new_ids(partial(self._rows, old_id), uuid.UUID(old_id), id_)
        return {**new_ids, old_id: str(id_)}

    def _given(self, table: Table, id_: uuid.UUID, *, is_new: bool) -> dict[str, pgsql.Composable]:
        """Return a tenant table's columns that do not come from the archive."""
        given: dict[str, pgsql.Composable] = {TENANT: pgsql.Literal(id_)}
        if table.name == FILES[0]:
            given[FILES[1]] = pgsql.SQL("regexp_replace(r.{}, '^[^/]+/', {})").format(
                pgsql.Identifier(FILES[1]), pgsql.Literal(f"{id_}/")
            )
        if self.archive.manifest.kind != INSTALLATION:
            given |= {name: pgsql.SQL("false") for name in table.permissions}
        # A sealed key opens only for the workspace it was sealed for.
        return given | {name: pgsql.SQL("''") for name in table.secrets if is_new}

    def _rows(self, workspace_id: str, table: str) -> Iterator[Row]:
        for line in self.archive.lines(table_member(workspace_id, table)):
            yield json.loads(line)

    def _files(self, staged: StagedFiles, old_id: str, id_: uuid.UUID) -> None:
        members = [
            member
            for member in self.archive.manifest.files()
            if member.startswith(f"files/{old_id}/")
        ]
        for done, member in enumerate(members, 1):
            staged.add(self.archive, member, f"{id_}/{member.rpartition('/')[2]}")
            self.done.files += 1
            self.report("files", done, len(members))

    def _load(
        self,
        member: str,
        table: Table,
        given: Mapping[str, pgsql.Composable] | None = None,
        new_ids: NewIds | None = None,
    ) -> None:
        if not self.archive.has(member):
            return
        lines: Iterable[bytes] = self.archive.lines(member)
        if new_ids or table.name == FILES[0]:
            # File names are written as parsed here, since other parsers may read the line
            # differently.
            lines = _renamed(lines, table, new_ids or {})
        self._insert(table, lines, given or {})
        self.rows_done += self.archive.manifest.members[member].rows
        self.report("rows", self.rows_done, self.archive.manifest.rows)

    def _insert(
        self, table: Table, lines: Iterable[bytes], given: Mapping[str, pgsql.Composable]
    ) -> None:
        columns = [one for one in table.columns if not (table.numbered and one.name == "id")]
        statement = pgsql.SQL(sql.INSERT_ROWS).format(
            table=pgsql.Identifier(table.name),
            names=pgsql.SQL(", ").join(pgsql.Identifier(column.name) for column in columns),
            values=pgsql.SQL(", ").join(
                given.get(column.name) or _value(column) for column in columns
            ),
        )
        texts = ((line.decode(),) for line in lines)
        with temporary_rows("backup_lines", {"line": "text"}, texts):
            self.done.rows += run_sql_count(statement)


class StagedFiles:
    """Files on their way into the media folder: all of them are published, or none.

    They wait in a folder inside the media folder until ``publish`` moves them into place. If the
    block fails, they are unpublished and nothing is left behind. A file never changes once written:
    an existing one is identical.
    """

    def __enter__(self) -> StagedFiles:
        media = Path(settings.MEDIA_ROOT)
        media.mkdir(parents=True, exist_ok=True)
        for left in media.glob(f"{PREFIX}*"):  # by a restore that was killed
            if time.time() - left.stat().st_mtime > SECONDS_OF_A_RESTORE:
                shutil.rmtree(left, ignore_errors=True)
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=media))
        self._published: list[Path] = []
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._unpublish()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, archive: Archive, member: str, path: str) -> None:
        """Add a file. ``path`` is relative to the media folder, and already validated."""
        staged = self._folder / path
        staged.parent.mkdir(parents=True, exist_ok=True)
        with staged.open("xb") as target:
            archive.copy(member, target.write)
        if settings.FILE_UPLOAD_PERMISSIONS is not None:
            staged.chmod(settings.FILE_UPLOAD_PERMISSIONS)

    def publish(self) -> None:
        for staged in sorted(self._folder.rglob("*")):
            if staged.is_file():
                target = Path(settings.MEDIA_ROOT) / staged.relative_to(self._folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    self._published.append(target)
                staged.replace(target)

    def _unpublish(self) -> None:
        for path in self._published:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in self._published}:
            if folder != Path(settings.MEDIA_ROOT) and not any(folder.iterdir()):
                folder.rmdir()


def _value(column: Column) -> pgsql.Composable:
    name = pgsql.Identifier(column.name)
    if column.is_person:
        return pgsql.SQL(sql.NEW_NUMBER).format(column=name)
    if column.is_lease:
        # Its holder does not exist here.
        return pgsql.SQL("least(r.{}, now())").format(name)
    return pgsql.SQL("r.{}").format(name)


def _renamed(lines: Iterable[bytes], table: Table, new_ids: NewIds) -> Iterator[bytes]:
    names = [column.name for column in table.columns if column.kind in IDENTIFIERS]
    for line in lines:
        row = json.loads(line)
        for name in names:
            row[name] = _with_new_ids(row[name], new_ids)
        yield json.dumps(row, ensure_ascii=False).encode()


def _with_new_ids(value: Any, new_ids: NewIds) -> Any:
    """Replace ids anywhere: alone, in a list, as a key, as a value."""
    if isinstance(value, str):
        return new_ids.get(value, value)
    if isinstance(value, list):
        return [_with_new_ids(one, new_ids) for one in value]
    if isinstance(value, dict):
        return {new_ids.get(key, key): _with_new_ids(one, new_ids) for key, one in value.items()}
    return value


def _check_empty() -> None:
    [(people, workspaces)] = run_sql(sql.HOW_FULL)
    if people or workspaces:
        raise ConflictError(
            f"This installation is not empty: it has {people} people and {workspaces} workspaces.",
            code="not_empty",
            kept="Nothing was changed.",
            next_step="Restore into a new installation, made by 'manage.py migrate': set"
            " CONCORDANCE_DATA_DIR to a new folder, or DATABASE_URL to a new database.",
        )


def _check_free(id_: uuid.UUID, slug: str) -> None:
    [(has_id, has_slug)] = run_sql(sql.TAKEN, {"id": id_, "slug": slug})
    if has_id:
        raise ConflictError(
            "The workspace in this backup already exists.",
            code="workspace_exists",
            kept="Nothing was changed.",
            next_step="Use --as-new and --into with another address to restore a copy.",
        )
    if len(slug) > LONGEST_SLUG:
        raise InputError(
            f"The address '{slug}' has more than {LONGEST_SLUG} characters.",
            code="slug_too_long",
            kept="Nothing was changed.",
            next_step="Choose a shorter one with --into.",
        )
    if has_slug:
        raise ConflictError(
            f"Another workspace has the address '{slug}', or had it before.",
            code="slug_taken",
            kept="Nothing was changed.",
            next_step="Choose another one with --into.",
        )
