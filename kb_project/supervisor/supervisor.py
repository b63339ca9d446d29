"""Starts the parts, restarts them after a crash, and stops them when asked."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Final

from kb_project.supervisor import watchman
from kb_project.supervisor.part import Part, RunningPart, Say, how_it_ended

SECONDS_BETWEEN_LOOKS: Final = 0.25
SECONDS_TO_STOP: Final = 5.0
FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 30.0
# A part that ran this long was healthy; its next crash counts as the first.
SECONDS_TO_BE_WELL: Final = 30.0
# A one-off part that fails is given up after this many attempts.
ATTEMPTS_AT_ONE_OFF: Final = 3
# make and the terminal may both forward the same Ctrl-C.
SECONDS_OF_ONE_REQUEST: Final = 1.0
OWN_NAME: Final = "concordance"


def delay_before(crashes: int) -> float:
    """Return the seconds before the next start after this many crashes in a row.

    >>> [delay_before(crashes) for crashes in (1, 2, 3, 10)]
    [0.5, 1.0, 2.0, 30.0]
    """
    return min(FIRST_DELAY * 2.0 ** (crashes - 1), LONGEST_DELAY)


@dataclass
class _Place:
    """The state of a part: running, waiting for its next start, or finished."""

    part: Part
    done: threading.Event
    running: RunningPart | None = None
    crashes: int = 0
    start_at: float = 0.0


class Supervisor:
    """Runs parts until asked to stop; calls ``look`` a few times a second."""

    def __init__(
        self, parts: Sequence[Part], *, say: Say, look: Callable[[], None] = lambda: None
    ) -> None:
        self._places = [_Place(part, threading.Event()) for part in parts]
        self._say = say
        self._look = look
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._asked_at = 0.0
        self._watchman: IO[str] | None = None

    def run(self) -> None:
        """Block until asked to stop, then stop every part; if asked twice, kill them at once."""
        with self._watched():
            try:
                while not self._stopping.is_set():
                    for place in self._places:
                        self._tend(place)
                    self._look()
                    self._stopping.wait(SECONDS_BETWEEN_LOOKS)
            finally:
                self._end_all()

    def stop(self) -> None:
        """Ask it to stop. May be called from a signal handler or another thread."""
        if not self._stopping.is_set():
            self._asked_at = time.monotonic()
            self._stopping.set()
        elif time.monotonic() - self._asked_at > SECONDS_OF_ONE_REQUEST:
            self._hurry.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def is_done(self, name: str) -> bool:
        """Whether the one-off part of that name has ended; True if there is none."""
        return all(place.done.is_set() for place in self._places if place.part.name == name)

    def wait_until_done(self, name: str) -> None:
        for place in self._places:
            if place.part.name == name:
                place.done.wait()

    def _tend(self, place: _Place) -> None:
        if place.running is None:
            if not place.done.is_set() and time.monotonic() >= place.start_at:
                place.running = self._start(place.part)
            return
        code = place.running.exit_code()
        if code is None:
            return
        ran_for = time.monotonic() - place.running.started
        self._end(place)
        if place.part.once and code == 0:
            place.done.set()
            return
        place.crashes = 1 if ran_for > SECONDS_TO_BE_WELL else place.crashes + 1
        self._plan_next_start(place, how_it_ended(code))

    def _plan_next_start(self, place: _Place, ended: str) -> None:
        name = place.part.name
        if place.part.once and place.crashes >= ATTEMPTS_AT_ONE_OFF:
            place.done.set()
            self._say(OWN_NAME, f"{name} {ended} {place.crashes} times; continuing without it.")
            return
        delay = delay_before(place.crashes)
        place.start_at = time.monotonic() + delay
        self._say(OWN_NAME, f"{name} {ended}; restarting it in {delay:g} s.")

    def _start(self, part: Part) -> RunningPart:
        running = RunningPart(part, self._say)
        self._tell_watchman(f"+{running.group}")
        return running

    def _end(self, place: _Place) -> None:
        """Kill what is left of a part's group: children outlive a killed process."""
        if place.running is not None:
            place.running.kill()
            self._tell_watchman(f"-{place.running.group}")
            place.running = None

    def _end_all(self) -> None:
        running = [place.running for place in self._places if place.running is not None]
        for part in running:
            part.ask_to_stop()
        deadline = time.monotonic() + SECONDS_TO_STOP
        while time.monotonic() < deadline and not self._hurry.is_set():
            if all(part.exit_code() is not None for part in running):
                break
            self._hurry.wait(0.05)
        for place in self._places:
            self._end(place)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Run a watchman process, which detects our death by the end of its input."""
        program = [sys.executable, "-S", "-E", str(Path(watchman.__file__))]
        with subprocess.Popen(
            program, stdin=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            self._watchman = process.stdin
            yield

    def _tell_watchman(self, line: str) -> None:
        if self._watchman is not None:
            # Without a watchman the parts still run; only a kill -9 of this process would orphan
            # them.
            with contextlib.suppress(BrokenPipeError):
                self._watchman.write(f"{line}\n")
                self._watchman.flush()


@contextlib.contextmanager
def stopped_by_signals(supervisor: Supervisor, say: Say) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the supervisor; restore their handlers afterwards."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        if not supervisor.is_stopping:
            say(OWN_NAME, "Stopping …")
        supervisor.stop()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
