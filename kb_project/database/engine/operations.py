"""Django's Postgres operations, for tables that Django does not know of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.color import Style
from django.db.backends.postgresql import operations


class DatabaseOperations(operations.DatabaseOperations):
    def sql_flush(
        self, style: Style, tables: Sequence[str], *, reset_sequences: bool = False, **_: Any
    ) -> list[str]:
        """Empty the tables and whatever refers to them: some tables have no managed model."""
        statements = super().sql_flush(
            style, tables, reset_sequences=reset_sequences, allow_cascade=True
        )
        return list(statements)
