"""Limits how many calls an endpoint gets at once, and orders waiting calls by priority."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from kb_project.errors import EndpointError

LONGEST_WAIT: Final = 600.0
"""Seconds before work pauses because others hold every slot."""


class Gate(Protocol):
    """The slots one caller holds. Closed with the context it came from."""

    def adjust(self, *, running: int, wanted: int) -> int:
        """Return how many slots are held now: more than before, up to ``wanted``, if some are free.

        Waits while none is held and none is free. Slots beyond ``running`` are released while a
        caller of higher priority waits. Raises EndpointError after ``LONGEST_WAIT``.
        """


class Slots(Protocol):
    """The slots of one endpoint, shared by all its callers."""

    def enter(self, priority: int) -> AbstractContextManager[Gate]:
        """Return a context that releases all its slots at the end; 0 is the highest priority."""


def no_slot() -> EndpointError:
    return EndpointError(
        "All calls allowed at once to the model's endpoint were in use for ten minutes.",
        code="endpoint_busy",
        kept="Everything done so far is kept.",
        next_step="Work continues automatically. Allow more calls at once if the endpoint can"
        " handle them.",
    )


class LocalSlots:
    """The slots of one process, for tests and for calls without a database."""

    def __init__(self, count: int, *, longest_wait: float = LONGEST_WAIT) -> None:
        self.free = count
        self.waiting: Counter[int] = Counter()
        self.changed = threading.Condition(threading.RLock())
        self.longest_wait = longest_wait

    @contextmanager
    def enter(self, priority: int) -> Iterator[Gate]:
        gate = _LocalGate(self, priority)
        try:
            yield gate
        finally:
            gate.give_back(0)


class _LocalGate:
    def __init__(self, slots: LocalSlots, priority: int) -> None:
        self._slots = slots
        self._priority = priority
        self._held = 0

    def adjust(self, *, running: int, wanted: int) -> int:
        slots = self._slots
        with slots.changed:
            if self._is_outranked():
                self.give_back(running)
            if not self._held and not self._may_take():
                self._wait()
            if self._may_take():
                taken = max(0, min(slots.free, wanted - self._held))
                slots.free -= taken
                self._held += taken
        return self._held

    def give_back(self, kept: int) -> None:
        with self._slots.changed:
            self._slots.free += max(0, self._held - kept)
            self._held = min(self._held, kept)
            self._slots.changed.notify_all()

    def _wait(self) -> None:
        waiting = self._slots.waiting
        waiting[self._priority] += 1
        try:
            if not self._slots.changed.wait_for(self._may_take, self._slots.longest_wait):
                raise no_slot()
        finally:
            waiting[self._priority] -= 1
            self._slots.changed.notify_all()

    def _may_take(self) -> bool:
        return self._slots.free > 0 and not self._is_outranked()

    def _is_outranked(self) -> bool:
        return any(count and rank < self._priority for rank, count in self._slots.waiting.items())
