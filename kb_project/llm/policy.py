"""Calls to an unreliable endpoint: retries, a breaker that leaves it alone for a while, and the
length of text it reads.

Retries back off exponentially with "equal jitter" (Marc Brooker, *Exponential Backoff And Jitter*,
AWS, 2015) and respect the server's Retry-After.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from kb_project.errors import EndpointError, ModelError
from kb_project.llm import halting
from kb_project.llm.ports import CallOutcome, CallRecord, CallStore

T = TypeVar("T")


class Breaker:
    """One per endpoint and process. Counts calls that failed after all their attempts.

    ::

        CLOSED ──▶ OPEN ──▶ HALF-OPEN ──▶ CLOSED    (one call answered)
                     ▲           └──────▶ OPEN      (it failed as well)
    """

    def __init__(
        self,
        name: str,
        *,
        threshold: int = 3,
        rest: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._threshold = threshold
        self._rest = rest
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0

    def check(self) -> None:
        """Raise EndpointError while the endpoint rests; afterwards let one call through."""
        with self._lock:
            if self._failures < self._threshold:
                return
            if self._clock() >= self._closed_until:
                self._closed_until = self._clock() + self._rest
                return
        raise EndpointError(
            f"{self._name} failed to answer several times in a row.",
            kept="Everything done so far is kept.",
            next_step="The endpoint is tried again within half a minute.",
        )

    def succeeded(self) -> None:
        """Record that the endpoint answered, even with a refusal."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._closed_until = self._clock() + self._rest


@lru_cache(maxsize=64)
def breaker_of(service: str, endpoint: str, host: str) -> Breaker:
    """Return the process's breaker for a service at an endpoint: its workspaces share what they
    learn of an outage."""
    return Breaker(host)


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


def guarded(breaker: Breaker, retry: Retry, once: Callable[[], T], *, patience: float) -> T:
    """Return what ``once`` returns, with retries; the breaker notes how the endpoint behaved."""
    breaker.check()
    try:
        found = retry.run(once, patience=patience)
    except EndpointError:
        breaker.failed()
        raise
    breaker.succeeded()
    return found


def recorded(store: CallStore, record: CallRecord, send: Callable[[], tuple[T, str, int]]) -> T:
    """Make one call and record it in the ledger, however it ends.

    ``send`` returns the value, the text that is kept of the reply, and the tokens it read.
    """
    ids = store.open_calls([record])
    started = time.monotonic()
    outcome = CallOutcome(None, "stopped")
    try:
        value, text, tokens = send()
        outcome = CallOutcome(text, "", tokens, seconds=time.monotonic() - started)
    except ModelError as error:
        outcome = CallOutcome(None, error.code, seconds=time.monotonic() - started)
        raise
    finally:
        store.settle(ids, [outcome])
    return value


LIMIT_LASTS: Final = 600.0
"""Seconds for which a learned limit holds."""


class LengthLimit:
    """How many characters of a text a server reads: learned from what it refuses, forgotten after a
    while, because the server or its model may be another one since.
    """

    def __init__(
        self,
        longest: int,
        shortest: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._longest = longest
        self._shortest = shortest
        self._clock = clock
        self._learned = longest
        self._until = 0.0

    @property
    def now(self) -> int:
        return self._learned if self._clock() < self._until else self._longest

    def refused(self, texts: Sequence[str]) -> bool:
        """Halve the limit, counted from the longest text sent. False if nothing can be cut."""
        sent = min(self.now, max(map(len, texts), default=0))
        if sent <= self._shortest:
            return False
        self._learned = max(self._shortest, sent // 2)
        self._until = self._clock() + LIMIT_LASTS
        return True
