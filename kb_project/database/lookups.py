"""A lookup for any number of values: they are one array, where ``in`` has a parameter for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, ForeignObject, Lookup
from django.db.models.sql.compiler import SQLCompiler

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
