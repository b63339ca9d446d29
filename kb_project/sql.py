"""Runs hand-written SQL: literal statements, bound values, bulk rows by binary COPY.

Queries are ``LiteralString`` so that a type checker refuses text assembled at run time; names of
tables and columns go through ``psycopg.sql.Identifier``, which gives a ``Composed``. Values are
always bound.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, ForeignObject, Lookup
from django.db.models.sql.compiler import SQLCompiler
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.pq import Format
from psycopg.types.array import ListDumper

Query = LiteralString | sql.Composed
Row = tuple[Any, ...]
# Any, since psycopg adapts more types than a stub can list.
Params = Sequence[Any] | Mapping[str, Any]
# Column names and Postgres types, in the order of the rows' values. Vectors are pgvector's own
# ``Vector`` and ``HalfVector``.
Columns = Mapping[LiteralString, LiteralString]

ROWS_AT_ONCE: Final = 5_000
VECTOR_TYPES: Final = frozenset({"vector", "halfvec"})


def run_sql(query: Query, params: Params = (), *, using: str = DEFAULT_DB_ALIAS) -> list[Row]:
    """Return the rows of one statement; an empty list if it returns none."""
    with connections[using].cursor() as cursor:
        cursor.execute(query, params)
        return list(cursor.fetchall()) if cursor.description else []


def packed_sql(query: Query, params: Params = ()) -> list[Row]:
    """Return the rows of one query, some of whose columns are bytes.

    They come as they are. Written out in digits, as usual, a million ids take six times the memory.
    """
    with connection.cursor() as cursor:
        cursor.cursor.format = Format.BINARY
        cursor.execute(query, params)
        return list(cursor.fetchall())


def stream_sql(query: Query, params: Params = ()) -> Iterator[Row]:
    """Yield the rows of one query, a few thousand in memory at a time. Needs a transaction."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, params)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows


def run_sql_count(query: Query, params: Params = ()) -> int:
    """Return how many rows one INSERT, UPDATE or DELETE affected."""
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return int(cursor.rowcount)


@contextmanager
def bulk_plans() -> Iterator[None]:
    """Disable nested loops for the block, for statements that join a workspace's rows in bulk.

    The planner's statistics of a table may be older than a workspace that has just been filled. It
    then expects one row, joins by nested loops, and a second becomes minutes (measured: 11,000
    relationships, 0.2 s by hash joins, 42 s by a nested loop). Needs a transaction.
    """
    run_sql("SET LOCAL enable_nestloop = off")
    yield
    run_sql("SET LOCAL enable_nestloop = on")


@contextmanager
def temporary_rows(
    name: LiteralString,
    columns: Columns,
    rows: Iterable[Sequence[object]],
) -> Iterator[int]:
    """Put rows in a temporary table for the block; yields how many.

    Everything happens in one transaction, because the table lives on one connection only.
    """
    with transaction.atomic(), _bulk_cursor(columns) as cursor:
        definitions = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind))
            for column, kind in columns.items()
        )
        create = sql.SQL("CREATE TEMPORARY TABLE {} ({})")
        cursor.execute(create.format(sql.Identifier(name), definitions))
        yield _copy(cursor, name, columns, rows)
        cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier("pg_temp", name)))


def copy_into(table: LiteralString, columns: Columns, rows: Iterable[Sequence[object]]) -> int:
    """Insert many rows at COPY speed; returns how many were written.

    COPY fills a temporary table, which INSERT … SELECT copies, since row-level security refuses
    COPY FROM.
    """
    names = sql.SQL(", ").join(sql.Identifier(column) for column in columns)
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
        sql.Identifier(table), names, names, sql.Identifier("pg_temp", "copied_rows")
    )
    waiting = temporary_rows("copied_rows", columns, rows)
    with waiting, connection.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.rowcount)


def _bulk_cursor(columns: Columns) -> Any:
    """Return a cursor that knows vector types: one created before pgvector is registered never
    does.
    """
    if VECTOR_TYPES & set(columns.values()):
        connection.ensure_connection()
        register_vector(connection.connection)
    return connection.cursor()


def _copy(
    cursor: Any, name: LiteralString, columns: Columns, rows: Iterable[Sequence[object]]
) -> int:
    statement = sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier("pg_temp", name)
    )
    written = 0
    with cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
            written += 1
    return written


class QuickListDumper(ListDumper):
    """Writes lists of texts, ids or numbers in a few steps; leaves all others to psycopg.

    psycopg inspects every element in Python: a tenth of the time of an ingest, models aside. The
    result is that of ``ListDumper``, with more quotes.
    """

    def dump(self, obj: list[Any]) -> Buffer | None:
        kinds = set(map(type, obj))
        if kinds == {uuid.UUID}:
            written = b"".join([one.bytes for one in obj]).hex(",", bytes_per_sep=16)
            return ("{" + written + "}").encode()
        if kinds in ({int}, {float}):
            return ("{" + ",".join(map(str, obj)) + "}").encode()
        if kinds == {str}:
            whole = "\0".join(obj)
            # The database holds no NUL in texts: leave the error to psycopg.
            if whole.count("\0") == len(obj) - 1:
                escaped = whole.replace("\\", "\\\\").replace('"', '\\"')
                return ('{"' + escaped.replace("\0", '","') + '"}').encode()
        return super().dump(obj)


def register_list_dumper() -> None:
    """Use the dumper for every connection opened from now on."""
    psycopg.adapters.register_dumper(list, QuickListDumper)


# --- lookups --------------------------------------------------------------------------------------
if TYPE_CHECKING:
    _Lookup = Lookup[Any]
else:
    _Lookup = Lookup


class Among(_Lookup):
    """``id__among=ids``: Postgres takes 65,535 parameters, and an array of any length as one.

    A set is fine; an empty one matches nothing.
    """

    lookup_name = "among"
    prepare_rhs = False

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.target_field if self.lhs.output_field.is_relation else None
        kind = kind or self.lhs.output_field
        return f"{column} = ANY(%s::{kind.db_type(connection)}[])", [*params, list(self.rhs)]


def register_lookups() -> None:
    Field.register_lookup(Among)
    ForeignObject.register_lookup(Among)
