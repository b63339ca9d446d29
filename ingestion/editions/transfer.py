"""Transfer rows between a workspace and its editions, under their ids.

A transaction sees one workspace, so rows go through temporary tables: read in the scope of the one,
written in the scope of the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import Model
from psycopg import sql

from kb_project.sql import run_sql
from workspaces import access

Tables = Sequence[tuple[type[Model], sql.SQL]]
"""Tables in the order of their references, each with the condition of the rows to transfer."""


@contextmanager
def transfer(
    source: uuid.UUID, target: uuid.UUID, tables: Tables, values: Mapping[str, Any]
) -> Iterator[Callable[..., None]]:
    """Read rows of ``source``, whose id the conditions know as ``%(source)s``, and yield the
    function that writes them, inside the scope of ``target``.

    It takes the models whose rows may be there and are replaced.
    """
    with transaction.atomic():
        with access.in_workspace(source):
            for model, condition in tables:
                statement = sql.SQL(
                    "CREATE TEMPORARY TABLE {copy} ON COMMIT DROP AS"
                    " SELECT {columns} FROM {table}"
                    " WHERE workspace_id = %(source)s AND {condition}"
                )
                statement_of = statement.format(**_names(model), condition=condition)
                run_sql(statement_of, {**values, "source": source})

        def write(*replaced: type[Model]) -> None:
            for model, _ in tables:
                _write(target, model, is_replaced=model in replaced)

        with access.in_workspace(target):
            yield write
        for model, _ in tables:
            run_sql(sql.SQL("DROP TABLE {}").format(copy_of(model)))


def copy_of(model: type[Model]) -> sql.Identifier:
    """Name the temporary table with the rows of a model."""
    return sql.Identifier("pg_temp", f"copied_{model._meta.db_table}")


def _write(target: uuid.UUID, model: type[Model], *, is_replaced: bool) -> None:
    names = _names(model)
    statement = sql.SQL(
        "INSERT INTO {table} (workspace_id, {columns}) SELECT %(target)s, {columns} FROM {copy}"
    ).format(**names)
    if is_replaced:
        statement += sql.SQL(
            " ON CONFLICT (workspace_id, id) DO UPDATE SET ({columns}) = ROW ({excluded})"
        ).format(**names)
    run_sql(statement, {"target": target})


def _names(model: type[Model]) -> dict[str, sql.Composable]:
    columns = [field.column for field in model._meta.concrete_fields]
    others = [column for column in columns if column != "workspace_id"]
    return {
        "table": sql.Identifier(model._meta.db_table),
        "copy": copy_of(model),
        "columns": sql.SQL(", ").join(map(sql.Identifier, others)),
        "excluded": sql.SQL(", ").join(sql.Identifier("excluded", one) for one in others),
    }
