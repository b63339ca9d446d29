"""Listens for other processes' notifications (LISTEN) on a dedicated connection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import sql

from kb_project.database.outages import DATABASE_AWAY
from kb_project.errors import KBError

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS: Final = 0.5
# Seconds before reconnecting.
PAUSE: Final = 1.0


class Listener:
    """Listens to one channel in its own thread, and reconnects whenever the connection is lost.

    ``hear`` gets each message; ``connected`` is called after every connection, including the first,
    since messages sent in between were missed. Both are called from that thread.
    """

    def __init__(
        self,
        channel: str,
        *,
        hear: Callable[[str], None],
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        self._channel = channel
        self._hear = hear
        self._connected = connected
        self._stopping = threading.Event()
        self._is_listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"hear {channel}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def is_listening(self) -> bool:
        """False while the connection is lost: those waiting must poll meanwhile."""
        return self._is_listening.is_set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with connection_of_its_own() as connection:
                    self._listen(connection)
            except (*DATABASE_AWAY, psycopg.Error, KBError) as error:
                logger.warning("listener cut off error=%s", type(error).__name__)
                self._is_listening.clear()
                self._stopping.wait(PAUSE)
        self._is_listening.clear()

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        self._is_listening.set()
        self._connected()
        while not self._stopping.is_set():
            for message in connection.notifies(timeout=SECONDS_BETWEEN_LOOKS):
                self._hear(message.payload)


def connection_of_its_own() -> psycopg.Connection[Any]:
    """Open a connection outside Django's pool, to be kept indefinitely; every statement commits.

    Raises one of ``DATABASE_AWAY`` or UnavailableError.
    """
    wrapper = connections[DEFAULT_DB_ALIAS].copy()
    wrapper.settings_dict["OPTIONS"].pop("pool", None)
    parameters = wrapper.get_connection_params()
    connection: psycopg.Connection[Any] = wrapper.get_new_connection(parameters)
    connection.autocommit = True
    return connection
