"""Prepares a Postgres: two roles, a database, its extensions, and permissions.

The owner runs migrations. The application role reads and writes rows and nothing more: it is bound
by row-level security, owns nothing and creates nothing but temporary tables. Everything here may
run any number of times, from any number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, LiteralString

import psycopg
from psycopg import sql as pgsql
from psycopg.conninfo import make_conninfo

from kb_project.database import sql
from kb_project.errors import UnavailableError

# Increment it when a statement below changes, so that existing databases are prepared again.
MARK: Final = "concordance, prepared 2"
VECTOR: Final = "vector"
GRAPH: Final = "age"

Conninfo = Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """What to prepare. A role without a password here keeps the one it has."""

    database: str
    owner: str = "kb_owner"
    app: str = "kb_app"
    owner_password: str = field(default="", repr=False)
    app_password: str = field(default="", repr=False)

    def names(self) -> dict[str, pgsql.Composable]:
        return {
            "database": pgsql.Identifier(self.database),
            "owner": pgsql.Identifier(self.owner),
            "app": pgsql.Identifier(self.app),
        }

    @property
    def has_two_roles(self) -> bool:
        return self.app != self.owner


def prepare(superuser: Conninfo, plan: Plan) -> None:
    """Bring roles, database, extensions and permissions to the required state.

    ``superuser`` may connect to any database of the server; AGE needs a real superuser. Raises
    UnavailableError if the server has no pgvector.
    """
    with connect(superuser) as server:
        if _is_prepared(server, plan):
            return
        server.execute(sql.LOCK)
        if _is_prepared(server, plan):
            return
        _prepare_role(server, plan.owner, sql.OWNER_RIGHTS, plan.owner_password)
        if plan.has_two_roles:
            _prepare_role(server, plan.app, sql.APP_RIGHTS, plan.app_password)
            _run(server, sql.NO_MEMBER, **plan.names())
        if server.execute(sql.DATABASE_EXISTS, [plan.database]).fetchone() is None:
            _run(server, sql.CREATE_DATABASE, **plan.names())
        _prepare_database(server, superuser, plan)


def connect(superuser: Conninfo, *, database: str = "") -> psycopg.Connection:
    """Open an autocommit connection, to ``database`` or the one ``superuser`` names."""
    parts = {**superuser, "dbname": database} if database else dict(superuser)
    return psycopg.connect(make_conninfo(**parts), autocommit=True, connect_timeout=10)


def _is_prepared(server: psycopg.Connection, plan: Plan) -> bool:
    """Check the mark; passwords are always set again, since it does not cover them."""
    if plan.owner_password or plan.app_password:
        return False
    row = server.execute(sql.IS_PREPARED, [MARK, plan.database]).fetchone()
    return bool(row and row[0])


def _prepare_role(
    server: psycopg.Connection, name: str, rights: LiteralString, password: str
) -> None:
    role = pgsql.Identifier(name)
    if server.execute(sql.ROLE_EXISTS, [name]).fetchone() is None:
        _run(server, sql.CREATE_ROLE, role=role)
    _run(server, rights, role=role)
    if password:
        # Hashed here, so that the password itself never reaches the server or its log.
        hashed = server.pgconn.encrypt_password(
            password.encode(), name.encode(), b"scram-sha-256"
        ).decode()
        _run(server, sql.SET_PASSWORD, role=role, password=pgsql.Literal(hashed))


def _prepare_database(server: psycopg.Connection, superuser: Conninfo, plan: Plan) -> None:
    names = plan.names()
    _run(server, sql.SEARCH_PATH, **names)
    for statement in sql.CONNECT_RIGHTS:
        _run(server, statement, **names)
    with connect(superuser, database=plan.database) as inside:
        for statement in sql.SCHEMA_RIGHTS:
            _run(inside, statement, **names)
        inside.execute(sql.NO_LARGE_OBJECTS)
        _create_extensions(inside, plan)
        if plan.has_two_roles:
            _adopt_graphs(inside, plan)
    # Only now: these two settings are pgvector's, and unknown to the server until it exists.
    for statement in (sql.APP_ITERATIVE_SCAN, sql.APP_EF_SEARCH):
        _run(server, statement, role=names["app"])
    _run(server, sql.MARK_PREPARED, mark=pgsql.Literal(MARK), **names)


def _create_extensions(inside: psycopg.Connection, plan: Plan) -> None:
    if not _create_extension(inside, VECTOR):
        raise UnavailableError(
            "This Postgres has no pgvector extension.",
            code="database_without_pgvector",
            kept=f"The database {plan.database} was created but is empty.",
            next_step="Install pgvector 0.8 or newer on the server and try again.",
        )
    if _create_extension(inside, GRAPH):
        owner_name = pgsql.Literal(plan.owner)
        for statement in sql.GRAPH_RIGHTS:
            _run(inside, statement, owner_name=owner_name, **plan.names())


def _adopt_graphs(inside: psycopg.Connection, plan: Plan) -> None:
    """Give the owner the graphs that the application made itself in earlier versions."""
    _run(inside, sql.ADOPT_GRAPHS, **plan.names())
    can_protect = inside.execute(sql.CAN_PROTECT).fetchone()
    if can_protect and can_protect[0]:
        for (graph,) in inside.execute(sql.GRAPHS).fetchall():
            inside.execute(sql.PROTECT_GRAPH, [graph])


def _create_extension(inside: psycopg.Connection, name: str) -> bool:
    """Create an extension; ``False`` if the server does not have it."""
    if inside.execute(sql.EXTENSION_INSTALLED, [name]).fetchone():
        return True
    if inside.execute(sql.EXTENSION_AVAILABLE, [name]).fetchone() is None:
        return False
    _run(inside, sql.CREATE_EXTENSION, extension=pgsql.Identifier(name))
    return True


def _run(
    connection: psycopg.Connection, statement: LiteralString, **names: pgsql.Composable
) -> None:
    connection.execute(pgsql.SQL(statement).format(**names))
