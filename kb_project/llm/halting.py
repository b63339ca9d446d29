"""Interrupts what a thread is waiting for, from another thread.

Code that works on something stoppable puts a ``Halt`` around it. Anything that waits inside, in the
same thread or in one it starts calls in, registers how to cut its wait short.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kb_project.errors import ReplyError

Cut = Callable[[], None]


class Halt:
    """A flag, set once from any thread; never unset."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._cuts: list[Cut] = []

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    def set(self) -> None:
        """Cut short everything that waits now; later waits are cut at once."""
        with self._lock:
            self._set.set()
            cuts = list(self._cuts)
        for cut in cuts:
            cut()

    @contextmanager
    def cutting(self, cut: Cut) -> Iterator[None]:
        """Register ``cut`` to end the wait inside; called from another thread, at most once."""
        with self._lock:
            self._cuts.append(cut)
        try:
            if self.is_set:
                cut()
            yield
        finally:
            with self._lock:
                self._cuts.remove(cut)


_halt: ContextVar[Halt | None] = ContextVar("_halt", default=None)


@contextmanager
def halted_by(halt: Halt) -> Iterator[None]:
    token = _halt.set(halt)
    try:
        yield
    finally:
        _halt.reset(token)


def current() -> Halt | None:
    return _halt.get()


def is_halted() -> bool:
    """Whether the halt around this work is set."""
    halt = _halt.get()
    return halt is not None and halt.is_set


def check() -> None:
    """Raise ReplyError if this work is halted."""
    if is_halted():
        raise ReplyError("The answer was stopped.", code="stopped")
