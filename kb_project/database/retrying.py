"""Doing work again that the database broke off for somebody else's sake.

Two transactions that wait for each other in a circle do not end by themselves: Postgres breaks one
of them off. Nothing was wrong with it, and nothing of it was kept: it is done again.
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
"""Seconds; two that met once should not begin again at the same moment."""

ValueT = TypeVar("ValueT")


def retried(work: Callable[[], ValueT]) -> ValueT:
    """What ``work`` returns, done in a transaction; in all at most ``ATTEMPTS`` times.

    Inside another transaction it is a savepoint, and what was locked since goes free before it is
    tried again. ``work`` must leave no trace but rows of the database.
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
    """Whether the database ended a transaction that could have gone on without others."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
