"""Restores an archive: checked first, then written in one transaction, or not at all."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DataError, IntegrityError, OperationalError, transaction
from psycopg import sql as pgsql

from kb_project.backup import manifest as manifests, sql, staging
from kb_project.backup.archive import Archive, check_room
from kb_project.backup.examining import Found, Report, examine
from kb_project.backup.manifest import Manifest, damaged
from kb_project.backup.rows import Row
from kb_project.backup.tables import FILES, TENANT, Column, Contents, Table, contents
from kb_project.errors import ConflictError, InputError, UnavailableError
from kb_project.sql import run_sql, run_sql_count, temporary_rows

IDENTIFIERS: Final = frozenset({"uuid", "jsonb", "json"})
LONGEST_SLUG: Final = 60

NewIds = Mapping[str, str]
"""Maps ids in the archive to new ones; all others stay."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The slug to restore under, and whether to restore as a new workspace."""

    slug: str = ""
    as_new: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of the tables' owner: ``new_ids`` maps a workspace's ids if it gets a new one, from
    its rows by table; ``settle`` runs after its rows are written, in the same transaction.
    """

    new_ids: Callable[[Callable[[str], Iterator[Row]], uuid.UUID, uuid.UUID], NewIds]
    settle: Callable[[uuid.UUID, bool], None]


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


def restore(archive: Archive, wish: Wish, hooks: Hooks, *, report: Report) -> Restored:
    """Restore an archive. Raises InputError if it cannot be restored, ConflictError if its place is
    taken. On any error, nothing has been written.
    """
    _check_wish(archive.manifest, wish)
    check_room(archive.manifest)
    known = contents()
    found = examine(archive, known, report)
    try:
        return _Restorer(archive, known, found, wish, hooks, report).restore()
    except (DataError, IntegrityError) as error:
        raise damaged("Its rows contradict each other.") from error
    except OperationalError as error:
        raise UnavailableError(
            f"The database failed: {str(error).splitlines()[0]}.",
            code="database_broke_off",
            kept=manifests.NOTHING_WRITTEN,
            next_step="Check that it is running and has space, then try again.",
        ) from error
    except OSError as error:
        raise InputError(
            f"The files cannot be written: {error.strerror or error}.",
            code="files_not_written",
            kept=manifests.NOTHING_WRITTEN,
            next_step="Free some space in the media folder, or allow this account to write there.",
        ) from error


def _check_wish(manifest: Manifest, wish: Wish) -> None:
    if manifest.kind == manifests.INSTALLATION and (wish.slug or wish.as_new):
        raise InputError(
            "This is a backup of a whole installation, which cannot become one workspace.",
            code="backup_of_installation",
            kept=manifests.NOTHING_WRITTEN,
            next_step="Restore it without --into and --as-new into an empty installation.",
        )
    if wish.slug:
        try:
            validate_slug(wish.slug)
        except ValidationError:
            raise InputError(
                f"'{wish.slug}' is not a valid workspace address.",
                kept=manifests.NOTHING_WRITTEN,
                next_step="Use letters, digits, hyphens and underscores.",
            ) from None


@dataclass
class _Restorer:
    archive: Archive
    known: Contents
    found: Found
    wish: Wish
    hooks: Hooks
    report: Report
    done: Restored = field(default_factory=Restored)
    rows_done: int = 0

    def restore(self) -> Restored:
        manifest = self.archive.manifest
        with staging.stage() as stage, transaction.atomic():
            run_sql(sql.LOCK)
            places = self._places()
            self._people()
            self._installation()
            for row, id_, slug in places:
                self._workspace(row, id_, slug)
                self._files(stage, row["id"], id_)
            run_sql(sql.FORGET_PEOPLE)
            # A file without a row is harmless; a row without its file is not.
            stage.publish()
        self.done.missing = len(manifest.missing)
        keeps_keys = manifest.has_secrets and not self.wish.as_new
        self.done.lacks_keys = not keeps_keys and any(
            self.archive.has(manifests.table_member(row["id"], table.name))
            for row, _, _ in places
            for table in self.known.tenants
            if table.secrets
        )
        return self.done

    def _places(self) -> list[tuple[Row, uuid.UUID, str]]:
        """Return each workspace's row with its new id and slug. Raises ConflictError."""
        if self.archive.manifest.kind == manifests.INSTALLATION:
            _check_empty()
            return [(row, uuid.UUID(row["id"]), row["slug"]) for row in self.found.workspaces]
        (row,) = self.found.workspaces
        id_ = uuid.uuid4() if self.wish.as_new else uuid.UUID(row["id"])
        slug = self.wish.slug or row["slug"]
        _check_free(id_, slug)
        return [(row, id_, slug)]

    def _people(self) -> None:
        run_sql(sql.CREATE_PEOPLE)
        if self.archive.manifest.kind == manifests.INSTALLATION:
            self._load(manifests.PEOPLE, self.known.people)
        addresses = {row["email"].lower(): number for number, row in self.found.people.items()}
        ids = dict(run_sql(sql.KNOWN_PEOPLE, [list(addresses)]))
        for address, number in addresses.items():
            if address not in ids:
                person = self.found.people[number]
                ids[address] = _make_person(address, person["name"])
                self.done.made.append(address)
            run_sql(sql.NOTE_PERSON, [number, ids[address]])

    def _installation(self) -> None:
        for table in self.known.installation:
            self._load(manifests.installation_member(table.name), table)

    def _workspace(self, row: Row, id_: uuid.UUID, slug: str) -> None:
        run_sql(sql.SET_WORKSPACE, [str(id_)])
        given = {"id": pgsql.Literal(id_), "slug": pgsql.Literal(slug)}
        self._insert(self.known.workspaces, [json.dumps(row).encode()], given)
        new_ids = self._new_ids(row["id"], id_)
        for table in self.known.tenants:
            member = manifests.table_member(row["id"], table.name)
            self._load(member, table, self._given(table, id_, is_new=bool(new_ids)), new_ids)
        run_sql(sql.CHECK_NOW)
        run_sql(sql.CHECK_LATER)
        self.report("settle", len(self.done.workspaces), len(self.found.workspaces))
        self.hooks.settle(id_, bool(new_ids))
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
        # A sealed key opens only for the workspace it was sealed for.
        return given | {name: pgsql.SQL("''") for name in table.secrets if is_new}

    def _rows(self, workspace_id: str, table: str) -> Iterator[Row]:
        for line in self.archive.lines(manifests.table_member(workspace_id, table)):
            yield json.loads(line)

    def _files(self, stage: staging.Stage, old_id: str, id_: uuid.UUID) -> None:
        members = [
            member
            for member in self.archive.manifest.files()
            if member.startswith(f"files/{old_id}/")
        ]
        for place, member in enumerate(members, 1):
            stage.add(self.archive, member, f"{id_}/{member.rpartition('/')[2]}")
            self.done.files += 1
            self.report("files", place, len(members))

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
        waiting = temporary_rows("backup_lines", {"line": "text"}, texts)
        with waiting:
            self.done.rows += run_sql_count(statement)


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


def _make_person(address: str, name: str) -> int:
    """Create an account that cannot be signed in to until a password is set."""
    made: Any = get_user_model()
    return int(made.objects.create_user(address, None, name=name).pk)


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
            f"Another workspace already has the address '{slug}'.",
            code="slug_taken",
            kept="Nothing was changed.",
            next_step="Choose another one with --into.",
        )
