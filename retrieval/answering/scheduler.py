"""Schedule a worker's answers: those without passages go first.

Finding takes a fraction of the time of writing, checking and suggesting, and is what a reader waits
for. So an answer takes two places in turn: one of a few for finding and, once its passages are
shown, one of a few for writing, which it does not get while others have nothing to show. While it
waits it keeps its lease, holds no database connection, and can be stopped.
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
"""Seconds an answer with a free writing place waits for those without passages."""
FRESH: Final = 2.0
"""Seconds of finding after which others stop waiting for an answer: it is calling a model."""
BREATH: Final = 1.0
"""The most seconds that an answer being written gives way at a time."""
TICK: Final = 0.25
MOMENT: Final = 0.02
"""Seconds between checks, while waiting for a place (TICK) and while giving way (MOMENT)."""


class Place(Enum):
    NONE = "none"
    IDLE = "idle"
    FINDING = "finding"
    WAITING = "waiting"
    WRITING = "writing"


@dataclass(eq=False, slots=True)
class Turn:
    """One answer's turn, used in the thread that makes the answer.

    ``since`` is when it took its place. ``is_busy`` if writing uses the processor rather than waits
    for a model: then only one writes at a time, since Python threads only hinder each other.
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
    """The places of one worker. ``is_called`` returns whether more answers wait to be started."""

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
        """Wait for a place for finding; on exit, free whichever place the answer then has."""
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
        """Return whether more answers wait to be started."""
        return self._is_called()

    def begin(self, turn: Turn) -> None:
        with self._lock:
            self._idle -= 1
            turn.move(Place.FINDING)
            self._finding.add(turn)

    def wait_to_write(self, turn: Turn, halt: Halt) -> None:
        """Give up the place for finding; return with a place for writing, or halted."""
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
        """Wait until no answer lacks passages, but not for long."""
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
        """Give places for writing to the waiting answers, in the order they came."""
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
        """Return whether no answer is about to show passages, ignoring calls that no thread is free
        for."""
        fresh = time.monotonic() - FRESH
        is_called = self._idle and self._is_called()
        return not is_called and all(one.since < fresh for one in tuple(self._finding))


def begin() -> None:
    """Start finding: others now wait for this answer's passages."""
    turn = _turn.get()
    if turn is not None:
        turn.turns.begin(turn)


def is_crowded() -> bool:
    """Return whether other answers wait to be started: whatever can be done later should be."""
    turn = _turn.get()
    return turn is not None and turn.turns.is_crowded()


def let_others_first(*, is_busy: bool) -> None:
    """Wait for a turn to write, once passages are shown. Call outside transactions."""
    turn = _turn.get()
    if turn is not None and turn.place is Place.FINDING:
        turn.is_busy = is_busy
        turn.turns.wait_to_write(turn, halting.current() or Halt())


def give_way() -> None:
    """Let others go first, between two pieces of processor-bound work."""
    turn = _turn.get()
    if turn is not None and turn.place is Place.WRITING:
        turn.turns.pause(halting.current() or Halt())
