"""Schedule a worker's answers: those without passages go first.

Finding takes a fraction of the time of writing, checking and suggesting, and is what a reader waits
for. So a few answers find at a time, and one whose passages are shown waits while others have
nothing to show; then a few write at a time. While it waits it keeps its lease, holds no database
connection, and can be stopped.
"""

from __future__ import annotations

import threading
import time
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
"""Seconds an answer waits for those without passages, if it could be written."""
FRESH: Final = 2.0
"""Seconds of finding after which others stop waiting for an answer: it is calling a model."""
LONGEST_PAUSE: Final = 1.0
"""The most seconds that an answer being written gives way at a time."""
TICK: Final = 0.25
MOMENT: Final = 0.02
"""Seconds between checks, while waiting to write (TICK) and while giving way (MOMENT)."""


class Phase(Enum):
    IDLE = "idle"
    FINDING = "finding"
    WAITING = "waiting"
    WRITING = "writing"


@dataclass(eq=False, slots=True)
class Turn:
    """One answer's turn, used in the thread that makes the answer.

    ``since`` is when its phase began. ``is_busy`` if writing uses the processor rather than waits
    for a model: then only one writes at a time, since Python threads only hinder each other.
    """

    scheduler: Scheduler
    phase: Phase = Phase.IDLE
    since: float = 0.0
    is_busy: bool = False
    may_write: threading.Event = field(default_factory=threading.Event)

    def enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, time.monotonic()


_turn: ContextVar[Turn | None] = ContextVar("_turn", default=None)


class Scheduler:
    """Lets so many answers find, and so many write, at a time.

    ``has_queued`` returns whether more answers wait to be started.
    """

    def __init__(
        self, *, finding: int, writing: int, has_queued: Callable[[], bool] = lambda: False
    ) -> None:
        self.has_queued = has_queued
        self._may_find = threading.Semaphore(finding)
        self._writing = writing
        self._turns: list[Turn] = []
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until one more may find; yield for a whole answer."""
        turn = Turn(self)
        with self._lock:
            self._turns.append(turn)
        self._may_find.acquire()
        token = _turn.set(turn)
        try:
            yield
        finally:
            _turn.reset(token)
            with self._lock:
                self._turns.remove(turn)
                self._start_writing()
            if turn.phase in (Phase.IDLE, Phase.FINDING):
                self._may_find.release()

    def wait_to_write(self, turn: Turn, halt: Halt) -> None:
        """Have another answer find; return when this one may write, or is halted."""
        with self._lock:
            turn.enter(Phase.WAITING)
            self._start_writing()
        self._may_find.release()
        if turn.may_write.is_set():
            return
        connections.close_all()
        with halt.cutting(turn.may_write.set):
            while not turn.may_write.wait(TICK):
                with self._lock:
                    self._start_writing()

    def pause(self, halt: Halt) -> None:
        """Wait until no answer lacks passages, but not for long."""
        deadline = time.monotonic() + LONGEST_PAUSE
        while not (self._is_quiet() or halt.is_set) and time.monotonic() < deadline:
            time.sleep(MOMENT)

    def _start_writing(self) -> None:
        """Let waiting answers write, in the order they came."""
        is_quiet, now = self._is_quiet(), time.monotonic()
        writing = [one for one in self._turns if one.phase is Phase.WRITING]
        waiting = [one for one in self._turns if one.phase is Phase.WAITING]
        for turn in sorted(waiting, key=lambda one: one.since):
            is_due = is_quiet or now - turn.since >= PATIENCE
            if not is_due or len(writing) >= self._writing:
                return
            if not (turn.is_busy and any(one.is_busy for one in writing)):
                turn.enter(Phase.WRITING)
                turn.may_write.set()
                writing.append(turn)

    def _is_quiet(self) -> bool:
        """Return whether no answer is about to show passages, ignoring queued ones that no thread
        is free for."""
        fresh = time.monotonic() - FRESH
        turns = self._turns.copy()
        is_idle = any(one.phase is Phase.IDLE for one in turns)
        return not (is_idle and self.has_queued()) and not any(
            one.phase is Phase.FINDING and one.since >= fresh for one in turns
        )


def begin() -> None:
    """Start finding: others now wait for this answer's passages."""
    turn = _turn.get()
    if turn is not None:
        turn.enter(Phase.FINDING)


def is_crowded() -> bool:
    """Return whether other answers wait to be started: whatever can be done later should be."""
    turn = _turn.get()
    return turn is not None and turn.scheduler.has_queued()


def let_others_first(*, is_busy: bool) -> None:
    """Wait for a turn to write, once passages are shown. Call outside transactions."""
    turn = _turn.get()
    if turn is not None and turn.phase is Phase.FINDING:
        turn.is_busy = is_busy
        turn.scheduler.wait_to_write(turn, halting.current() or Halt())


def give_way() -> None:
    """Let others go first, between two pieces of processor-bound work."""
    turn = _turn.get()
    if turn is not None and turn.phase is Phase.WRITING:
        turn.scheduler.pause(halting.current() or Halt())
