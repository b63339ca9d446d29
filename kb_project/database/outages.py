"""Resumes work after the database was away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg
from django.db import InterfaceError, OperationalError, connections

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
