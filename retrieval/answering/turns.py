"""Whose turn it is among the answers of a worker: whoever has no passages yet goes first.

Finding takes a fraction of the time that writing, checking and suggesting take, and is what a
reader waits for. So an answer has two places, one after the other: one of a few for finding, and,
once its passages are shown, one of a few for writing, which it is not given while others have
nothing to show. While it waits it keeps its lease, holds no connection to the database, and hears
that it is stopped.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from django.db import connections

from kb_project.llm import halting
from kb_project.llm.halting import Halt

PATIENCE: Final = 4.0
"""Seconds an answer waits for those without passages, while there is a place for it."""
FRESH: Final = 2.0
"""Seconds of finding after which nobody waits for an answer any more: it asks a model."""
BREATH: Final = 1.0
"""Seconds, at most, that an answer which is being written gives way at a time."""
TICK: Final = 0.25
MOMENT: Final = 0.02
"""Seconds between two looks of one that waits for a place, and of one that gives way."""


class Place(Enum):
    NONE = "none"
    IDLE = "idle"
    FINDING = "finding"
    WAITING = "waiting"
    WRITING = "writing"


@dataclass(eq=False, slots=True)
class Turn:
    """One answer's, used in the thread that makes it.

    ``since`` is when it came to its place. ``is_busy`` where writing is work for the processor, and
    not waiting for a model: one at a time then, since threads of Python only hinder each other.
    """

    turns: Turns
    is_busy: bool = False
    place: Place = Place.NONE
    since: float = 0.0
    seated: threading.Event = field(default_factory=threading.Event)

    def move(self, place: Place) -> None:
        self.place, self.since = place, time.monotonic()


_turn: ContextVar[Turn | None] = ContextVar("_turn", default=None)


class Turns:
    """The places of one worker. ``is_called`` tells whether there is more to begin with."""

    def __init__(
        self, *, finding: int, writing: int, is_called: Callable[[], bool] = lambda: False
    ) -> None:
        self._is_called = is_called
        self._to_find = threading.Semaphore(finding)
        self._to_write = writing
        self._is_busy = False
        self._idle = 0
        self._lock = threading.Lock()
        self._finding: set[Turn] = set()
        self._waiting: deque[Turn] = deque()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A place for finding as soon as there is one; whichever it has in the end is left."""
        with self._lock:
            self._idle += 1
        self._to_find.acquire()
        turn = Turn(self)
        turn.move(Place.IDLE)
        token = _turn.set(turn)
        try:
            yield
        finally:
            _turn.reset(token)
            with self._lock:
                self._leave(turn)
                self._seat()

    def is_crowded(self) -> bool:
        """There is more to begin with than places."""
        return self._is_called()

    def begin(self, turn: Turn) -> None:
        with self._lock:
            self._idle -= 1
            turn.move(Place.FINDING)
            self._finding.add(turn)

    def wait_to_write(self, turn: Turn, halt: Halt) -> None:
        """Leave the place for finding; returns with a place for writing, or halted."""
        with self._lock:
            self._leave(turn)
            turn.move(Place.WAITING)
            self._waiting.append(turn)
            self._seat()
        if turn.seated.is_set():
            return
        connections.close_all()
        with halt.cutting(turn.seated.set):
            while not turn.seated.wait(TICK):
                with self._lock:
                    self._seat()

    def pause(self, halt: Halt) -> None:
        """Until nobody is without passages, but not for long."""
        deadline = time.monotonic() + BREATH
        while not (self._is_quiet() or halt.is_set) and time.monotonic() < deadline:
            time.sleep(MOMENT)

    def _leave(self, turn: Turn) -> None:
        if turn.place is Place.IDLE:
            self._idle -= 1
            self._to_find.release()
        elif turn.place is Place.FINDING:
            self._finding.remove(turn)
            self._to_find.release()
        elif turn.place is Place.WAITING:
            self._waiting.remove(turn)
        elif turn.place is Place.WRITING:
            self._to_write += 1
            self._is_busy = self._is_busy and not turn.is_busy
        turn.move(Place.NONE)

    def _seat(self) -> None:
        """Give places for writing to those who wait, in the order they came."""
        is_quiet, now = self._is_quiet(), time.monotonic()
        for turn in tuple(self._waiting):
            if not self._to_write or not (is_quiet or now - turn.since >= PATIENCE):
                return
            if not (turn.is_busy and self._is_busy):
                self._waiting.remove(turn)
                self._to_write -= 1
                self._is_busy = self._is_busy or turn.is_busy
                turn.move(Place.WRITING)
                turn.seated.set()

    def _is_quiet(self) -> bool:
        """Nobody is about to show passages. What nobody is free to begin is not waited for."""
        fresh = time.monotonic() - FRESH
        is_called = self._idle and self._is_called()
        return not is_called and all(one.since < fresh for one in tuple(self._finding))


def begin() -> None:
    """There is something to find, and others wait until it is found."""
    turn = _turn.get()
    if turn is not None:
        turn.turns.begin(turn)


def is_crowded() -> bool:
    """Others wait to be begun with: whatever can be done later is time of theirs."""
    turn = _turn.get()
    return turn is not None and turn.turns.is_crowded()


def let_others_first(*, is_busy: bool) -> None:
    """Passages are shown: go on when it is one's turn to. Call outside transactions."""
    turn = _turn.get()
    if turn is not None and turn.place is Place.FINDING:
        turn.is_busy = is_busy
        turn.turns.wait_to_write(turn, halting.current() or Halt())


def give_way() -> None:
    """Between two pieces of work that keep the processor busy."""
    turn = _turn.get()
    if turn is not None and turn.place is Place.WRITING:
        turn.turns.pause(halting.current() or Halt())
