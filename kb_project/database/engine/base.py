"""Django's Postgres engine for the bundled server, which starts with the first connection.

``OPTIONS["embedded_data"]`` is the data folder and ``OPTIONS["embedded_owner"]`` the role that owns
the database. Loading settings, ``manage.py check`` and ``--help`` start nothing. The next
connection, pooled or not, restarts a server that died.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import psycopg
from django.core.management.color import Style
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.postgresql import base, operations

from kb_project.database import embedded
from kb_project.database.prepare import Plan, prepare


class DatabaseOperations(operations.DatabaseOperations):
    def sql_flush(
        self, style: Style, tables: Sequence[str], *, reset_sequences: bool = False, **_: Any
    ) -> list[str]:
        """Empty the tables with CASCADE: some referencing tables have no managed model."""
        statements = super().sql_flush(
            style, tables, reset_sequences=reset_sequences, allow_cascade=True
        )
        return list(statements)


DATA: Final = "embedded_data"
OWNER: Final = "embedded_owner"
CONF: Final = "embedded_conf"
OWN_OPTIONS: Final = (DATA, OWNER, CONF)

_servers: dict[Path, embedded.Server] = {}
_prepared: set[tuple[embedded.Server, str]] = set()


class ReconnectingConnection(psycopg.Connection[Any]):
    """A pool connection that restarts the server if it does not answer.

    The pool keeps the parameters of its first connection and never asks Django again.
    """

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> ReconnectingConnection:
        try:
            return super().connect(conninfo, **kwargs)
        except psycopg.OperationalError:
            for data_dir, server in list(_servers.items()):
                if str(server.socket_dir) == kwargs.get("host"):
                    _servers[data_dir] = embedded.ensure(data_dir)
            return super().connect(conninfo, **kwargs)


class DatabaseWrapper(base.DatabaseWrapper):
    """Makes sure the bundled server is running, and fills in its address."""

    ops_class = DatabaseOperations

    def __init__(self, settings_dict: dict[str, Any], alias: str = DEFAULT_DB_ALIAS) -> None:
        super().__init__(settings_dict, alias)
        pool = settings_dict["OPTIONS"].get("pool")
        if pool:
            pool.setdefault("connection_class", ReconnectingConnection)

    def get_connection_params(self) -> dict[str, Any]:
        server = self._server()
        self.settings_dict["HOST"] = str(server.socket_dir)
        self.settings_dict["PORT"] = str(embedded.PORT)
        parameters = super().get_connection_params()
        for name in OWN_OPTIONS:
            parameters.pop(name, None)
        return {**parameters, "passfile": str(server.passfile)}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            if self.settings_dict["OPTIONS"].get("pool"):
                raise
            self.forget_server()
            return super().get_new_connection(self.get_connection_params())

    def forget_server(self) -> None:
        """Forget the cached server, so that the next connection looks for it again."""
        _servers.pop(self._data_dir(), None)

    def _server(self) -> embedded.Server:
        data_dir = self._data_dir()
        server = _servers.get(data_dir)
        if server is None:
            conf = self.settings_dict["OPTIONS"].get(CONF)
            server = _servers[data_dir] = embedded.ensure(data_dir, conf=conf)
        self._prepare_once(server)
        return server

    def _prepare_once(self, server: embedded.Server) -> None:
        name = self.settings_dict["NAME"]
        if not name or (server, name) in _prepared:
            return
        options = self.settings_dict["OPTIONS"]
        owner = options.get(OWNER) or Plan.owner
        app = self.settings_dict["USER"] if self.settings_dict["USER"] != owner else Plan.app
        prepare(server.conninfo(), Plan(database=name, owner=owner, app=app))
        _prepared.add((server, name))

    def _data_dir(self) -> Path:
        return Path(self.settings_dict["OPTIONS"][DATA])
