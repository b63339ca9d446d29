"""Schedule a worker's answers: those without passages go first.

Finding takes a fraction of the time of writing, checking and suggesting, and is what a reader waits
for. So a few answers find at a time, and one whose passages are shown waits while others have
nothing to show; then a few write at a time. While it waits it keeps its lease, holds no database
connection, and can be stopped.

All of this holds among people who ask a few questions each. Who asks many at once *crowds* those
who ask few: their answers neither wait for the crowd's passages nor for its writing, and the crowd
begins next to nothing until they are done.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.db import connections

from kb_project.jobs.notify import Party
from kb_project.llm import halting
from kb_project.llm.halting import Halt

PATIENCE: Final = 4.0
"""Seconds an answer waits for those without passages, if it could be written."""
FRESH: Final = 2.0
"""Seconds of finding after which others stop waiting for an answer: it is calling a model."""
LONGEST_PAUSE: Final = 1.0
"""The most seconds that an answer being written gives way at a time."""
FEW: Final = 8
"""Unfinished answers of one person that crowd no one."""
MOST_REMEMBERED: Final = 10_000
"""Parties whose last turn is known."""
SECONDS_HELD_BACK: Final = 1.0
"""Between two answers that a crowd begins while others' are made."""
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
    party: Party | None = None
    phase: Phase = Phase.IDLE
    since: float = 0.0
    is_busy: bool = False
    may_write: threading.Event = field(default_factory=threading.Event)

    def enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, time.monotonic()


_turn: ContextVar[Turn | None] = ContextVar("_turn", default=None)


class Scheduler:
    """Lets so many answers find, and so many write, at a time.

    ``queued`` counts the answers of each party that wait to be started.
    """

    def __init__(
        self, *, finding: int, writing: int, queued: Callable[[], Mapping[Party, int]] = dict
    ) -> None:
        self.queued = queued
        self._may_find = threading.Semaphore(finding)
        self._finding, self._writing = finding, writing
        self._turns: list[Turn] = []
        self._began: dict[Party, float] = {}
        self._wrote: dict[Party | UUID, float] = {}
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

    def may_start(self, party: Party) -> bool:
        """Return whether an answer of the party may find now: a crowd leaves places to others, and
        lets them finish first."""
        turns, loads = self._turns.copy(), self._loads()
        if loads[party] <= FEW:
            return True
        now = time.monotonic()
        fresh = [one for one in turns if one.phase is Phase.FINDING and one.since >= now - FRESH]
        if sum(one.party == party for one in fresh) >= max(1, self._finding // 2):
            return False
        busy = [*fresh, *(one for one in turns if one.phase is Phase.WRITING and one.is_busy)]
        is_in_the_way = any(_crowds(loads, party, one.party) for one in busy)
        return not is_in_the_way or now - self._began.get(party, 0.0) >= SECONDS_HELD_BACK

    def begin(self, turn: Turn, party: Party | None) -> None:
        turn.party = party
        turn.enter(Phase.FINDING)
        if party is not None:
            _note(self._began, party, turn.since)

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

    def pause(self, turn: Turn, halt: Halt) -> None:
        """Wait until no answer lacks passages and none is crowded by this one, but not for long."""
        deadline = time.monotonic() + LONGEST_PAUSE
        while not (self._may_go_on(turn) or halt.is_set) and time.monotonic() < deadline:
            time.sleep(MOMENT)

    def _may_go_on(self, turn: Turn) -> bool:
        loads = self._loads()
        busy = [one for one in self._turns.copy() if one.phase is Phase.WRITING and one.is_busy]
        is_in_the_way = any(_crowds(loads, turn.party, one.party) for one in busy)
        return not is_in_the_way and self._is_quiet(turn.party, loads, self._about_to_show())

    def _start_writing(self) -> None:
        """Let waiting answers write, in turns by workspace and by person."""
        loads, finding, now = self._loads(), self._about_to_show(), time.monotonic()
        writing = [one for one in self._turns if one.phase is Phase.WRITING]
        waiting = [one for one in self._turns if one.phase is Phase.WAITING]
        is_quiet = {
            party: self._is_quiet(party, loads, finding) for party in {one.party for one in waiting}
        }
        for turn in sorted(waiting, key=self._order):
            rivals = [one for one in writing if not _crowds(loads, one.party, turn.party)]
            is_due = is_quiet[turn.party] or now - turn.since >= PATIENCE
            if not is_due or len(rivals) >= self._writing:
                continue
            if not (turn.is_busy and any(one.is_busy for one in rivals)):
                self._write(turn)
                writing.append(turn)

    def _write(self, turn: Turn) -> None:
        turn.enter(Phase.WRITING)
        if turn.party is not None:
            _note(self._wrote, turn.party, turn.since)
            _note(self._wrote, turn.party.workspace_id, turn.since)
        turn.may_write.set()

    def _order(self, turn: Turn) -> tuple[float, float, float]:
        """Return what waiting answers are ordered by: when their workspace, and in it their person,
        last had one written, and since when they wait."""
        if turn.party is None:
            return 0.0, 0.0, turn.since
        of_workspace = self._wrote.get(turn.party.workspace_id, 0.0)
        return of_workspace, self._wrote.get(turn.party, 0.0), turn.since

    def _about_to_show(self) -> set[Party | None]:
        """Return the parties with an answer that is about to show passages, ignoring queued ones
        that no thread is free for."""
        fresh = time.monotonic() - FRESH
        turns = self._turns.copy()
        finding = {one.party for one in turns if one.phase is Phase.FINDING and one.since >= fresh}
        if any(one.phase is Phase.IDLE for one in turns):
            finding.update(self.queued())
        return finding

    def _is_quiet(
        self, party: Party | None, loads: Counter[Party | None], finding: set[Party | None]
    ) -> bool:
        """Return whether no one is about to show passages whom the party's answers wait for."""
        return all(_crowds(loads, one, party) for one in finding)

    def _loads(self) -> Counter[Party | None]:
        """Return how many unfinished answers each party has."""
        begun = Counter(one.party for one in self._turns.copy() if one.phase is not Phase.IDLE)
        return begun + Counter(self.queued())


def _note(times: dict[Any, float], key: object, now: float) -> None:
    if len(times) >= MOST_REMEMBERED:
        times.clear()
    times[key] = now


def _crowds(loads: Counter[Party | None], one: Party | None, other: Party | None) -> bool:
    """Return whether one party asks so much more at once than the other that it must wait."""
    return one != other and loads[one] > max(FEW, 2 * loads[other])


def begin(party: Party | None = None) -> None:
    """Start finding: others now wait for this answer's passages."""
    turn = _turn.get()
    if turn is not None:
        turn.scheduler.begin(turn, party)


def is_crowded() -> bool:
    """Return whether other answers wait to be started: whatever can be done later should be."""
    turn = _turn.get()
    return turn is not None and bool(turn.scheduler.queued())


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
        turn.scheduler.pause(turn, halting.current() or Halt())
