"""The SQL of backup and restore; names in braces are filled in as quoted identifiers."""

from __future__ import annotations

from typing import Final, LiteralString

COLUMNS: Final[LiteralString] = """
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull
  FROM pg_attribute AS a
  JOIN pg_class AS c ON c.oid = a.attrelid
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relname = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY c.relname, a.attnum
"""

# --- the snapshot ---------------------------------------------------------------------------------
# One snapshot of all tables, whatever is written meanwhile.
ONE_STATE: Final[LiteralString] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# Ends with the transaction.
SET_WORKSPACE: Final[LiteralString] = "SELECT set_config('app.workspace_id', %s, true)"
WORKSPACES: Final[LiteralString] = """
SELECT id, slug FROM workspaces_workspace
 WHERE %(slug)s::text = '' OR id = (
       SELECT id FROM workspaces_workspace
        WHERE slug = %(slug)s OR former_slugs @> ARRAY[%(slug)s]::varchar[]
        ORDER BY slug <> %(slug)s, created_at LIMIT 1)
 ORDER BY created_at, id
"""
ROWS: Final[LiteralString] = (
    "COPY (SELECT row_to_json(r)::text FROM (SELECT {columns} FROM {table} WHERE {which}) AS r)"
    " TO STDOUT (FORMAT BINARY)"
)
NUMBERS_OF_PEOPLE: Final[LiteralString] = (
    "SELECT DISTINCT {column} FROM {table} WHERE {which} AND {column} IS NOT NULL"
)
FILE_NAMES: Final[LiteralString] = "SELECT DISTINCT {column} FROM {table} ORDER BY 1"

# --- the restore ----------------------------------------------------------------------------------
# Any constant: one restore at a time.
LOCK: Final[LiteralString] = "SELECT pg_advisory_xact_lock(7242103)"
TAKEN: Final[LiteralString] = """
SELECT EXISTS (SELECT FROM workspaces_workspace WHERE id = %(id)s),
       EXISTS (SELECT FROM workspaces_workspace
                WHERE slug = %(slug)s OR former_slugs @> ARRAY[%(slug)s]::varchar[])
"""
HOW_FULL: Final[LiteralString] = """
SELECT (SELECT count(*) FROM workspaces_user), (SELECT count(*) FROM workspaces_workspace)
"""
INSERT_ROWS: Final[LiteralString] = (
    "INSERT INTO {table} ({names}) SELECT {values}"
    " FROM pg_temp.backup_lines AS l,"
    " json_populate_record(NULL::{table}, l.line::json) AS r"
)
# Maps people's ids in the archive to those they have here.
CREATE_PEOPLE: Final[LiteralString] = """
CREATE TEMPORARY TABLE backup_people (old_id bigint PRIMARY KEY, new_id bigint) ON COMMIT DROP
"""
FORGET_PEOPLE: Final[LiteralString] = "DROP TABLE pg_temp.backup_people"
KNOWN_PEOPLE: Final[LiteralString] = """
SELECT lower(email), id FROM workspaces_user WHERE lower(email) = ANY(%s)
"""
NOTE_PERSON: Final[LiteralString] = "INSERT INTO pg_temp.backup_people VALUES (%s, %s)"
NEW_NUMBER: Final[LiteralString] = (
    "(SELECT p.new_id FROM pg_temp.backup_people AS p WHERE p.old_id = r.{column})"
)
CHECK_NOW: Final[LiteralString] = "SET CONSTRAINTS ALL IMMEDIATE"
CHECK_LATER: Final[LiteralString] = "SET CONSTRAINTS ALL DEFERRED"
