"""Retries work that the database aborted because of a conflict with another transaction.

Two transactions that wait for each other never finish: Postgres aborts one of them. It did nothing
wrong, and nothing of it was kept, so it is repeated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from random import random
from typing import Final, TypeVar

from django.db import OperationalError, transaction
from psycopg.errors import DeadlockDetected, SerializationFailure

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 3
LONGEST_WAIT: Final = 0.2
"""Seconds; two transactions that collided should not start again at the same moment."""

ValueT = TypeVar("ValueT")


def retried(work: Callable[[], ValueT]) -> ValueT:
    """Run ``work`` in a transaction and return its result; at most ``ATTEMPTS`` times.

    Inside another transaction it is a savepoint, and locks taken since are released before it is
    retried. ``work`` must have no effects except rows in the database.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            if not was_broken_off(error):
                raise
            logger.warning("transaction broken off attempt=%s", attempt)
        time.sleep(random() * LONGEST_WAIT)  # noqa: S311  # a pause, no secret
    with transaction.atomic():
        return work()


def was_broken_off(error: OperationalError) -> bool:
    """Whether the database aborted a transaction that could have succeeded alone."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
