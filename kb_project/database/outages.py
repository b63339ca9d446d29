"""Work that outlasts trouble with the database: outages, conflicts, lost connections.

``through_outages`` repeats work while the database does not answer. ``retried`` repeats work that
the database aborted because two transactions waited for each other. ``Listener`` receives other
processes' notifications (LISTEN) and reconnects.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from random import random
from typing import Any, Final, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections, transaction
from psycopg import sql
from psycopg.errors import DeadlockDetected, SerializationFailure

from kb_project.errors import KBError

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

# Includes deadlocks and lost connections: the same statement may succeed a moment later. COPY
# raises the driver's own error, bypassing Django's translation.
DATABASE_AWAY: Final = (OperationalError, InterfaceError, psycopg.OperationalError)
# Seconds between attempts. A server killed under load needs a few to replay its log.
PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


def through_outages(work: Callable[[], ResultT], *, pauses: tuple[float, ...] = PAUSES) -> ResultT:
    """Do work that is safe to repeat, retrying while the database does not answer.

    Call outside a transaction. Raises the error after the last pause.
    """
    for pause in pauses:
        try:
            return work()
        except DATABASE_AWAY as error:
            logger.warning(
                "database failed error=%s trying_again_in=%s", type(error).__name__, pause
            )
        connections.close_all()
        time.sleep(pause)
    return work()


ATTEMPTS: Final = 3
LONGEST_WAIT: Final = 0.2
"""Seconds; two transactions that collided should not start again at the same moment."""


def retried(work: Callable[[], ResultT]) -> ResultT:
    """Run ``work`` in a transaction and return its result; at most ``ATTEMPTS`` times.

    Inside another transaction it is a savepoint, and locks taken since are released before it is
    retried. ``work`` must have no effects except rows in the database.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected | SerializationFailure):
                raise
            logger.warning("transaction aborted attempt=%s", attempt)
        time.sleep(random() * LONGEST_WAIT)  # noqa: S311  # a pause, no secret
    with transaction.atomic():
        return work()


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
