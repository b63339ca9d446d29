"""A circuit breaker: an endpoint that is down is left alone for a while.

::

    CLOSED ──▶ OPEN ──▶ HALF-OPEN ──▶ CLOSED    (one call answered)
                 ▲           └──────▶ OPEN      (it failed as well)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kb_project.errors import EndpointError


class Breaker:
    """One per endpoint and process. Counts calls that failed after all their attempts."""

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
        self._answered = float("-inf")

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
            self._answered = self._clock()

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._closed_until = self._clock() + self._rest

    def answered_since(self, when: float) -> bool:
        """Whether any call was answered after ``when``, by this breaker's clock."""
        with self._lock:
            return self._answered > when

    def now(self) -> float:
        return self._clock()
