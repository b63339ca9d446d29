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
    # Each workspace's graph is a schema, which functions of the owner create.
    "revoke create on database {database} from {app}",
    "grant create on database {database} to {owner}",
)
# Who may become the owner may switch row-level security off.
NO_MEMBER: Final[LiteralString] = "revoke {owner} from {app}"
# Large objects belong to no workspace, and no policy covers them.
NO_LARGE_OBJECTS: Final[LiteralString] = """
DO $rights$
DECLARE
    writer regprocedure;
BEGIN
    FOR writer IN
        SELECT oid FROM pg_proc
         WHERE pronamespace = 'pg_catalog'::regnamespace
           AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', writer);
    END LOOP;
END
$rights$
"""
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
    # Functions that make and change graphs, and those that read a whole graph into memory, past
    # its policies: variable-length patterns and statistics.
    """
DO $rights$
DECLARE
    risky regprocedure;
BEGIN
    FOR risky IN
        SELECT oid FROM pg_proc
         WHERE pronamespace = 'ag_catalog'::regnamespace
           AND proname IN (
               'create_graph', 'drop_graph', 'alter_graph', 'create_vlabel', 'create_elabel',
               'drop_label', 'create_complete_graph', 'age_create_barbell_graph',
               'load_labels_from_file', 'load_edges_from_file',
               'age_vle', 'age_graph_stats', 'age_vertex_stats', 'age_delete_global_graphs',
               'age_startnode', 'age_endnode')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', risky);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', risky, {owner_name});
    END LOOP;
END
$rights$
""",
)
# Graphs that the application created itself, before it no longer could. The migrations protect
# them; here they are protected if those have run before.
ADOPT_GRAPHS: Final[LiteralString] = "reassign owned by {app} to {owner}"
CAN_PROTECT: Final[LiteralString] = (
    "select to_regprocedure('public.workspaces_graph_protect(name)') is not null"
)
GRAPHS: Final[LiteralString] = (
    "select nspname from pg_namespace where nspname ~ '^kb_[0-9a-f]{32}$'"
)
PROTECT_GRAPH: Final[LiteralString] = "select public.workspaces_graph_protect(%s::name)"
