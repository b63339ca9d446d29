"""Validates the lines of an archive before anything is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final
from uuid import UUID

from kb_project.backup.manifest import damaged
from kb_project.backup.tables import FILES, TENANT, Column, Table

HEX: Final = re.compile(r"(\\x([0-9a-f]{2})*)?")
FILE_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_.-]{0,119}")
NOT_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
WHOLE: Final[Mapping[str, int]] = {"smallint": 15, "integer": 31, "bigint": 63}

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


def is_file_of(path: str, workspace_id: str) -> bool:
    """Whether a path stays in its workspace's folder.

    >>> is_file_of("w/file", "w"), is_file_of("w/../v/file", "w"), is_file_of("v/file", "w")
    (True, False, False)
    """
    folder, _, name = path.rpartition("/")
    return folder in (workspace_id, "") and bool(FILE_NAME.fullmatch(name))


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
