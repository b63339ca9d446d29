"""Starts the parts and the bundled database, restarts them after a crash, stops them when asked.

A part is a child process in its own process group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Final

from kb_project.database import embedded
from kb_project.env import child_environment, plain_environment
from kb_project.errors import KBError
from kb_project.supervisor import watchman

SECONDS_FOR_LAST_LINES: Final = 1.0
Say = Callable[[str, str], None]
"""Prints one line of a part: (name of the part, line)."""


@dataclass(frozen=True)
class Part:
    """What to run. ``nice`` is its group's priority; a ``once`` part is expected to
    exit by itself.
    """

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    nice: int = 0
    once: bool = False
    pass_fds: tuple[int, ...] = ()


class RunningPart:
    """A started part. Its group has the id of its first process, and outlives that process."""

    def __init__(self, part: Part, say: Say) -> None:
        self.part = part
        self.started = time.monotonic()
        self._process = subprocess.Popen(  # our own commands
            part.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=child_environment(PYTHONUNBUFFERED="1", **part.environment),
            pass_fds=part.pass_fds,
            # Ctrl-C reaches only the supervisor, which then stops its parts in order.
            process_group=0,
        )
        if part.nice:
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PGRP, self.group, part.nice)
        self._relaying = threading.Thread(target=self._relay, args=[say], daemon=True)
        self._relaying.start()

    @property
    def group(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return how the first process ended (negative: by that signal), or None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Signal only the first process: it knows in which order to stop its own children."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """Kill whatever is left of the group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.wait()
        self._relaying.join(SECONDS_FOR_LAST_LINES)

    def _relay(self, say: Say) -> None:
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        with self._process.stdout as lines:
            for line in lines:
                say(self.part.name, line.decode(errors="replace").rstrip())


def how_it_ended(exit_code: int) -> str:
    """
    >>> how_it_ended(-9), how_it_ended(1)
    ('was killed (SIGKILL)', 'stopped (exit code 1)')
    """
    if exit_code < 0:
        return f"was killed ({signal.Signals(-exit_code).name})"
    return f"stopped (exit code {exit_code})"


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
class _PartState:
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
        self._states = [_PartState(part, threading.Event()) for part in parts]
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
                    for state in self._states:
                        self._tend(state)
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
        return all(state.done.is_set() for state in self._states if state.part.name == name)

    def wait_until_done(self, name: str) -> None:
        for state in self._states:
            if state.part.name == name:
                state.done.wait()

    def _tend(self, state: _PartState) -> None:
        if state.running is None:
            if not state.done.is_set() and time.monotonic() >= state.start_at:
                state.running = self._start(state.part)
            return
        code = state.running.exit_code()
        if code is None:
            return
        ran_for = time.monotonic() - state.running.started
        self._end(state)
        if state.part.once and code == 0:
            state.done.set()
            return
        state.crashes = 1 if ran_for > SECONDS_TO_BE_WELL else state.crashes + 1
        self._plan_next_start(state, how_it_ended(code))

    def _plan_next_start(self, state: _PartState, ended: str) -> None:
        name = state.part.name
        if state.part.once and state.crashes >= ATTEMPTS_AT_ONE_OFF:
            state.done.set()
            self._say(OWN_NAME, f"{name} {ended} {state.crashes} times; continuing without it.")
            return
        delay = delay_before(state.crashes)
        state.start_at = time.monotonic() + delay
        self._say(OWN_NAME, f"{name} {ended}; restarting it in {delay:g} s.")

    def _start(self, part: Part) -> RunningPart:
        running = RunningPart(part, self._say)
        self._tell_watchman(f"+{running.group}")
        return running

    def _end(self, state: _PartState) -> None:
        """Kill what is left of a part's group: children outlive a killed process."""
        if state.running is not None:
            state.running.kill()
            self._tell_watchman(f"-{state.running.group}")
            state.running = None

    def _end_all(self) -> None:
        running = [state.running for state in self._states if state.running is not None]
        for part in running:
            part.ask_to_stop()
        deadline = time.monotonic() + SECONDS_TO_STOP
        while time.monotonic() < deadline and not self._hurry.is_set():
            if all(part.exit_code() is not None for part in running):
                break
            self._hurry.wait(0.05)
        for state in self._states:
            self._end(state)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Run a watchman process, which detects our death by the end of its input."""
        program = [sys.executable, "-S", "-E", str(Path(watchman.__file__))]
        with subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=plain_environment(),
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


DATABASE: Final = "database"
SECONDS_BETWEEN_DATABASE_CHECKS: Final = 3.0


class DatabaseGuard:
    """Starts the server, restarts it when it dies, and stops it at the end if it started it."""

    def __init__(self, data_dir: Path, say: Say) -> None:
        self._data_dir = data_dir
        self._say = say
        self._next_look = 0.0
        self._ours = False
        self._postmaster = 0

    def start(self) -> None:
        self._ours = embedded.running(self._data_dir) is None
        self._postmaster = embedded.postmaster_pid(embedded.ensure(self._data_dir))

    def look(self) -> None:
        """Check the server, if enough time has passed since the last check."""
        if time.monotonic() < self._next_look:
            return
        try:
            # A process that needed the database may have restarted it already.
            postmaster = embedded.postmaster_pid(embedded.ensure(self._data_dir))
        except KBError as error:
            self._say(DATABASE, f"does not answer and cannot be started: {error.sentence}")
        else:
            if postmaster != self._postmaster:
                self._say(DATABASE, "died; restarted.")
            self._postmaster = postmaster
        self._next_look = time.monotonic() + SECONDS_BETWEEN_DATABASE_CHECKS

    def stop(self) -> None:
        """Stop the server, unless others use it or it was already running before."""
        if not self._ours:
            return
        if not embedded.stop(self._data_dir, only_if_idle=True):
            self._say(
                DATABASE, "in use by another process; left running (`manage.py pg stop` stops it)."
            )
