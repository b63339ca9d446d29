"""Retries: exponential back-off with jitter, respecting the server's Retry-After.

The formula is "equal jitter" of *Exponential Backoff And Jitter* (Marc Brooker, AWS, 2015).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kb_project.errors import EndpointError
from kb_project.llm import halting

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits in seconds. A Retry-After above ``longest_wish`` is cut to it: work pauses instead."""

    attempts: int = 6
    first: float = 0.5
    longest: float = 20.0
    longest_wish: float = 60.0


class Retry:
    """``sleep`` and ``clock`` are injectable; ``dice`` gives numbers from 0 to 1."""

    def __init__(
        self,
        policy: RetryPolicy | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self.clock = clock
        self.sleep = sleep
        self._dice = dice

    def run(
        self, once: Callable[[], T], *, patience: float, stopped: Callable[[], bool] | None = None
    ) -> T:
        """Return what ``once`` returns, retrying after every EndpointError.

        Raises the last one when the attempts are used up, when the next would begin more than
        ``patience`` seconds after the start, or when ``stopped`` says so.
        """
        deadline = self.clock() + patience
        for attempt in range(self.policy.attempts - 1):
            try:
                return once()
            except EndpointError as error:
                delay = self.delay(attempt, error.retry_after)
                if self.clock() + delay > deadline or _is_over(stopped):
                    raise
            self._wait(delay, stopped)
        return once()

    def delay(self, attempt: int, wish: float = 0.0) -> float:
        """Return the seconds to wait after the ``attempt``-th failure, counted from 0."""
        ceiling = min(self.policy.longest, self.policy.first * float(2**attempt))
        jittered = ceiling * (0.5 + self._dice() / 2)
        return max(jittered, min(wish, self.policy.longest_wish))

    def _wait(self, seconds: float, stopped: Callable[[], bool] | None) -> None:
        """Wait in steps, so that a stop is noticed."""
        until = self.clock() + seconds
        while (left := until - self.clock()) > 0 and not _is_over(stopped):
            self.sleep(min(left, 0.5))


def _is_over(stopped: Callable[[], bool] | None) -> bool:
    return halting.is_halted() or bool(stopped and stopped())
