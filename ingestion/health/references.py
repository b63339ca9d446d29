"""Finds references to missing rows and files, and files that nothing references.

The database enforces foreign keys by triggers, which bulk restores, replication and administrators
can switch off. The references are read from its catalogue, so that no table is forgotten.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Final, LiteralString

from django.conf import settings
from psycopg import sql

from ingestion.health.state import DriftRow, WorkspaceState
from ingestion.models import DocumentVersion
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


def to_missing_rows(state: WorkspaceState) -> list[DriftRow]:
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


# --- files ----------------------------------------------------------------------------------------
# A file is written before the rows that name it: a recent one may still be an upload.
YOUNG_SECONDS: Final = 3600.0
# Page pictures are stored beside their file.
PICTURES: Final = ".pages"
ASIDE: Final = "set-aside"


def to_missing_files(state: WorkspaceState) -> list[DriftRow]:
    rows = DocumentVersion.objects.in_workspace(state.workspace_id)
    blobs = rows.values_list("document_id", "blob")
    root = Path(settings.MEDIA_ROOT)
    return [(str(owner), owner) for owner, blob in blobs if not (root / blob).is_file()]


def unknown_files(state: WorkspaceState) -> list[DriftRow]:
    workspace_id = state.workspace_id
    return [(f"{workspace_id}/{path.name}", None) for path in _unknown_paths(workspace_id)]


def _unknown_paths(workspace_id: uuid.UUID) -> Iterator[Path]:
    folder = Path(settings.MEDIA_ROOT) / str(workspace_id)
    if not folder.is_dir():
        return
    known = set(DocumentVersion.objects.in_workspace(workspace_id).values_list("blob", flat=True))
    latest = time.time() - YOUNG_SECONDS
    for path in folder.iterdir():
        blob = f"{workspace_id}/{path.name.removesuffix(PICTURES)}"
        if blob not in known and path.stat().st_mtime < latest:
            yield path


def set_aside(workspace_id: uuid.UUID) -> Path:
    """Move files that belong to no document out of the way; returns the folder.

    They are not deleted, because a user may have uploaded them.
    """
    aside = Path(settings.MEDIA_ROOT) / ASIDE / str(workspace_id)
    with access.in_workspace(workspace_id):
        unknown = list(_unknown_paths(workspace_id))
    for path in unknown:
        aside.mkdir(parents=True, exist_ok=True)
        path.rename(_free_name(aside / path.name))
    return aside


def _free_name(path: Path) -> Path:
    """Return that path, or a numbered one beside it if it is taken."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in count(1))
    return next(one for one in chain((path,), numbered) if not one.exists())
