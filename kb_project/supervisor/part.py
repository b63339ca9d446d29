"""One long-running part of the product, as a child process in its own process group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kb_project.env import child_environment

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
