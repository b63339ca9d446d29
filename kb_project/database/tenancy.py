"""Turns a table into a tenant table, as one reversible migration operation.

``tenant_table`` gives a table, in this order:

1. the primary key ``(workspace_id, id)`` in place of Django's ``(id)``: partitioning, row-level
   security and a later distributed Postgres all need every unique key to start with the tenant;
2. foreign keys over ``(workspace_id, <column>)``, so that no row can ever name another tenant's
   row, whatever the application does;
3. row-level security, enabled and forced, fail-closed: no setting, no rows.

The statements are built once, when migrations are loaded, from literals in the migration files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import migrations

# After COMMIT a transaction-local setting reads '' rather than NULL: hence nullif.
CURRENT_WORKSPACE: Final = "nullif(current_setting('app.workspace_id', true), '')::uuid"
CURRENT_USER: Final = "nullif(current_setting('app.user_id', true), '')::bigint"

HIDDEN_COLLECTIONS: Final = "current_setting('app.hidden_collections', true)"
"""Ids between commas: the restricted collections that the person may not see or change."""


@dataclass(frozen=True)
class Reference:
    """A column that references a row of the same workspace in another table."""

    column: str
    table: str
    on_delete: str = "CASCADE"

    def constraint(self, table: str) -> str:
        return f"{table}_{self.column}_tenant_fk"[:63]

    def add(self, table: str) -> str:
        # SET NULL names its column, because workspace_id must stay.
        action = f"SET NULL ({self.column})" if self.on_delete == "SET NULL" else self.on_delete
        return (
            f"ALTER TABLE {table} ADD CONSTRAINT {self.constraint(table)}"
            f" FOREIGN KEY (workspace_id, {self.column})"
            f" REFERENCES {self.table} (workspace_id, id)"
            f" ON DELETE {action} DEFERRABLE INITIALLY DEFERRED;"
        )

    def drop(self, table: str) -> str:
        return f"ALTER TABLE {table} DROP CONSTRAINT {self.constraint(table)};"


def row_security(table: str, *, using: str = f"workspace_id = {CURRENT_WORKSPACE}") -> str:
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY;"
        f"CREATE POLICY tenant ON {table} USING ({using}) WITH CHECK ({using});"
    )


def drop_row_security(table: str) -> str:
    return (
        f"DROP POLICY tenant ON {table};"
        f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;"
        f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;"
    )


def _primary_key(table: str, columns: str) -> str:
    return (
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;"
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({columns});"
    )


def tenant_table(
    table: str,
    *references: Reference,
    using: str = f"workspace_id = {CURRENT_WORKSPACE}",
    has_id: bool = True,
) -> migrations.RunSQL:
    """Make ``table`` a tenant table; ``has_id`` is False if its key is already composite."""
    forward = [_primary_key(table, "workspace_id, id")] if has_id else []
    forward += [reference.add(table) for reference in references]
    forward.append(row_security(table, using=using))
    backward = [drop_row_security(table)]
    backward += [reference.drop(table) for reference in references]
    backward += [_primary_key(table, "id")] if has_id else []
    return migrations.RunSQL(tuple(forward), tuple(backward))


def hidden_collections(table: str, column: str) -> migrations.RunSQL:
    """Hide rows of the collections that the transaction hides, whatever else allows them."""
    hidden = f"string_to_array({HIDDEN_COLLECTIONS}, ',')::uuid[]"
    is_seen = (
        f"coalesce({HIDDEN_COLLECTIONS}, '') = '' OR {column} IS NULL OR {column} <> ALL ({hidden})"
    )
    return migrations.RunSQL(
        f"CREATE POLICY hidden_collections ON {table} AS RESTRICTIVE"
        f" USING ({is_seen}) WITH CHECK ({is_seen});",
        f"DROP POLICY hidden_collections ON {table};",
    )
