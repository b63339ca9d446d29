"""Breaking off what a thread waits for, from another thread.

Who works on something that may be stopped puts a ``Halt`` around it. Whatever waits inside, in the
same thread or in one that it sends calls out with, registers how its waiting is cut short.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kb_project.errors import ReplyError

Cut = Callable[[], None]


class Halt:
    """Set once, from any thread; never unset."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._cuts: list[Cut] = []

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    def set(self) -> None:
        """Cut short whatever waits now; what begins to wait later is cut at once."""
        with self._lock:
            self._set.set()
            cuts = list(self._cuts)
        for cut in cuts:
            cut()

    @contextmanager
    def cutting(self, cut: Cut) -> Iterator[None]:
        """``cut`` ends the waiting inside; called from another thread, at most once."""
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
    """Whether whoever put a halt around this work has set it."""
    halt = _halt.get()
    return halt is not None and halt.is_set


def check() -> None:
    """Raises ReplyError where this work is halted."""
    if is_halted():
        raise ReplyError("The answer was stopped.", code="stopped")
