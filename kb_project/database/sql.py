"""The SQL that prepares a server: roles, databases, extensions, permissions.

Names in braces are filled in as quoted identifiers or literals, never as text.
"""

from __future__ import annotations

from typing import Final, LiteralString

# Any constant: it serialises preparation across processes.
LOCK: Final[LiteralString] = "select pg_advisory_lock(7242101)"

IS_PREPARED: Final[LiteralString] = (
    "select shobj_description(oid, 'pg_database') = %s from pg_database where datname = %s"
)
MARK_PREPARED: Final[LiteralString] = "comment on database {database} is {mark}"

DATABASE_EXISTS: Final[LiteralString] = "select 1 from pg_database where datname = %s"
CREATE_DATABASE: Final[LiteralString] = "create database {database} owner {owner}"

ROLE_EXISTS: Final[LiteralString] = "select 1 from pg_roles where rolname = %s"
CREATE_ROLE: Final[LiteralString] = "create role {role}"
# Stated in full each time, so that extra rights granted to a role are revoked.
OWNER_RIGHTS: Final[LiteralString] = (
    "alter role {role} login createdb nosuperuser nocreaterole nobypassrls"
)
APP_RIGHTS: Final[LiteralString] = (
    "alter role {role} login nocreatedb nosuperuser nocreaterole nobypassrls"
)
SET_PASSWORD: Final[LiteralString] = "alter role {role} password {password}"  # noqa: S105 - SQL
# With pgvector's defaults (iterative scan off), filtering an index scan loses rows.
APP_ITERATIVE_SCAN: Final[LiteralString] = (
    "alter role {role} set hnsw.iterative_scan = 'relaxed_order'"
)
APP_EF_SEARCH: Final[LiteralString] = "alter role {role} set hnsw.ef_search = 100"

# public first, or Django's tables would land in ag_catalog.
SEARCH_PATH: Final[LiteralString] = (
    'alter database {database} set search_path = "$user", public, ag_catalog'
)
CONNECT_RIGHTS: Final[tuple[LiteralString, ...]] = (
    "revoke connect on database {database} from public",
    "grant connect, temporary on database {database} to {owner}, {app}",
    # Each workspace's graph is a schema that the application creates.
    "grant create on database {database} to {owner}, {app}",
)
SCHEMA_RIGHTS: Final[tuple[LiteralString, ...]] = (
    "revoke create on schema public from public, {app}",
    "grant usage, create on schema public to {owner}",
    "grant usage on schema public to {app}",
    "alter default privileges for role {owner} in schema public"
    " grant select, insert, update, delete on tables to {app}",
    "alter default privileges for role {owner} in schema public"
    " grant usage, select on sequences to {app}",
    "alter default privileges for role {owner} in schema public"
    " grant execute on functions to {app}",
)

EXTENSION_AVAILABLE: Final[LiteralString] = "select 1 from pg_available_extensions where name = %s"
EXTENSION_INSTALLED: Final[LiteralString] = "select 1 from pg_extension where extname = %s"
CREATE_EXTENSION: Final[LiteralString] = "create extension if not exists {extension}"
GRAPH_RIGHTS: Final[tuple[LiteralString, ...]] = (
    "grant usage on schema ag_catalog to {owner}, {app}",
    "grant select on all tables in schema ag_catalog to {owner}, {app}",
)
