"""Finds rows that reference missing rows.

The database enforces foreign keys by triggers, which bulk restores, replication and administrators
can switch off. The references are read from its catalogue, so that no table is forgotten.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg import sql

from ingestion.health.state import DriftRow, WorkspaceState
from kb_project.sql import run_sql, run_sql_count
from workspaces import access

# Foreign keys between workspace tables; those of partitions follow from their parent's.
FOREIGN_KEYS: Final[LiteralString] = """
SELECT t.relname::text, a.attname::text, f.relname::text, k.confdeltype::text
  FROM pg_constraint AS k
  JOIN pg_class AS t ON t.oid = k.conrelid
  JOIN pg_class AS f ON f.oid = k.confrelid
  JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[2]
 WHERE k.contype = 'f' AND k.conparentid = 0 AND cardinality(k.conkey) = 2
   AND t.relnamespace = 'public'::regnamespace
 ORDER BY 1, 2
"""
MISSING: Final[LiteralString] = """
SELECT {label} || r.{column}::text, r.{column} FROM {table} AS r
 WHERE r.workspace_id = %(workspace)s AND r.{column} IS NOT NULL
   AND NOT EXISTS (SELECT FROM {target} AS t
                    WHERE t.workspace_id = %(workspace)s AND t.id = r.{column})
"""
REMOVE: Final[LiteralString] = """
DELETE FROM {table} AS r
 WHERE r.workspace_id = %(workspace)s AND r.{column} IS NOT NULL
   AND NOT EXISTS (SELECT FROM {target} AS t
                    WHERE t.workspace_id = %(workspace)s AND t.id = r.{column})
"""
CLEAR: Final[LiteralString] = """
UPDATE {table} AS r SET {column} = NULL
 WHERE r.workspace_id = %(workspace)s AND r.{column} IS NOT NULL
   AND NOT EXISTS (SELECT FROM {target} AS t
                    WHERE t.workspace_id = %(workspace)s AND t.id = r.{column})
"""
# Rows that people wrote or decided are left for them to review.
BY_PEOPLE: Final = frozenset(
    {
        "ingestion_claimruling",
        "ingestion_document",
        "ingestion_documentversion",
        "ingestion_entityruling",
        "ingestion_historyevent",
        "ingestion_historysubject",
        "ingestion_mentionplacement",
        "ingestion_relationshipruling",
        "ingestion_resolutiondecision",
    }
)
INGESTION: Final = "ingestion_"
SETS_NULL: Final = "n"


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that holds ids of another table's rows."""

    table: str
    column: str
    target: str
    on_delete: str

    @property
    def is_generated(self) -> bool:
        return self.table.startswith(INGESTION) and self.table not in BY_PEOPLE

    def fill(self, statement: LiteralString) -> sql.Composed:
        return sql.SQL(statement).format(
            label=sql.Literal(f"{self.table}.{self.column} "),
            table=sql.Identifier(self.table),
            column=sql.Identifier(self.column),
            target=sql.Identifier(self.target),
        )


def all_references() -> list[Reference]:
    return [Reference(*row) for row in run_sql(FOREIGN_KEYS)]


def find(state: WorkspaceState) -> list[DriftRow]:
    """Find references to missing rows: the column with the id, and the id."""
    parts = [reference.fill(MISSING) for reference in all_references()]
    statement = sql.SQL(" UNION ALL ").join(parts)
    return run_sql(statement, {"workspace": state.workspace_id})


def remove(workspace_id: uuid.UUID) -> int:
    """Do what the foreign keys would have done, for rows no person wrote; returns how many."""
    removed = 0
    with access.in_workspace(workspace_id):
        for reference in all_references():
            if reference.is_generated:
                statement = CLEAR if reference.on_delete == SETS_NULL else REMOVE
                removed += run_sql_count(reference.fill(statement), {"workspace": workspace_id})
    return removed
